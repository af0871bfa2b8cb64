#include "cli/program.h"

#include <fmt/format.h>
#include <qw_commit.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/excerpt.h"
#include "core/progress.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/version.h"

namespace qw::cli {
namespace {

enum ExitCode { kOk = 0, kRunFailed = 1, kBadUsage = 2 };

// What is quoted in a message may have been read from a damaged file: a terminal gets no control characters.
int report(const std::string& message, ExitCode code) {
  constexpr size_t kLongest = 1500;
  std::string text;
  for (const std::string& line : split(without_middle(message, kLongest), '\n')) text += escaped(line) + "\n";
  const bool says_so = message.starts_with("qw:") || message.starts_with("qw ");
  fmt::print(stderr, "{}{}", says_so ? "" : "qw: ", text);
  return code;
}

// The library's own text begins with "filesystem error: " and the name of a function of C++.
std::string describe_path_error(const std::filesystem::filesystem_error& error) {
  return fmt::format("{}: {}", error.path1().string(), error.code().message());
}

void print_version(bool json) {
  const BuildInfo info = build_info();
  if (json) {
    print_json({{"version", info.version},
                {"commit", QW_COMMIT},
                {"build", QW_BUILD_TYPE},
                {"libtorch", info.libtorch},
                {"cuda", info.cuda},
                {"architecture", info.architecture},
                {"compiler", info.compiler},
                {"cpu_features", info.cpu_features},
                {"threads", thread_count()}});
    return;
  }
  const std::string commit = std::string(QW_COMMIT).empty() ? "" : fmt::format("commit {}, ", QW_COMMIT);
  print_text(fmt::format("qw {} ({}{})\nLibTorch: {}\nCUDA: {}\nCPU: {}, {} threads, {}\nCompiler: {}\n",
                         info.version, commit, QW_BUILD_TYPE,
                         info.libtorch.empty() ? "built without" : info.libtorch, info.cuda ? "yes" : "no",
                         info.architecture, thread_count(), join(info.cpu_features, " "), info.compiler));
}

// As they were given to this program.
std::vector<std::string>& arguments() {
  static std::vector<std::string> all;
  return all;
}

// The innermost subcommand that was asked for: its help is the one to point to.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "qw" : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = innermost(root);
  const std::vector<std::string> extra = root.remaining(true);
  std::string problem = error.what();
  if (!extra.empty()) {
    const bool is_option = extra.front().starts_with("-");
    std::vector<std::string> known = option_names(app);
    if (!is_option) {
      known.clear();
      for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
    }
    const auto near = closest(extra.front().substr(0, extra.front().find('=')), known);
    problem = fmt::format("{} {} is unknown{}", is_option ? "option" : "argument", in_quotes(extra.front()),
                          near ? fmt::format("; did you mean {}?", in_quotes(*near)) : "");
  }
  return fmt::format("{} (see {} --help)", problem, full_name(app));
}

// CLI11 shows the options of the level itself only; these hold on every level.
void mention_global_options(CLI::App& app) {
  for (CLI::App* sub : app.get_subcommands({})) {
    const std::string own = sub->get_footer();
    sub->footer(own + (own.empty() ? "" : "\n") + "Everywhere: --threads N, --json, --quiet (see qw --help)");
    mention_global_options(*sub);
  }
}

int run(int argc, char** argv, const AddCommands& add_commands) {
  CLI::App app("Learns node labels on graphs with the Quasi-Wasserstein loss.", "qw");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.get_formatter()->column_width(34);

  GlobalOptions global;
  FieldTable table("qw");
  table.add("threads", global.threads, {0, 4096}, "threads to use; 0: all cores");
  table.add("json", global.json, "print one JSON document on standard output, all else on standard error");
  table.add("quiet", global.quiet, "no remarks and no progress");
  add_options(app, table);
  bool version = false;
  app.add_flag("--version", version, "print the version, LibTorch, CPU features and CUDA");
  app.parse_complete_callback([&] {
    set_quiet(global.quiet);
    if (global.threads > 0) set_thread_count(static_cast<int>(global.threads));
  });
  add_commands(app, global);
  mention_global_options(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_text(app.help());
    return kOk;
  } catch (const CLI::RuntimeError&) {
    throw;
  } catch (const CLI::ParseError& error) {
    return report(explain(app, error), kBadUsage);
  }
  if (version) {
    print_version(global.json);
  } else if (app.get_subcommands().empty()) {
    print_text(app.help());
  }
  return kOk;
}

// What stands after the user's name in a URL, or as its parameter. A password that should have been encoded
// may hold an @ itself.
void hide_password(std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return;
  const size_t at = url.rfind('@'), colon = url.find(':', begin + 3);
  if (at != std::string::npos && colon < at) url.erase(colon, at - colon);
  const size_t parameter = url.find("password=", begin);
  if (parameter == std::string::npos) return;
  url.erase(parameter, std::min(url.find('&', parameter), url.size()) - parameter);
}

}  // namespace

std::string command_line() {
  std::vector<std::string> words = arguments();
  for (std::string& word : words) hide_password(word);
  if (!words.empty()) words.front() = "qw";
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
  for (std::string& word : words) {
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) continue;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    word = quoted + "'";
  }
  return join(words, " ");
}

int run_program(int argc, char** argv, const AddCommands& add_commands,
                const std::function<std::string(const std::exception&)>& describe) {
  arguments() = {argv, argv + argc};
  std::signal(SIGXFSZ, SIG_IGN);  // past `ulimit -f` a write fails instead, and says so
  try {
    return run(argc, argv, add_commands);
  } catch (const CLI::RuntimeError& ended) {  // all is said
    return ended.get_exit_code();
  } catch (const UsageError& error) {
    return report(error.what(), kBadUsage);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::length_error&) {  // more than any memory holds
    return report("out of memory", kRunFailed);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(describe_path_error(error), kRunFailed);
  } catch (const nlohmann::json::exception&) {
    return report("a JSON document has a field that is missing or of the wrong kind", kRunFailed);
  } catch (const Error& error) {
    return report(error.what(), kRunFailed);
  } catch (const std::exception& error) {
    return report(describe ? describe(error) : error.what(), kRunFailed);
  }
}

}  // namespace qw::cli
