#include "report/comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::string> runs;
  std::string metric;
  std::string part = "test";
};

std::string as_text(const RunComparison& comparison) {
  TextTable table(comparison_header(comparison));
  for (std::vector<std::string>& row : comparison_rows(comparison)) table.add(std::move(row));
  const RunSummary& first = comparison.runs.front();
  std::string text = fmt::format("{}, split {}\n{}\n", first.name, first.split, table.text());
  for (const ComparedRun& compared : comparison.others) {
    text += sentence(comparison, compared) + "\n";
    const std::string unpaired = unpaired_seeds(comparison, compared);
    if (!unpaired.empty()) text += "  " + unpaired + "\n";
  }
  for (const std::string& warning : comparison_warnings(comparison)) text += warning + "\n";
  return text;
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json as_json(const RunComparison& comparison) {
  const RunSummary& first = comparison.runs.front();
  const ComparedMetric& metric = comparison.metric;
  Json json{{"data", first.name},
            {"split", first.split},
            {"part", metric.part},
            {"metric", metric.name},
            {"higher_is_better", metric.higher_is_better()}};
  for (const RunSummary& run : comparison.runs) {
    const MetricSummary& values = comparison.values(run);
    json["runs"].push_back({{"run", run.folder},
                            {"model", run.model},
                            {"solver", run.solver},
                            {"seeds", run.seeds.size()},
                            {"mean", number_json(values.mean)},
                            {"std", number_json(values.std)},
                            {"ci95", number_json(values.ci95)}});
  }
  for (const ComparedRun& each : comparison.others) {
    const PairedComparison& result = each.result;
    json["comparisons"].push_back({{"run", comparison.runs[each.run].folder},
                                   {"baseline", first.folder},
                                   {"pairs", result.pairs},
                                   {"pairs_are", each.by_nodes ? "nodes" : "seeds"},
                                   {"difference", result.difference},
                                   {"interval", {result.lower(), result.upper()}},
                                   {"wins", result.wins},
                                   {"ties", result.ties},
                                   {"losses", result.losses},
                                   {"p", result.p_value},
                                   {"verdict", verdict_name(result.verdict)},
                                   {"sentence", sentence(comparison, each)}});
  }
  json["warnings"] = comparison_warnings(comparison);
  return json;
}

void compare(const CompareArguments& arguments, const GlobalOptions& global) {
  if (arguments.runs.size() < 2) {
    fail_usage(
        "qw compare: give two folders or more that qw train --out made; the others are compared with the "
        "first");
  }
  const RunComparison comparison =
      compare_runs(std::vector<std::filesystem::path>(arguments.runs.begin(), arguments.runs.end()),
                   arguments.metric, arguments.part);
  if (global.json) return print_json(as_json(comparison));
  print_text(as_text(comparison));
}

}  // namespace

void add_compare_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "whether one training is better than another, seed by seed");
  command
      ->add_option("runs", arguments->runs,
                   "folders that qw train or qw fit made; the others are compared with the first")
      ->type_name("RUN")
      ->check(not_empty());
  FieldTable table("qw compare");
  table.add("metric", arguments->metric, "NAME",
            "what to compare (see docs/metrics.md); default: the one that counted in the first training");
  table.add_choice("part", arguments->part, {"train", "val", "test"}, "of which nodes");
  add_options(*command, table);
  command->footer(
      "Runs of the same seed have the same split and are paired; of one run in common, nodes are. The "
      "difference has a 95 % interval by "
      "Student's t; "
      "p is that of Wilcoxon's signed-rank test, exact up to 25 pairs. \"helps\" and \"hurts\": the interval "
      "leaves out "
      "0.");
  command->callback([arguments, &global] { compare(*arguments, global); });
}

}  // namespace qw::cli
