#include "core/machine.h"

#include "support/support.h"

namespace qw {
namespace {

TEST(Machine, TheProcessorIsTheFirstNameOfCpuinfo) {
  EXPECT_EQ(processor_name_in("processor\t: 0\nmodel\t\t: 207\nmodel name\t: Fast(R) CPU @ 2 GHz\n\n"
                              "processor\t: 1\nmodel name\t: Another\n"),
            "Fast(R) CPU @ 2 GHz");
  EXPECT_EQ(processor_name_in("processor\t: 0\nCPU part\t: 0xd40\n"), "") << "as on aarch64";
  EXPECT_EQ(processor_name_in(""), "");
  EXPECT_FALSE(processor_name().empty());
}

}  // namespace
}  // namespace qw
