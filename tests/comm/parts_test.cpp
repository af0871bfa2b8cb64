#include "comm/parts.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <mutex>
#include <tuple>

#include "comm/group.h"
#include "comm/halo.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using test::Group;

TEST(Parts, AreSharedOutInOrderAndEvenly) {
  for (int parts = 1; parts <= 13; ++parts) {
    for (int processes = 1; processes <= parts; ++processes) {
      int next = 0;
      for (int process = 0; process < processes; ++process) {
        const PartRange range = parts_of(process, processes, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.count(), parts / processes);
        EXPECT_LE(range.count(), parts / processes + 1);
        next = range.end;
      }
      EXPECT_EQ(next, parts);
    }
  }
}

// Part r sends (r + 2 s) mod 4 rows of two numbers to part s.
int64_t rows_between(int from, int to) { return (from + 2 * to) % 4; }

at::Tensor rows_sent(int from, int to) {
  const int64_t count = rows_between(from, to);
  return at::arange(2 * count, at::kDouble).view({count, 2}) + (1000 * from + 10 * to);
}

class OnProcesses : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  // Every part, each in its process.
  void run(const std::function<void(Comm&)>& body) {
    const auto [processes, parts] = GetParam();
    Group().run(processes, [&](Comm& comm) { run_parts(comm, parts, body); });
  }
};

TEST_P(OnProcesses, ExchangeBringsEveryRowToItsPart) {
  run([](Comm& part) {
    std::vector<int64_t> to, from;
    std::vector<at::Tensor> sent, expected;
    for (int other = 0; other < part.size(); ++other) {
      to.push_back(rows_between(part.rank(), other));
      from.push_back(rows_between(other, part.rank()));
      sent.push_back(rows_sent(part.rank(), other));
      expected.push_back(rows_sent(other, part.rank()));
    }
    const at::Tensor all = at::cat(expected);
    for (int turn = 0; turn < 3; ++turn) {
      const at::Tensor received = at::zeros_like(all);
      part.exchange(received, from, at::cat(sent), to);
      EXPECT_TRUE(received.equal(all)) << part.rank();
    }
  });
}

TEST_P(OnProcesses, GatherStandsInTheOrderOfParts) {
  run([](Comm& part) {
    std::vector<int64_t> rows;
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < part.size(); ++rank) {
      rows.push_back(rank % 3);
      all.push_back(at::full({rank % 3, 2}, rank, at::kFloat));
    }
    EXPECT_TRUE(part.gather(all[part.rank()], rows).equal(at::cat(all)));
  });
}

TEST_P(OnProcesses, BroadcastIsOfAnyPart) {
  run([](Comm& part) {
    for (int from = 0; from < part.size(); ++from) {
      const at::Tensor values = at::full({5}, part.rank(), at::kLong);
      part.broadcast(values, from);
      EXPECT_TRUE(values.equal(at::full({5}, from, at::kLong)));
      part.barrier();
    }
  });
}

// Part p has the rows 10 p .. 10 p + p; each other part needs its first and its last one.
TEST_P(OnProcesses, HaloHasTheRowsOfOthersInTheOrderOfParts) {
  run([](Comm& part) {
    const int64_t own = part.rank() + 1;
    HaloPlan plan{own, {}, {}, {}};
    std::vector<int64_t> sent_rows;
    std::vector<at::Tensor> expected{at::arange(own, at::kFloat) + 10 * part.rank()};
    for (int other = 0; other < part.size(); ++other) {
      const int64_t count = other == part.rank() ? 0 : 2;
      plan.sent.push_back(count);
      plan.received.push_back(count);
      if (count == 0) continue;
      sent_rows.insert(sent_rows.end(), {0, own - 1});
      expected.push_back(at::tensor({10.0F * other, 11.0F * other}));
    }
    plan.sent_rows = at::tensor(sent_rows, at::kLong);
    const Halo halo(part, plan);
    EXPECT_EQ(halo.rows(), 2 * (part.size() - 1));
    const at::Tensor all = at::cat(expected).unsqueeze(1);
    EXPECT_TRUE(halo.beside(all.narrow(0, 0, own)).equal(all)) << part.rank();
  });
}

INSTANTIATE_TEST_SUITE_P(Parts, OnProcesses,
                         testing::Values(std::tuple(1, 1), std::tuple(1, 4), std::tuple(2, 2),
                                         std::tuple(2, 4), std::tuple(3, 4), std::tuple(3, 7)),
                         [](const auto& of) {
                           return std::to_string(std::get<0>(of.param)) + "ProcessesOf" +
                                  std::to_string(std::get<1>(of.param)) + "Parts";
                         });

TEST(Parts, AnErrorOfOneEndsAllOfItsProcess) {
  const std::unique_ptr<Comm> comm = alone();
  EXPECT_EQ(error_of([&] {
              run_parts(*comm, 4, [](Comm& part) {
                if (part.rank() == 2) fail("part 2 has no edges");
                part.barrier();
                part.barrier();
              });
            }),
            "part 2 has no edges");
}

}  // namespace
}  // namespace qw
