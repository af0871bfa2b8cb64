#include "report/predicted_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/file.h"
#include "core/manifest.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Row = std::vector<std::string_view>;

constexpr size_t kNowhere = static_cast<size_t>(-1);

double number(std::string_view text) { return parse_number(text).value_or(std::nan("")); }

// Where the columns stand.
struct Columns {
  size_t id = kNowhere, part = kNowhere, prediction = kNowhere, label = kNowhere, confidence = kNowhere,
         set = kNowhere;
  std::vector<size_t> probability, value, low, high, network, transport;  // of each class, label or value

  Columns(const std::vector<std::string>& names, const TrainedOn& trained_on) {
    const auto place = [&](const std::string& name) {
      const auto found = std::find(names.begin(), names.end(), name);
      return found == names.end() ? kNowhere : static_cast<size_t>(found - names.begin());
    };
    const auto each = [&](const std::string& name, bool alone_without_name) {
      const Targets& targets = trained_on.targets;
      std::vector<size_t> places;
      for (int64_t c = 0; c < targets.width; ++c) {
        const std::string of = targets.names.empty() ? fmt::format("{}", c) : targets.names[c];
        places.push_back(
            place(alone_without_name && targets.width == 1 ? name : fmt::format("{} {}", name, of)));
      }
      const bool complete = std::find(places.begin(), places.end(), kNowhere) == places.end();
      return complete ? places : std::vector<size_t>();
    };
    id = place("id"), part = place("part");
    network = each("network", false), transport = each("transport", false);
    if (trained_on.targets.task == Task::kRegression) {
      value = each("prediction", true), low = each("low", true), high = each("high", true);
      return;
    }
    prediction = place("prediction"), label = place("label"), confidence = place("confidence");
    set = place("set"), probability = each("probability", false);
  }
};

class Reader {
 public:
  Reader(const Columns& columns, const TrainedOn& trained_on, bool has_flow)
      : columns_(columns), targets_(trained_on.targets), has_flow_(has_flow) {
    const auto holds = [&](char mark) {
      return std::any_of(targets_.names.begin(), targets_.names.end(),
                         [&](const std::string& name) { return name.find(mark) != std::string::npos; });
    };
    counts_sets_ = columns.set != kNowhere && !holds('|') && !holds('?');
  }

  void take(NodeId node, const Row& row) {
    const std::string_view part = row[columns_.part];
    if (part == "train") nodes_.split.train.push_back(node);
    if (part == "val") nodes_.split.val.push_back(node);
    if (part == "test") nodes_.split.test.push_back(node);
    const bool tests = part == "test" && targets_.known(node);
    if (tests) keep(node, row);
    if (has_flow_ && !columns_.network.empty() && !columns_.transport.empty()) weigh(node, row, tests);
  }

  PredictedNodes finish() {
    TransportEffect& effect = nodes_.transport;
    effect.changed = changed_[missed_[1] < missed_[0]];
    if (effect.nodes > 0) effect.shift /= static_cast<double>(effect.nodes * targets_.width);
    effect.error_with = errors_ > 0 ? effect.error_with / errors_ : std::nan("");
    effect.error_without = errors_ > 0 ? effect.error_without / errors_ : std::nan("");
    return std::move(nodes_);
  }

 private:
  // A test node.
  void keep(NodeId node, const Row& row) {
    nodes_.nodes.push_back(node);
    nodes_.ids.emplace_back(row[columns_.id]);
    const auto append = [&](std::vector<double>& to, const std::vector<size_t>& places) {
      for (const size_t place : places) to.push_back(number(row[place]));
    };
    append(nodes_.probability, columns_.probability);
    append(nodes_.value, columns_.value);
    append(nodes_.low, columns_.low);
    append(nodes_.high, columns_.high);
    if (columns_.prediction != kNowhere) nodes_.predicted.emplace_back(row[columns_.prediction]);
    if (columns_.label != kNowhere) nodes_.labels.emplace_back(row[columns_.label]);
    if (columns_.confidence != kNowhere) nodes_.confidence.push_back(number(row[columns_.confidence]));
    if (!counts_sets_) return;
    const std::string_view set = row[columns_.set];
    const bool of_labels = targets_.task == Task::kMultiLabel;
    const auto marks = static_cast<double>(std::count(set.begin(), set.end(), of_labels ? '?' : '|'));
    nodes_.set_size.push_back(of_labels ? marks : set.empty() ? 0 : 1 + marks);
  }

  // What transport did to a node.
  void weigh(NodeId node, const Row& row, bool tests) {
    TransportEffect& effect = nodes_.transport;
    network_.clear(), sum_.clear();
    bool moved = false;
    for (int64_t c = 0; c < targets_.width; ++c) {
      const double added = number(row[columns_.transport[c]]);
      network_.push_back(number(row[columns_.network[c]]));
      sum_.push_back(network_.back() + added);
      moved = moved || added != 0;
      effect.shift += std::fabs(added);
    }
    ++effect.nodes;
    effect.moved += moved;
    if (targets_.task == Task::kClassification) weigh_class(node, tests);
    if (targets_.task == Task::kMultiLabel && !columns_.probability.empty()) weigh_labels(row);
    if (targets_.task == Task::kRegression && tests) weigh_values(node);
  }

  void weigh_class(NodeId node, bool tests) {
    const auto before = std::max_element(network_.begin(), network_.end()) - network_.begin();
    const auto after = std::max_element(sum_.begin(), sum_.end()) - sum_.begin();
    if (before == after) return;
    ++changed_[0], ++changed_[1];
    if (!tests) return;
    nodes_.transport.righted += after == targets_.classes[node];
    nodes_.transport.wronged += before == targets_.classes[node];
  }

  // A label is predicted above 0 by some solvers and above 1/2 by others; the file does not say which, but
  // only one of both explains all that is predicted.
  void weigh_labels(const Row& row) {
    constexpr double kThresholds[] = {0, 0.5};
    for (int t = 0; t < 2; ++t) {
      bool changed = false;
      for (int64_t c = 0; c < targets_.width; ++c) {
        const bool said = number(row[columns_.probability[c]]) > 0.5;
        missed_[t] += (sum_[c] > kThresholds[t]) != said;
        changed = changed || (network_[c] > kThresholds[t]) != said;
      }
      changed_[t] += changed;
    }
  }

  void weigh_values(NodeId node) {
    for (int64_t c = 0; c < targets_.width; ++c) {
      const double truth = targets_.values[node * targets_.width + c];
      if (std::isnan(truth)) continue;
      nodes_.transport.error_without += std::fabs(network_[c] - truth);
      nodes_.transport.error_with += std::fabs(sum_[c] - truth);
      ++errors_;
    }
  }

  const Columns& columns_;
  const Targets& targets_;
  bool has_flow_;
  bool counts_sets_ = false;  // not where names have the marks that stand between and behind them
  PredictedNodes nodes_;
  std::vector<double> network_, sum_;
  int64_t changed_[2] = {0, 0}, missed_[2] = {0, 0};  // by threshold
  double errors_ = 0;
};

// Of qw fit no manifest lists it.
std::string checked_contents(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (!Manifest::exists_in(folder)) return read_file(file);
  const Manifest manifest = Manifest::read(folder);
  return manifest.lists(file.filename()) ? manifest.contents(file.filename()) : read_file(file);
}

}  // namespace

PredictedNodes read_predictions(const std::filesystem::path& file, const TrainedOn& trained_on,
                                bool has_flow) {
  if (!std::filesystem::exists(file)) return {};
  const std::string text = checked_contents(file);
  CsvScanner scanner(text, file.string());
  const std::vector<std::string> names = read_header(scanner).names;
  const Columns columns(names, trained_on);
  if (columns.id == kNowhere || columns.part == kNowhere)
    fail(fmt::format("{}: has no columns id and part", file.string()));
  Reader reader(columns, trained_on, has_flow);
  Row fields;
  NodeId node = 0;
  for (; scanner.next(fields); ++node) {
    const bool fits = fields.size() == names.size() && node < trained_on.graph.num_nodes() &&
                      fields[columns.id] == trained_on.node_id(node);
    if (!fits)
      fail(fmt::format("{}, line {}: is not about node {} of the training", file.string(), scanner.line(),
                       node));
    reader.take(node, fields);
  }
  if (node != trained_on.graph.num_nodes())
    fail(fmt::format("{}: has {} nodes, and the training {}", file.string(), node,
                     trained_on.graph.num_nodes()));
  return reader.finish();
}

}  // namespace qw
