// Damaged sweep files are read or refused in one line. QW_MUTATIONS=2000000 tries so many.
#include "support/mutate.h"

#include <gtest/gtest.h>

#include "qw/core/error.h"
#include "qw/study/sweep.h"

namespace qw {
namespace {

constexpr const char* kSweep = R"({
  "strategy": "halving", "samples": 6, "first_runs": 1, "runs": 4, "keep": 0.5, "seed": 3, "method": "qw",
  "each": {"data": ["karate", {"what": "own.csv", "load": {"directed": true}}], "model": ["gcn", "mlp"]},
  "fixed": {"epochs": 20, "split": "stratified"},
  "search": {"lr": {"log": [0.001, 0.1]}, "hidden": [8, 16], "how": [{"solver": "ce"}, {"solver": "badmm", "inner_steps": 2}]},
  "include": [{"lr": 0.01}],
  "where": [{"if": {"model": "mlp"}, "search": {"hidden": [4]}}]
})";

TEST(Mutations, OfSweeps) {
  std::mt19937_64 random(5);
  for (int64_t k = 0; k < test::mutations(3000); ++k) {
    std::string damaged = test::mutated(kSweep, random);
    while (random() % 3 == 0) damaged = test::mutated(damaged, random);
    try {
      sweep_cells(parse_sweep(damaged, "sweep.json"), "sweep.json");
    } catch (const InternalError& error) {
      FAIL() << error.what() << "\n" << damaged;
    } catch (const Error& error) {
      EXPECT_LT(std::string(error.what()).size(), 2000u) << damaged;
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << damaged;
    }
  }
}

}  // namespace
}  // namespace qw
