// The program `qw`. It starts in milliseconds: commands that need LibTorch, which takes half a second to
// load, are those of a second program, qw-learn, and are handed over to it as they were written.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/program.h"
#include "core/memory.h"
#include "core/text.h"

namespace qw::cli {
namespace {

constexpr const char* kLearnProgram = "qw-learn";

// Beside this program in a build tree; installed in a folder of its own, wherever the two were moved.
std::filesystem::path learn_program() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path beside = here / kLearnProgram;
  return std::filesystem::exists(beside) ? beside
                                         : (here / QW_LEARN_FOLDER / kLearnProgram).lexically_normal();
}

struct HandedOver {
  const char* name;
  const char* summary;
};
constexpr HandedOver kHandedOver[] = {{"fit", "the best prediction for a graph in the time you have"},
                                      {"train", "learn the labels of a graph"},
                                      {"predict", "the labels that a training predicts, as CSV"},
                                      {"eval", "how good a training's predictions are"},
                                      {"explain", "why a node got its label, and by which edges"},
                                      {"report", "what a training has to say, as one HTML file"},
                                      {"sweep", "search for good options"},
                                      {"presets", "settings that were found by sweeps"},
                                      {"reproduce", "the paper's tables and figures"},
                                      {"bench", "measure a training step, or the network between processes"}};

// The command as written: the first argument that is no option, nor the value of --threads.
std::string command_of(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--threads") {
      ++i;
    } else if (!argument.starts_with("-")) {
      return std::string(argument);
    }
  }
  return {};
}

int hand_over(const std::string& command, char** argv) {
  // LibTorch and OpenBLAS do not say that they lack addresses: they abort, or try for ever.
  constexpr int64_t kLeast = int64_t{600} << 20;
  if (const int64_t room = available_addresses(); room < kLeast) {
    fmt::print(stderr, "qw {}: ulimit -v leaves {} of addresses, and LibTorch needs {} to start; raise it\n",
               command, human_bytes(static_cast<double>(room)), human_bytes(static_cast<double>(kLeast)));
    return 1;
  }
  const std::filesystem::path program = learn_program();
  execv(program.c_str(), argv);
  fmt::print(stderr, "qw {}: cannot run {}: {}; was qw built without LibTorch?\n", command, program.string(),
             std::strerror(errno));
  return 1;
}

}  // namespace
}  // namespace qw::cli

int main(int argc, char** argv) {
  using namespace qw::cli;
  const std::string command = command_of(argc, argv);
  for (const HandedOver& each : kHandedOver) {
    if (command == each.name) return hand_over(command, argv);
  }
  return run_program(argc, argv, [](CLI::App& app, const GlobalOptions& global) {
    add_plain_commands(app, global);
    for (const HandedOver& each : kHandedOver) app.add_subcommand(each.name, each.summary);  // for --help
  });
}
