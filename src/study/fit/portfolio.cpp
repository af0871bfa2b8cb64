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

std::vector<Choices> space_of(const std::string& family, double rate) {
  if (family == "label-propagation")
    return {{"propagation_alpha", {0.9, 0.5, 0.7, 0.99}}, {"propagation_steps", {50, 5, 10}}};
  if (family == "linear")
    return {{"lr", {kRateOfLinear, 0.01}}, {"weight_decay", {0.0005, 0.0, 0.00005, 0.005}}};
  const double other = rate == kUsualRate ? kHighRate : kUsualRate;
  std::vector<Choices> space{
      {"lr", {rate, other, 0.003, other}},  {"weight_decay", {0.0005, 0.0, 0.00005, 0.005, 0.0}},
      {"dropout", {0.5, 0.2, 0.7}},         {"patience", {kPatience, 3 * kPatience}},
      {"norm", {"none", "layer", "batch"}}, {"balanced", {false, false, true}}};
  const auto add = [&](const char* option, Json values) { space.push_back({option, std::move(values)}); };
  if (family == "gcn" || family == "gat" || family == "gin" || family == "graphsage" || family == "mlp") {
    add("layers", {2, 3, 4});
    add("residual", {false, true});
  }
  add("hidden", family == "gat" ? Json{kHiddenOfHeads, 16, 32, 64} : Json{64, 128, 256});
  if (family == "appnp") {
    add("alpha", {0.1, 0.2, 0.5, 0.9});
    add("k", {10, 5});
  }
  if (family == "bernnet" || family == "chebnetii") {
    add("dprate", {0.0, 0.5, 0.6, 0.9});
    add("filter_lr", {0.01, 0.05, 0.001});
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
    case Variant::kQw:
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

// What a variant adds to a plain network, and its solver.
const std::vector<std::string> kOfVariants{"solver", "edge_weights", "lambda", "flow_lr",
                                           "flow_weight_decay"};

bool is_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Json network_of(const Candidate& candidate) {
  Json options = candidate.options;
  for (const std::string& name : kOfVariants) options.erase(name);
  return options;
}

bool is_network(const std::string& family) { return family != "label-propagation" && family != "linear"; }

}  // namespace

bool is_same_network(const Candidate& one, const Candidate& other) {
  return network_of(one) == network_of(other);
}

nlohmann::ordered_json to_json(const Candidate& candidate) {
  return {{"family", candidate.family},
          {"variant", static_cast<int>(candidate.variant)},
          {"options", candidate.options},
          {"repeat", candidate.repeat}};
}

std::string Candidate::name() const {
  std::vector<std::string> parts;
  for (const auto& [option, value] : options.items()) {
    static const std::vector<std::string> shown_elsewhere{"model", "select", "edge_weights",
                                                          "flow_weight_decay"};
    if (is_of(shown_elsewhere, option) || (option == "solver" && value != "badmm")) continue;
    if (option == "patience" && value == kPatience) continue;
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

Portfolio::Portfolio(const Dataset& dataset, const std::vector<NodeId>& labelled, uint64_t seed, double rate)
    : task_(dataset.targets.task), seed_(seed), rate_(rate) {
  alike_ =
      intra_edge_rate(dataset.graph, known_targets(dataset.targets, labelled)).value_or(1.0) >= kManyWithin;
}

Candidate Portfolio::make(const std::string& family, Json options) const {
  Json all{{"model", model_of(family)}, {"solver", plain_solver()}};
  if (family == "label-propagation") {
    all["solver"] = "label-propagation";
  } else {
    all["select"] = "metric";
    all["patience"] = kPatience;
    if (task_ == Task::kRegression && family != "linear") all["dropout"] = 0.0;
    if (rate_of(family) != kUsualRate) all["lr"] = rate_of(family);
  }
  if (family == "gat") all["hidden"] = kHiddenOfHeads;
  if (family == "linear") all.update(Json{{"layers", 1}, {"dropout", 0.0}, {"lr", kRateOfLinear}});
  all.update(options);
  if (task_ != Task::kClassification) all.erase("balanced");
  return {family, Variant::kPlain, all};
}

std::vector<Candidate> Portfolio::first() const {
  std::vector<std::string> families{"label-propagation", "linear", "mlp"};
  const std::vector<std::string> networks =
      alike_ ? std::vector<std::string>{"gcn", "appnp", "chebnetii", "graphsage", "gat", "bernnet", "gin"}
             : std::vector<std::string>{"chebnetii", "graphsage", "gcn", "bernnet", "gat", "gin", "appnp"};
  families.insert(families.end(), networks.begin(), networks.end());
  std::vector<Candidate> all;
  all.reserve(families.size());
  for (const std::string& family : families) all.push_back(make(family, Json::object()));
  // Between them what stands on the cheapest of networks.
  for (const auto& [family, variant] :
       {std::pair{"mlp", Variant::kCorrectAndSmooth}, std::pair{"gcn", Variant::kEdgeWeights}}) {
    if (const auto more = with(make(family, Json::object()), variant)) all.insert(all.begin() + 5, *more);
  }
  return all;
}

std::optional<Candidate> Portfolio::sample(const std::string& family, int64_t number) const {
  const std::vector<Choices> space = space_of(family, rate_of(family));
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

std::vector<Candidate> Portfolio::proven() const {
  const auto qw = [&](const std::string& family, const Json& network, const Json& flow) {
    Candidate candidate = *with(make(family, network), Variant::kQw);
    candidate.options.update(flow);
    return candidate;
  };
  if (alike_) {
    return {make("gat", {{"lr", 0.05}, {"hidden", 64}}), make("appnp", {{"lr", 0.05}, {"alpha", 0.2}}),
            make("graphsage", {{"lr", 0.05}, {"weight_decay", 0.0}})};
  }
  return {make("chebnetii", {{"lr", 0.05}, {"weight_decay", 0.0}, {"dprate", 0.6}}),
          make("bernnet", {{"lr", 0.05}, {"dprate", 0.5}, {"filter_lr", 0.002}}),
          qw("gin", {{"lr", 0.001}, {"weight_decay", 0.0}},
             {{"solver", "badmm"}, {"lambda", 0.1}, {"flow_lr", 0.001}}),
          qw("gcn", {{"lr", 0.05}, {"weight_decay", 0.0}}, {{"solver", "badmm"}, {"flow_lr", 0.002}})};
}

std::optional<Candidate> Portfolio::with(const Candidate& candidate, Variant variant) const {
  if (candidate.variant != Variant::kPlain || !is_network(candidate.family)) return std::nullopt;
  const bool has_edges = candidate.family != "mlp";
  Candidate made = candidate;
  made.variant = variant;
  made.repeat = 0;
  switch (variant) {
    case Variant::kPlain:
      break;
    case Variant::kQw:
      if (!has_edges) return std::nullopt;
      made.options["solver"] = "proximal";
      break;
    case Variant::kEdgeWeights:
      if (!has_edges) return std::nullopt;
      made.options.update(Json{{"solver", "bregman"}, {"edge_weights", true}, {"flow_weight_decay", 0.0005}});
      break;
    case Variant::kCorrectAndSmooth:
      if (task_ == Task::kRegression) return std::nullopt;
      made.options["solver"] = "correct-and-smooth";
      break;
  }
  return made;
}

std::vector<Candidate> Portfolio::variants_of(const Candidate& candidate) const {
  std::vector<Candidate> all;
  const auto add = [&](Variant variant, const Json& more) {
    auto made = with(candidate, variant);
    if (!made) return;
    made->options.update(more);
    all.push_back(std::move(*made));
  };
  add(Variant::kQw, {{"solver", "badmm"}, {"flow_lr", 0.002}});
  add(Variant::kCorrectAndSmooth, Json::object());
  add(Variant::kEdgeWeights, Json::object());
  add(Variant::kQw, {{"solver", "badmm"}, {"lambda", 0.1}, {"flow_lr", 0.001}});
  add(Variant::kQw, {{"solver", "badmm"}, {"lambda", 100.0}, {"flow_lr", 0.001}});
  add(Variant::kQw, Json::object());
  return all;
}

Candidate Portfolio::plain_of(const Candidate& candidate) const {
  Candidate plain = candidate;
  plain.variant = Variant::kPlain;
  plain.repeat = 0;
  for (const std::string& name : kOfVariants) {
    if (name != "solver") plain.options.erase(name);
  }
  plain.options["solver"] = plain_solver();  // where it stands: options are compared in their order
  return plain;
}

}  // namespace qw
