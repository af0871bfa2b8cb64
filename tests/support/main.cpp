// The main of every test program.
#include "support/skip_report.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new qw::test::SkipListener);  // which owns it
  return RUN_ALL_TESTS();
}
