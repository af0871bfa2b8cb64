#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/compare_nodes.h"
#include "cli/table.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/data/card.h"
#include "qw/metrics/metrics.h"
#include "qw/report/paired.h"
#include "report/run_summary.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::string> runs;
  std::string metric;
  std::string part = "test";
};

struct Metric {
  std::string name;
  std::string part;

  bool higher_is_better() const {
    const MetricInfo* info = metric_named(name);
    return info == nullptr || info->higher_is_better;
  }
  bool is_share() const {
    const MetricInfo* info = metric_named(name);
    return info != nullptr && info->is_share;
  }
  double scale() const { return is_share() ? 100 : 1; }  // shares are shown as percent
  const char* unit() const { return is_share() ? " points" : ""; }
};

struct Compared {
  const RunSummary* run;
  PairedComparison result;
  bool by_nodes;  // pairs are nodes of one run; else seeds
};

const MetricSummary& metric_of(const RunSummary& run, const Metric& metric) {
  std::vector<std::string> known;
  for (const auto& [name, values] : run.parts.at(metric.part)) {
    if (name == metric.name) return values;
    known.push_back(name);
  }
  fail_usage(fmt::format("qw compare: --metric {} (of {})", unknown_name(metric.name, known), run.folder));
}

Metric chosen_metric(const CompareArguments& arguments, const RunSummary& first) {
  const auto& known = first.parts.at(arguments.part);
  if (known.empty()) fail(fmt::format("{} has no metrics of part {}", first.folder, arguments.part));
  return {arguments.metric.empty() ? known.front().first : arguments.metric, arguments.part};
}

bool have_fingerprints(const RunSummary& first, const RunSummary& other) {
  return first.fingerprint && other.fingerprint;
}

void check_same_data(const RunSummary& first, const RunSummary& other) {
  const DataFingerprint &one = *first.fingerprint, &two = *other.fingerprint;
  std::vector<std::string> different;
  if (one.graph != two.graph) different.emplace_back("graph");
  if (one.features != two.features) different.emplace_back("features");
  if (one.labels != two.labels) different.emplace_back("labels");
  if (different.empty()) return;
  fail(fmt::format(
      "{} and {} were trained on different data ({}): they cannot be paired; train both on the same",
      first.folder, other.folder, join(different, ", ")));
}

void check_same_task(const RunSummary& first, const RunSummary& other) {
  if (have_fingerprints(first, other)) return check_same_data(first, other);
  if (first.data != other.data) {
    fail(fmt::format("{} is a training on {} and {} one on {}{}: they cannot be paired", first.folder,
                     first.name, other.folder, other.name,
                     first.name == other.name ? " that was loaded otherwise" : ""));
  }
  if (first.split != other.split) {
    fail(fmt::format("{} has split {} and {} has {}: they cannot be paired; train both with the same --split",
                     first.folder, first.split, other.folder, other.split));
  }
}

// Whether run i of the first and run j of the other had the same parts.
bool have_same_split(const RunSummary& first, size_t i, const RunSummary& other, size_t j) {
  if (have_fingerprints(first, other)) return first.fingerprint->splits[i] == other.fingerprint->splits[j];
  return first.split != "stored" ||
         i == j;  // stored splits go by the number of the run, all others by its seed
}

// Runs of the seeds that both have, and that were measured in both.
std::vector<std::pair<size_t, size_t>> pairs_of(const RunSummary& first, const RunSummary& other,
                                                const Metric& metric) {
  const std::vector<double>& baseline = metric_of(first, metric).runs;
  const std::vector<double>& candidate = metric_of(other, metric).runs;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < first.seeds.size(); ++i) {
    const auto found = std::find(other.seeds.begin(), other.seeds.end(), first.seeds[i]);
    const size_t j = found - other.seeds.begin();
    if (found == other.seeds.end() || !have_same_split(first, i, other, j)) continue;
    if (std::isfinite(baseline[i]) && std::isfinite(candidate[j])) pairs.emplace_back(i, j);
  }
  return pairs;
}

// One run beside one run: their nodes are the pairs.
PairedComparison compare_nodes(const RunSummary& first, size_t i, const RunSummary& other, size_t j,
                               const Metric& metric) {
  if (!is_mean_over_nodes(metric.name)) {
    fail(fmt::format(
        "{} and {} have one measured seed in common, and {} of one run has no interval: train both with "
        "--runs 10",
        first.folder, other.folder, metric.name));
  }
  const NodeScores baseline = read_node_scores(first.predictions_file(i), metric.part, metric.name);
  const NodeScores candidate = read_node_scores(other.predictions_file(j), metric.part, metric.name);
  if (baseline.ids != candidate.ids || baseline.ids.size() < 2) {
    fail(fmt::format("{} and {} have not the same {} nodes, two at least: they cannot be paired",
                     first.folder, other.folder, metric.part));
  }
  return compare_paired(baseline.scores, candidate.scores, metric.higher_is_better());
}

Compared compare(const RunSummary& first, const RunSummary& other, const Metric& metric) {
  check_same_task(first, other);
  const std::vector<std::pair<size_t, size_t>> pairs = pairs_of(first, other, metric);
  if (pairs.empty()) {
    fail(fmt::format("{} and {} have no measured seed in common: train both with the same --seed and --split",
                     first.folder, other.folder));
  }
  if (pairs.size() == 1)
    return {&other, compare_nodes(first, pairs[0].first, other, pairs[0].second, metric), true};
  std::vector<double> baseline, candidate;
  for (const auto& [i, j] : pairs) {
    baseline.push_back(metric_of(first, metric).runs[i]);
    candidate.push_back(metric_of(other, metric).runs[j]);
  }
  return {&other, compare_paired(baseline, candidate, metric.higher_is_better()), false};
}

// What tells the runs apart: their solvers, their models, or both.
std::string method(const RunSummary& run, const std::vector<RunSummary>& runs) {
  const auto all_same = [&](std::string RunSummary::*member) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunSummary& each) { return each.*member == run.*member; });
  };
  if (all_same(&RunSummary::model)) return run.solver;
  return all_same(&RunSummary::solver) ? run.model : run.model + " " + run.solver;
}

// "4.1 +- 0.9": one digit of the half width, at least one decimal.
std::string with_interval(double value, double half_width) {
  const double finest = half_width > 0 ? half_width : std::fabs(value);
  const int decimals = finest > 0 ? std::clamp(-static_cast<int>(std::floor(std::log10(finest))), 1, 9) : 1;
  return fmt::format("{:.{}f} +- {:.{}f}", value, decimals, half_width, decimals);
}

std::string tally(const PairedComparison& result) {
  const auto counted = [](int64_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
  };
  std::vector<std::string> parts;
  if (result.wins > 0) parts.push_back(counted(result.wins, "win", "wins"));
  if (result.ties > 0) parts.push_back(counted(result.ties, "tie", "ties"));
  if (result.losses > 0) parts.push_back(counted(result.losses, "loss", "losses"));
  return fmt::format("{} of {}", join(parts, ", "), result.pairs);
}

std::string sentence(const Compared& compared, const std::vector<RunSummary>& runs, const Metric& metric) {
  const auto named = [&](const RunSummary& run) {
    return fmt::format("{} ({})", method(run, runs), run.folder);
  };
  const PairedComparison& result = compared.result;
  const std::string candidate = named(*compared.run), baseline = named(runs.front());
  const double difference = metric.scale() * result.difference,
               half_width = metric.scale() * result.half_width;
  if (result.verdict == Verdict::kUndecided) {
    return fmt::format("{} makes no difference to {} that {} {} can show: {}{}{}, {}", candidate, baseline,
                       result.pairs, compared.by_nodes ? metric.part + " nodes" : "seeds",
                       difference > 0 ? "+" : "", with_interval(difference, half_width), metric.unit(),
                       tally(result));
  }
  const bool helps = result.verdict == Verdict::kHelps;
  return fmt::format("{} {} here by {}{} {} {}: {}", candidate, helps ? "helps" : "hurts",
                     with_interval(std::fabs(difference), half_width), metric.unit(),
                     helps ? "over" : "against", baseline, tally(result));
}

std::vector<std::string> warnings(const RunSummary& run) {
  const DatasetCard* card = find_card(run.name);
  if (card == nullptr || card->warning.empty()) return {};
  return {fmt::format("{}: {}", run.name, card->warning)};
}

std::string as_text(const std::vector<RunSummary>& runs, const std::vector<Compared>& all,
                    const Metric& metric) {
  const auto number = [&](double value, const char* sign = "") {
    if (!std::isfinite(value)) return std::string("-");
    return (value > 0 ? sign : "") +
           (metric.is_share() ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4g}", value));
  };
  TextTable table({"run", "model", "solver",
                   metric.part + " " + metric.name + (metric.is_share() ? ", %" : ""), "std", "difference",
                   "wins/ties/losses", "p"});
  std::string sentences;
  for (const RunSummary& run : runs) {
    const MetricSummary& values = metric_of(run, metric);
    std::vector<std::string> row{run.folder, run.model, run.solver,
                                 number(values.mean) + " +- " + number(values.ci95), number(values.std)};
    if (&run == &runs.front()) {
      row.insert(row.end(), {"", "", ""});
    } else {
      const Compared& compared = all[&run - &runs.front() - 1];
      const PairedComparison& result = compared.result;
      row.insert(row.end(), {number(result.difference, "+") + " +- " + number(result.half_width),
                             fmt::format("{}/{}/{}", result.wins, result.ties, result.losses),
                             fmt::format("{:.2g}", result.p_value)});
      sentences += sentence(compared, runs, metric) + "\n";
      const size_t most = std::max(run.seeds.size(), runs.front().seeds.size());
      if (!compared.by_nodes && result.pairs < static_cast<int64_t>(most)) {
        sentences +=
            fmt::format("  {} pairs: {} has {} seeds, {} has {}\n", result.pairs, runs.front().folder,
                        runs.front().seeds.size(), run.folder, run.seeds.size());
      }
    }
    table.add(std::move(row));
  }
  return fmt::format("{}, split {}\n{}\n{}", runs.front().name, runs.front().split, table.text(), sentences);
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json as_json(const std::vector<RunSummary>& runs, const std::vector<Compared>& all, const Metric& metric) {
  Json json{{"data", runs.front().name},
            {"split", runs.front().split},
            {"part", metric.part},
            {"metric", metric.name},
            {"higher_is_better", metric.higher_is_better()}};
  for (const RunSummary& run : runs) {
    const MetricSummary& values = metric_of(run, metric);
    json["runs"].push_back({{"run", run.folder},
                            {"model", run.model},
                            {"solver", run.solver},
                            {"seeds", run.seeds.size()},
                            {"mean", number_json(values.mean)},
                            {"std", number_json(values.std)},
                            {"ci95", number_json(values.ci95)}});
  }
  for (const Compared& each : all) {
    const PairedComparison& result = each.result;
    json["comparisons"].push_back({{"run", each.run->folder},
                                   {"baseline", runs.front().folder},
                                   {"pairs", result.pairs},
                                   {"pairs_are", each.by_nodes ? "nodes" : "seeds"},
                                   {"difference", result.difference},
                                   {"interval", {result.lower(), result.upper()}},
                                   {"wins", result.wins},
                                   {"ties", result.ties},
                                   {"losses", result.losses},
                                   {"p", result.p_value},
                                   {"verdict", verdict_name(result.verdict)},
                                   {"sentence", sentence(each, runs, metric)}});
  }
  json["warnings"] = warnings(runs.front());
  return json;
}

void compare_runs(const CompareArguments& arguments, const GlobalOptions& global) {
  if (arguments.runs.size() < 2) {
    fail_usage(
        "qw compare: give two folders or more that qw train --out made; the others are compared with the "
        "first");
  }
  std::vector<RunSummary> runs;
  for (const std::string& folder : arguments.runs) runs.push_back(read_run_summary(folder));
  const Metric metric = chosen_metric(arguments, runs.front());
  std::vector<Compared> all;
  for (size_t i = 1; i < runs.size(); ++i) all.push_back(compare(runs.front(), runs[i], metric));
  if (global.json) {
    print_json(as_json(runs, all, metric));
    return;
  }
  std::string text = as_text(runs, all, metric);
  for (const std::string& warning : warnings(runs.front())) text += warning + "\n";
  print_text(text);
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
  command->callback([arguments, &global] { compare_runs(*arguments, global); });
}

}  // namespace qw::cli
