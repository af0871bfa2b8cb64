#include "study/fit/portfolio.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/random.h"
#include "qw/graph/statistics.h"
#include "study/known_targets.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Choices of one option; the first is what a family has anyway.
struct Choices {
  const char* option;
  Json values;
};

constexpr int kHiddenOfHeads = 8;
constexpr int kPatience = 100;  // half of qw train's: twice as many candidates
constexpr double kRateOfLinear = 0.05;

std::vector<Choices> space_of(const std::string& family) {
  if (family == "label-propagation")
    return {{"propagation_alpha", {0.9, 0.5, 0.7, 0.99}}, {"propagation_steps", {50, 5, 10}}};
  if (family == "linear")
    return {{"lr", {kRateOfLinear, 0.01}}, {"weight_decay", {0.0005, 0.0, 0.00005, 0.005}}};
  std::vector<Choices> space{{"lr", {0.01, 0.003, 0.03}},
                             {"weight_decay", {0.0005, 0.0, 0.00005, 0.005}},
                             {"dropout", {0.5, 0.2, 0.7}},
                             {"norm", {"none", "layer", "batch"}},
                             {"balanced", {false, false, true}}};
  const auto add = [&](const char* option, Json values) { space.push_back({option, std::move(values)}); };
  if (family == "gcn" || family == "gat" || family == "gin" || family == "graphsage" || family == "mlp") {
    add("layers", {2, 3, 4});
    add("residual", {false, true});
  }
  add("hidden", family == "gat" ? Json{kHiddenOfHeads, 16, 32} : Json{64, 128, 256});
  if (family == "appnp") {
    add("alpha", {0.1, 0.2, 0.5});
    add("k", {10, 5});
  }
  if (family == "bernnet" || family == "chebnetii") {
    add("dprate", {0.0, 0.5});
    add("filter_lr", {0.01, 0.05});
    add("k", {10, 5});
  }
  return space;
}

std::string model_of(const std::string& family) {
  if (family == "label-propagation") return "none";
  return family == "linear" ? "mlp" : family;
}

const char* suffix(Variant variant) {
  switch (variant) {
    case Variant::kProximal:
      return " + QW";
    case Variant::kEdgeWeights:
      return " + edge weights";
    case Variant::kCorrectAndSmooth:
      return " + correct & smooth";
    case Variant::kPlain:
      break;
  }
  return "";
}

}  // namespace

nlohmann::ordered_json to_json(const Candidate& candidate) {
  return {{"family", candidate.family},
          {"variant", static_cast<int>(candidate.variant)},
          {"options", candidate.options},
          {"repeat", candidate.repeat}};
}

std::string Candidate::name() const {
  std::vector<std::string> parts;
  for (const auto& [option, value] : options.items()) {
    static const std::vector<std::string> kSaid{"model",    "solver",       "select",
                                                "patience", "edge_weights", "flow_weight_decay"};
    if (std::find(kSaid.begin(), kSaid.end(), option) != kSaid.end()) continue;
    if (family == "linear" && (option == "layers" || option == "dropout" || value == kRateOfLinear)) continue;
    if (family == "gat" && value == kHiddenOfHeads) continue;
    std::string words = option;
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(
        value.is_boolean()
            ? words
            : fmt::format("{} {}", words, value.is_string() ? value.get<std::string>() : json_text(value)));
  }
  std::string text = family + suffix(variant);
  if (!parts.empty()) text += " (" + join(parts, ", ") + ")";
  return repeat > 0 ? fmt::format("{}, again {}", text, repeat) : text;
}

Portfolio::Portfolio(const Dataset& dataset, const std::vector<NodeId>& labelled, uint64_t seed)
    : task_(dataset.targets.task), seed_(seed) {
  alike_ =
      intra_edge_rate(dataset.graph, known_targets(dataset.targets, labelled)).value_or(1.0) >= kManyWithin;
}

Candidate Portfolio::make(const std::string& family, Json options) const {
  const bool values = task_ == Task::kRegression;
  Json all{{"model", model_of(family)}, {"solver", values ? "mse" : "ce"}};
  if (family == "label-propagation") {
    all["solver"] = "label-propagation";
  } else {
    all["select"] = "metric";
    all["patience"] = kPatience;
    if (values && family != "linear") all["dropout"] = 0.0;
  }
  if (family == "gat") all["hidden"] = kHiddenOfHeads;
  if (family == "linear") all.update(Json{{"layers", 1}, {"dropout", 0.0}, {"lr", kRateOfLinear}});
  all.update(options);
  if (values) all.erase("balanced");
  return {family, Variant::kPlain, all};
}

std::vector<Candidate> Portfolio::first() const {
  std::vector<std::string> families{"label-propagation", "linear", "mlp"};
  const std::vector<std::string> networks =
      alike_ ? std::vector<std::string>{"gcn", "appnp", "chebnetii", "graphsage", "gat", "bernnet", "gin"}
             : std::vector<std::string>{"chebnetii", "graphsage", "gcn", "bernnet", "gat", "gin", "appnp"};
  families.insert(families.end(), networks.begin(), networks.end());
  std::vector<Candidate> all;
  for (const std::string& family : families) all.push_back(make(family, Json::object()));
  // Between them what stands on the cheapest of networks.
  for (const auto& [family, variant] :
       {std::pair{"mlp", Variant::kCorrectAndSmooth}, std::pair{"gcn", Variant::kEdgeWeights}}) {
    if (const auto more = with(make(family, Json::object()), variant)) all.insert(all.begin() + 5, *more);
  }
  return all;
}

std::optional<Candidate> Portfolio::sample(const std::string& family, int64_t number) const {
  const std::vector<Choices> space = space_of(family);
  double combinations = 1;
  for (const Choices& choices : space) combinations *= static_cast<double>(choices.values.size());
  if (static_cast<double>(number) + 1 >= combinations) return std::nullopt;
  uint64_t stream = 0;
  for (const char letter : family) stream = stream * 31 + static_cast<unsigned char>(letter);
  const RandomStream random(seed_, stream);
  Json options = Json::object();
  for (size_t k = 0; k < space.size(); ++k) {
    const Json& values = space[k].values;
    const Json& value = values[random.below(static_cast<uint64_t>(number) * space.size() + k, values.size())];
    if (value != values[0]) options[space[k].option] = value;
  }
  return make(family, options);
}

std::optional<Candidate> Portfolio::with(const Candidate& candidate, Variant variant) const {
  const bool has_network = candidate.family != "label-propagation" && candidate.family != "linear";
  if (candidate.variant != Variant::kPlain || !has_network) return std::nullopt;
  Candidate made = candidate;
  made.variant = variant;
  made.repeat = 0;
  switch (variant) {
    case Variant::kPlain:
      break;
    case Variant::kProximal:
      if (candidate.family == "mlp") return std::nullopt;
      made.options["solver"] = "proximal";
      break;
    case Variant::kEdgeWeights:
      if (candidate.family == "mlp") return std::nullopt;
      made.options.update(Json{{"solver", "bregman"}, {"edge_weights", true}, {"flow_weight_decay", 0.0005}});
      break;
    case Variant::kCorrectAndSmooth:
      if (task_ == Task::kRegression) return std::nullopt;
      made.options["solver"] = "correct-and-smooth";
      break;
  }
  return made;
}

}  // namespace qw
