#include "comm/comm.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "comm/address.h"
#include "comm/group.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using test::Group;
using test::kPatience;
using testing::MatchesRegex;

// What process `rank` says when it meets another one with what `meet_other` does, on a thread of its own.
std::string error_beside(const std::function<void()>& meet_other, const std::function<void()>& meet) {
  std::thread other([&] { EXPECT_NE(error_of(meet_other), ""); });
  const std::string error = error_of(meet);
  other.join();
  return error;
}

// Row k of what process `from` sends to process `to`.
double number(int from, int to, int64_t k) { return 10000.0 * from + 100.0 * to + static_cast<double>(k); }

// Process r sends (r + 2 s) mod 4 rows to process s: none to some.
int64_t rows_between(int from, int to) { return (from + 2 * to) % 4; }

class OfAnySize : public testing::TestWithParam<int> {};

TEST_P(OfAnySize, ExchangeBringsEveryRowToWhomItWasSent) {
  Group().run(GetParam(), [](Comm& comm) {
    std::vector<int64_t> to(comm.size()), from(comm.size());
    std::vector<double> sent, expected;
    for (int other = 0; other < comm.size(); ++other) {
      to[other] = rows_between(comm.rank(), other);
      from[other] = rows_between(other, comm.rank());
      for (int64_t k = 0; k < 3 * to[other]; ++k) sent.push_back(number(comm.rank(), other, k));
      for (int64_t k = 0; k < 3 * from[other]; ++k) expected.push_back(number(other, comm.rank(), k));
    }
    const at::Tensor rows = at::tensor(sent, at::kDouble).view({-1, 3});
    const at::Tensor received = at::zeros({static_cast<int64_t>(expected.size()) / 3, 3}, at::kDouble);
    comm.exchange(received, from, rows, to);
    EXPECT_TRUE(received.equal(at::tensor(expected, at::kDouble).view({-1, 3})));
  });
}

TEST_P(OfAnySize, GatherStandsInTheOrderOfRanks) {
  Group().run(GetParam(), [](Comm& comm) {
    std::vector<int64_t> rows;
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < comm.size(); ++rank) {
      rows.push_back(3 - rank);
      all.push_back(at::full({3 - rank, 2}, rank, at::kFloat));
    }
    EXPECT_TRUE(comm.gather(all[comm.rank()], rows).equal(at::cat(all)));
  });
}

TEST_P(OfAnySize, NothingIsSentAsWell) {
  Group().run(GetParam(), [](Comm& comm) {
    const std::vector<int64_t> none(comm.size(), 0);
    const at::Tensor nothing = at::empty({0, 3}, at::kFloat);
    comm.exchange(nothing, none, nothing, none);
    EXPECT_EQ(comm.gather(nothing, none).sizes(), nothing.sizes());
    const std::vector<int64_t> one(comm.size(), 1);
    EXPECT_EQ(comm.gather(at::empty({1, 0}, at::kFloat), one).size(0), comm.size());
    comm.broadcast(nothing, 0);
  });
}

TEST_P(OfAnySize, BroadcastIsOfOneProcess) {
  Group().run(GetParam(), [](Comm& comm) {
    const int from = comm.size() - 1;
    const at::Tensor values = at::full({5}, comm.rank(), at::kLong);
    comm.broadcast(values, from);
    EXPECT_TRUE(values.equal(at::full({5}, from, at::kLong)));
    comm.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Comm, OfAnySize, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

TEST(Comm, TwoWithOneRankAreRefused) {
  const Group group;
  EXPECT_EQ(error_beside([&] { join(group.place(1, 2), {}, kPatience); },
                         [&] { join(group.place(1, 2), {}, kPatience); }),
            "two processes were started as process 1 of 2: each needs a rank of its own");
}

TEST(Comm, AnotherNumberOfProcessesIsRefused) {
  const Group group;
  EXPECT_THAT(error_beside([&] { join(group.place(0, 2), {}, kPatience); },
                           [&] { join(group.place(1, 3), {}, kPatience); }),
              MatchesRegex("process [01] \\(machine .*, id [0-9]+\\) was started as one of [23] processes, "
                           "process [01] .* as one of [23]: start all with the same number"));
}

TEST(Comm, AnotherVersionIsRefused) {
  const Group group;
  EXPECT_THAT(error_beside(
                  [&] {
                    join(group.place(0, 2), {{"qw", "1"}}, kPatience);
                  },
                  [&] {
                    join(group.place(1, 2), {{"qw", "2"}}, kPatience);
                  }),
              MatchesRegex("process [01] \\(machine .*, id [0-9]+\\) has qw [12], process [01] .* has qw "
                           "[12]: all must have the same"));
}

TEST(Comm, OtherWorkIsRefused) {
  const Group group;
  EXPECT_THAT(error_beside(
                  [&] {
                    join(group.place(0, 2), {{"qw", "1"}}, kPatience);
                  },
                  [&] { join(group.place(1, 2), {}, kPatience); }),
              MatchesRegex("process [01] \\(.*\\) does other work than process [01] \\(.*\\)"));
}

TEST(Comm, WhoDoesNotComeIsNamed) {
  const Group group;
  const Place place = group.place(0, 2);
  EXPECT_EQ(error_of([&] { join(place, {}, 1); }),
            "process 1 of 2 did not come to 127.0.0.1:" + std::to_string(place.port) +
                " within 1 s: was it started, and may it reach that port?");
}

TEST(Comm, APortInUseIsRefused) {
  const Group group;
  Place place = group.place(0, 2);
  place.has_keeper = false;
  EXPECT_EQ(error_of([&] { join(place, {}, 1); }),
            "cannot listen at port " + std::to_string(place.port) +
                " of this machine, where processes are to meet: it is in use, or not for this user; choose "
                "another (MASTER_PORT)");
}

TEST(Comm, NobodyAtThePortIsSaid) {
  Place place;
  {
    const Group group;
    place = group.place(1, 2);
  }
  place.has_keeper = false;
  EXPECT_EQ(error_of([&] { join(place, {}, 1); }),
            "nobody listens at 127.0.0.1:" + std::to_string(place.port) +
                " after 1 s: is process 0 started there, and may this machine reach it?");
}

TEST(Comm, AStoreThatEndsEarlyIsSaid) {
  auto group = std::make_unique<Group>();
  const Place place = group->place(0, 2);
  std::string error;
  std::thread waiting([&] { error = error_of([&] { join(place, {}, kPatience); }); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  group.reset();
  waiting.join();
  EXPECT_EQ(error, "who listened at 127.0.0.1:" + std::to_string(place.port) +
                       " has ended, before all processes were there");
}

// Process 1 ends with an error, and process 0 calls nobody.
void compute_while_another_is_lost() {
  const Group group;
  std::thread lost([&] {
    try {
      const std::unique_ptr<Comm> comm = join(group.place(1, 2), {}, kPatience);
      throw std::runtime_error("");
    } catch (const std::runtime_error&) {
    }
  });
  const std::unique_ptr<Comm> comm = join(group.place(0, 2), {}, kPatience);
  comm->say_when_lost("go on later");
  lost.join();
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

TEST(CommDeathTest, WhoComputesIsEndedWhenAnotherIsLost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(compute_while_another_is_lost(), testing::ExitedWithCode(1),
              "qw: process 1 \\(machine .*, id [0-9]+\\) has ended with an error; go on later");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Address, TheLoopbackReachesThisMachineAlone) {
  EXPECT_EQ(address_towards("127.0.0.1", 29500), "127.0.0.1");
  EXPECT_TRUE(is_loopback("127.0.1.1") && is_loopback("::1"));
  EXPECT_FALSE(is_loopback("10.0.0.1") || is_loopback("fe80::1"));
  EXPECT_EQ(address_towards("no-such-host.invalid", 29500), "127.0.0.1");
}

TEST(Comm, AnotherProgramAtThePortIsSaid) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, name, length), 0);
  ASSERT_EQ(getsockname(listener, name, &length), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  Place place;
  place.rank = 1;
  place.size = 2;
  place.port = ntohs(address.sin_port);
  EXPECT_EQ(error_of([&] { join(place, {}, kPatience); }),
            "who listens at 127.0.0.1:" + std::to_string(place.port) +
                " does not answer as a store of c10d does: is MASTER_PORT that of another program, or of "
                "another version of torch?");
  close(listener);
}

}  // namespace
}  // namespace qw
