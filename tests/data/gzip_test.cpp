#include "data/formats/gzip.h"

#include <gmock/gmock.h>

#include "data/file_set.h"
#include "data/formats/zip.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::StartsWith;

// Zeros pack to about a thousandth.
std::string zeros() { return std::string(size_t{100} << 20, '\0'); }

TEST(Gzip, ABombIsRefusedByTheRatio) {
  const std::string packed = gzip(zeros());
  ASSERT_LT(packed.size(), size_t{150} << 10);
  const std::string problem = error_of([&] { gunzip(packed, "e.csv.gz"); });
  EXPECT_THAT(problem, StartsWith("e.csv.gz: unpacks to more than 8"));
  EXPECT_THAT(problem, HasSubstr(" MiB, 200 times its "));
  EXPECT_THAT(problem, HasSubstr("; if it is meant to, set QW_UNPACK_RATIO=1032"));
  EXPECT_EQ(error_of([&] { MemoryFiles({{"e.csv.gz", packed}}).read_text("e.csv.gz"); }), problem);
  const test::ScopedEnvironment lifted("QW_UNPACK_RATIO", "1032");
  EXPECT_EQ(gunzip(packed, "e.csv.gz"), zeros());
}

TEST(Gzip, ManyMembersCountTogether) {
  std::string packed;
  for (int member = 0; member < 5; ++member) packed += gzip(std::string(size_t{20} << 20, '\0'));
  EXPECT_THAT(error_of([&] { gunzip(packed, "e.csv.gz"); }), StartsWith("e.csv.gz: unpacks to more than "));
}

TEST(Gzip, ABombInAnArchiveIsRefusedByItsClaim) {
  const std::string archive = write_zip({{"a.npy", zeros()}});
  EXPECT_THAT(error_of([&] { ZipArchive(archive, "t.npz").extract("a.npy"); }),
              StartsWith("t.npz: a.npy: unpacks to more than 8"));
  const test::ScopedEnvironment lifted("QW_UNPACK_RATIO", "1032");
  EXPECT_EQ(ZipArchive(archive, "t.npz").extract("a.npy"), zeros());
}

TEST(Gzip, AnArchiveThatHoldsMoreOrLessThanItClaims) {
  const std::string packed = gzip(std::string(100'000, 'x'));
  const std::string_view stream = std::string_view(packed).substr(10, packed.size() - 18);
  EXPECT_EQ(inflate_raw(stream, 100'000, "a.npy"), std::string(100'000, 'x'));
  EXPECT_EQ(error_of([&] { inflate_raw(stream, 99'999, "a.npy"); }),
            "a.npy: unpacks to more than the 99999 bytes it claims");
  EXPECT_EQ(error_of([&] { inflate_raw(stream, 100'001, "a.npy"); }),
            "a.npy: unpacks to less than the 100001 bytes it claims");
  EXPECT_EQ(error_of([&] { inflate_raw(stream, 0, "a.npy"); }),
            "a.npy: unpacks to more than the 0 bytes it claims");
}

TEST(Gzip, TheRatioIsANumber) {
  for (const char* bad : {"x", "0", "1033", "-1"}) {
    const test::ScopedEnvironment ratio("QW_UNPACK_RATIO", bad);
    EXPECT_EQ(error_of([] { gunzip(gzip("a"), "a.gz"); }),
              std::string("QW_UNPACK_RATIO '") + bad + "' is not a whole number from 1 to 1032");
  }
  const test::ScopedEnvironment empty("QW_UNPACK_RATIO", "");
  EXPECT_EQ(gunzip(gzip("a"), "a.gz"), "a");
}

}  // namespace
}  // namespace qw
