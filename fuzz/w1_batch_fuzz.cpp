// Lines of `qw w1 --batch`: every line is answered, every answer is JSON, and what it says of a small problem
// is true.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/w1_problem.h"
#include "core/json.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kMostNodes = 1000;
constexpr size_t kMostNumbers = 4000;
constexpr double kRounding = 1e-6;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Whether a node is where it should be, by the flow as the answer has it.
void check_flow(const cli::TransportCase& problem, int64_t column, const TransportColumn& answer) {
  std::vector<double> received(problem.edges.num_nodes, 0.0);
  double moved = 0, magnitude = 0;
  for (size_t e = 0; e < answer.flow.size(); ++e) {
    require(!problem.directed || answer.flow[e] >= 0, "flow against the direction");
    received[problem.edges.heads[e]] += answer.flow[e];
    received[problem.edges.tails[e]] -= answer.flow[e];
    moved += std::fabs(answer.flow[e]);
  }
  for (size_t i = 0; i < problem.mu.size(); ++i)
    magnitude += std::fabs(problem.mu[i]) + std::fabs(problem.gamma[i]);
  for (size_t i = 0; i < problem.labelled.size(); ++i) {
    const size_t at = i * problem.columns + column;
    const double missing = received[problem.labelled[i]] - (problem.gamma[at] - problem.mu[at]);
    require(!(std::fabs(missing) > kRounding * (magnitude + moved)), "a node is not served");
  }
}

void check(const cli::TransportCase& problem, int64_t column, const TransportColumn& answer) {
  if (answer.status == TransportStatus::kInfeasible) return;
  require(answer.flow.size() == problem.edges.heads.size(), "not one flow per edge");
  require(answer.potential.size() == static_cast<size_t>(problem.edges.num_nodes),
          "not one potential per node");
  require(answer.lower >= 0 && answer.lower <= answer.upper, "no interval");
  const bool closed = std::isfinite(answer.upper) && answer.upper - answer.lower <= 1e-9 * answer.upper;
  require((answer.status == TransportStatus::kOptimal) == closed, "a status that is not true");
  if (std::isfinite(answer.upper)) check_flow(problem, column, answer);
}

void run(const std::string& line) {
  try {
    const cli::TransportCase problem = cli::case_from_json(parse_json(line, "line 1"));
    const bool is_small = problem.edges.num_nodes <= kMostNodes && problem.mu.size() <= kMostNumbers &&
                          problem.edges.heads.size() <= kMostNumbers;
    if (!is_small) return;
    const std::vector<TransportColumn> answers = cli::solve_case(problem, {});
    for (size_t c = 0; c < answers.size(); ++c) check(problem, static_cast<int64_t>(c), answers[c]);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
  bool bad = false;
  const std::string answer = cli::answer_line(line, 1, {}, bad);
  require(nlohmann::json::accept(answer), "an answer that is not JSON");
  require(bad == answer.starts_with("{\"error\":"), "a bad line without an error");
  require(std::ranges::count(answer, '\n') == 1 && answer.ends_with('\n'), "not one line");
}

}  // namespace
}  // namespace qw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  qw::set_thread_count(1);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  qw::run(std::string(input.substr(0, input.find('\n'))));
  return 0;
}
