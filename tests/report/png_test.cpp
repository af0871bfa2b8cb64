#include "qw/report/chart.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(Png, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  const test::ScopedEnvironment no_programs("PATH", folder.path().c_str());
  EXPECT_EQ(error_of([&] { write_png(folder.write("a.svg", "<svg/>"), folder.path() / "a.png"); }),
            "PNG needs the program rsvg-convert (Debian: librsvg2-bin)");
}

TEST(Png, LeavesNothingOfAFailure) {
  const test::TemporaryFolder folder;
  const std::filesystem::path converter = folder.write("rsvg-convert", "#!/bin/sh\nexit 3\n");
  std::filesystem::permissions(converter, std::filesystem::perms::owner_all);
  const test::ScopedEnvironment only_this("PATH", folder.path().c_str());
  const std::string svg = folder.write("a.svg", "<svg/>"), png = folder.path() / "a.png";
  EXPECT_EQ(error_of([&] { write_png(svg, png); }), svg + ": rsvg-convert could not make " + png + " of it");
  std::filesystem::permissions(converter, std::filesystem::perms::owner_read);
  const std::string error = error_of([&] { write_png(svg, png); });
  EXPECT_TRUE(error.starts_with("rsvg-convert: cannot run: ") || error.starts_with("PNG needs")) << error;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

}  // namespace
}  // namespace qw
