#include "qw/report/report.h"

#include <fmt/format.h>

#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/report_nodes.h"
#include "cli/learn/write_report.h"
#include "core/file.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out = "report.html";
  ReportOptions options;
};

void make_report(const ReportArguments& arguments, const GlobalOptions& global) {
  const std::vector<std::filesystem::path> runs(arguments.runs.begin(), arguments.runs.end());
  if (runs.size() > 1) {
    if (!arguments.options.nodes.empty())
      fail_usage("qw report: --node explains nodes of one training; give one folder");
    return write_report(arguments.out, comparison_html(runs, arguments.options), global);
  }
  write_report(arguments.out, explained_report(arguments.runs.front(), arguments.options), global);
}

}  // namespace

namespace {
constexpr const char* kUnnamed = "/";  // names no file
}  // namespace

// Not of a field table, whose options have a value.
void add_report_option(CLI::App& app, std::string& given) {
  app.add_option_function<std::string>(
         "--report", [&given](const std::string& file) { given = file.empty() ? kUnnamed : file; },
         "a page of what came out, too; default: report.html in the folder")
      ->type_name("[FILE]")
      ->expected(0, 1)
      ->take_last();
}

std::string report_file(const std::string& command, const std::string& given, const std::string& folder) {
  if (given.empty()) return "";
  if (folder.empty())
    fail_usage(fmt::format("{}: --report is made from what --out keeps: give --out DIR, too", command));
  if (given == kUnnamed) return folder + "/report.html";
  if (!given.ends_with(".html")) {
    fail_usage(
        fmt::format("{}: --report {} is no name of a page, which ends in .html; put other arguments "
                    "before --report",
                    command, in_quotes(given)));
  }
  return given;
}

void write_report(const std::string& file, const std::string& html, const GlobalOptions& global) {
  write_file_atomically(file, html);
  if (global.json) return print_json({{"report", file}});
  print_text(file + "\n");
}

void add_report_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "what a training has to say, as one HTML file");
  command
      ->add_option("runs", arguments->runs,
                   "folders that qw train or qw fit made; several are compared with the first")
      ->required()
      ->type_name("RUN")
      ->check(not_empty());
  command
      ->add_option("--node", arguments->options.nodes,
                   "explain these nodes, by their ids; default: some that are wrong or least sure")
      ->type_name("ID")
      ->check(not_empty());
  FieldTable table("qw report");
  table.add("out", arguments->out, "FILE", "the page");
  table.add("title", arguments->options.title, "TEXT", "above it; default: the data and who predicts");
  add_options(*command, table);
  command->callback([arguments, &global] { make_report(*arguments, global); });
}

}  // namespace qw::cli
