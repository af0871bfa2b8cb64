#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/data/card.h"
#include "qw/metrics/metrics.h"
#include "report/node_scores.h"

namespace qw {
namespace {

const MetricSummary& metric_of(const RunSummary& run, const ComparedMetric& metric) {
  std::vector<std::string> known;
  for (const auto& [name, values] : run.parts.at(metric.part)) {
    if (name == metric.name) return values;
    known.push_back(name);
  }
  fail_usage(fmt::format("qw compare: --metric {} (of {})", unknown_name(metric.name, known), run.folder));
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
                                                const ComparedMetric& metric) {
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
                               const ComparedMetric& metric) {
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

ComparedRun compare(const RunComparison& comparison, size_t place) {
  const RunSummary &first = comparison.runs.front(), &other = comparison.runs[place];
  const ComparedMetric& metric = comparison.metric;
  check_same_task(first, other);
  const std::vector<std::pair<size_t, size_t>> pairs = pairs_of(first, other, metric);
  if (pairs.empty()) {
    fail(fmt::format("{} and {} have no measured seed in common: train both with the same --seed and --split",
                     first.folder, other.folder));
  }
  if (pairs.size() == 1)
    return {place, compare_nodes(first, pairs[0].first, other, pairs[0].second, metric), true};
  std::vector<double> baseline, candidate;
  for (const auto& [i, j] : pairs) {
    baseline.push_back(metric_of(first, metric).runs[i]);
    candidate.push_back(metric_of(other, metric).runs[j]);
  }
  return {place, compare_paired(baseline, candidate, metric.higher_is_better()), false};
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

std::string number_text(const ComparedMetric& metric, double value, const char* sign = "") {
  if (!std::isfinite(value)) return "-";
  return (value > 0 ? sign : "") +
         (metric.is_share() ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4g}", value));
}

}  // namespace

bool ComparedMetric::higher_is_better() const {
  const MetricInfo* info = metric_named(name);
  return info == nullptr || info->higher_is_better;
}

bool ComparedMetric::is_share() const {
  const MetricInfo* info = metric_named(name);
  return info != nullptr && info->is_share;
}

const MetricSummary& RunComparison::values(const RunSummary& run) const { return metric_of(run, metric); }

RunComparison compare_runs(const std::vector<std::filesystem::path>& folders, const std::string& metric,
                           const std::string& part) {
  RunComparison comparison;
  for (const std::filesystem::path& folder : folders) comparison.runs.push_back(read_run_summary(folder));
  const RunSummary& first = comparison.runs.front();
  const auto& known = first.parts.at(part);
  if (known.empty()) fail(fmt::format("{} has no metrics of part {}", first.folder, part));
  comparison.metric = {metric.empty() ? known.front().first : metric, part};
  for (size_t i = 1; i < comparison.runs.size(); ++i) comparison.others.push_back(compare(comparison, i));
  return comparison;
}

std::string method_of(const RunComparison& comparison, const RunSummary& run) {
  const auto all_same = [&](std::string RunSummary::*member) {
    return std::all_of(comparison.runs.begin(), comparison.runs.end(),
                       [&](const RunSummary& each) { return each.*member == run.*member; });
  };
  if (all_same(&RunSummary::model)) return run.solver;
  return all_same(&RunSummary::solver) ? run.model : run.model + " " + run.solver;
}

std::string sentence(const RunComparison& comparison, const ComparedRun& compared) {
  const auto named = [&](const RunSummary& run) {
    return fmt::format("{} ({})", method_of(comparison, run), run.folder);
  };
  const PairedComparison& result = compared.result;
  const ComparedMetric& metric = comparison.metric;
  const std::string candidate = named(comparison.runs[compared.run]),
                    baseline = named(comparison.runs.front());
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

std::string unpaired_seeds(const RunComparison& comparison, const ComparedRun& compared) {
  const RunSummary &first = comparison.runs.front(), &run = comparison.runs[compared.run];
  const size_t most = std::max(run.seeds.size(), first.seeds.size());
  if (compared.by_nodes || compared.result.pairs >= static_cast<int64_t>(most)) return "";
  return fmt::format("{} pairs: {} has {} seeds, {} has {}", compared.result.pairs, first.folder,
                     first.seeds.size(), run.folder, run.seeds.size());
}

std::vector<std::string> comparison_header(const RunComparison& comparison) {
  const ComparedMetric& metric = comparison.metric;
  return {"run",
          "model",
          "solver",
          metric.part + " " + metric.name + (metric.is_share() ? ", %" : ""),
          "std",
          "difference",
          "wins/ties/losses",
          "p"};
}

std::vector<std::vector<std::string>> comparison_rows(const RunComparison& comparison) {
  const ComparedMetric& metric = comparison.metric;
  std::vector<std::vector<std::string>> rows;
  for (const RunSummary& run : comparison.runs) {
    const MetricSummary& values = metric_of(run, metric);
    rows.push_back({run.folder, run.model, run.solver,
                    number_text(metric, values.mean) + " +- " + number_text(metric, values.ci95),
                    number_text(metric, values.std)});
  }
  rows.front().insert(rows.front().end(), {"", "", ""});
  for (const ComparedRun& compared : comparison.others) {
    const PairedComparison& result = compared.result;
    rows[compared.run].insert(
        rows[compared.run].end(),
        {number_text(metric, result.difference, "+") + " +- " + number_text(metric, result.half_width),
         fmt::format("{}/{}/{}", result.wins, result.ties, result.losses),
         fmt::format("{:.2g}", result.p_value)});
  }
  return rows;
}

std::vector<std::string> comparison_warnings(const RunComparison& comparison) {
  const std::string& name = comparison.runs.front().name;
  const DatasetCard* card = find_card(name);
  if (card == nullptr || card->warning.empty()) return {};
  return {fmt::format("{}: {}", name, card->warning)};
}

}  // namespace qw
