#include "comm/counted.h"

#include <ATen/Functions.h>

#include "comm/group.h"
#include "support/support.h"

namespace qw {
namespace {

TEST(CountedComm, CountsWhatGoesToOthers) {
  test::Group().run(3, [](Comm& plain) {
    CountedComm comm(plain);
    const std::vector<int64_t> two_to_each(3, 2);
    const at::Tensor sent = at::arange(18, at::kFloat).view({6, 3}), received = at::empty_like(sent);
    comm.exchange(received, two_to_each, sent, two_to_each);
    EXPECT_EQ(comm.traffic().bytes, 4 * 3 * 4);  // four rows of three numbers are not its own
    EXPECT_EQ(comm.gather(at::ones({1, 5}, at::kDouble), {1, 1, 1}).size(0), 3);
    EXPECT_EQ(comm.traffic().bytes, 48 + 2 * 5 * 8);
    comm.broadcast(at::zeros({4}, at::kLong), 1);
    EXPECT_EQ(comm.traffic().bytes, 128 + (comm.rank() == 1 ? 2 * 4 * 8 : 0));
    comm.barrier();
    EXPECT_EQ(comm.traffic().exchanged, 48);
    EXPECT_EQ(comm.traffic().widest, 3 * 4);
    EXPECT_EQ(comm.traffic().calls, 4);
    EXPECT_GT(comm.traffic().seconds, 0);
  });
}

}  // namespace
}  // namespace qw
