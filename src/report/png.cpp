#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/file.h"
#include "qw/core/error.h"
#include "qw/report/chart.h"

namespace qw {
namespace {

constexpr const char* kConverter = "rsvg-convert";

// Runs the converter and waits for it; gives how it ended, as waitpid says.
int convert(const std::filesystem::path& svg, const std::filesystem::path& png) {
  std::array<std::string, 8> arguments{kConverter, "--zoom",   "2",          "--format",
                                       "png",      "--output", png.string(), svg.string()};
  std::array<char*, 9> argv{};
  for (size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kConverter, nullptr, nullptr, argv.data(), environ);
  if (failed == ENOENT) fail("PNG needs the program rsvg-convert (Debian: librsvg2-bin)");
  if (failed != 0)
    fail(fmt::format("{}: cannot run: {}", kConverter, std::generic_category().message(failed)));
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
    if (errno != EINTR)
      fail(fmt::format("{}: cannot wait for it: {}", kConverter, std::generic_category().message(errno)));
  }
  return ended;
}

}  // namespace

void write_png(const std::filesystem::path& svg, const std::filesystem::path& png) {
  const std::filesystem::path unfinished = temporary_beside(std::filesystem::absolute(png));
  if (convert(std::filesystem::absolute(svg), unfinished) != 0) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    fail(fmt::format("{}: {} could not make {} of it", svg.string(), kConverter, png.string()));
  }
  publish_file(unfinished, png);
}

}  // namespace qw
