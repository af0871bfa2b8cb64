// What a sweep tries: from its description to requests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/random.h"
#include "qw/nn/model.h"
#include "qw/study/sweep.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// A number {"uniform": [a, b]} or {"log": [a, b]}.
bool is_range(const Json& values) {
  return values.is_object() && values.size() == 1 && (values.contains("uniform") || values.contains("log"));
}

class Description {
 public:
  Description(const Json& document, std::string file) : file_(std::move(file)) {
    static const std::vector<std::string> known_names{"about",  "method",     "each",     "fixed",   "where",
                                                      "search", "include",    "strategy", "samples", "runs",
                                                      "keep",   "first_runs", "seed"};
    if (!document.is_object()) fail_usage(fmt::format("{}: is no JSON object", file_));
    check_names(document, known_names);
    each = member(document, "each", Json::object());
    for (const auto& [name, values] : each.items()) check_list(name, values);
    if (!each.contains("data")) fail_usage(fmt::format("{}: \"each\" names no \"data\"", file_));
    method = text(document, "method", "");
    strategy = text(document, "strategy", "grid");
    const std::vector<std::string> strategies{"grid", "random", "halving"};
    if (std::find(strategies.begin(), strategies.end(), strategy) == strategies.end()) {
      fail_usage(fmt::format("{}: \"strategy\" {}", file_, unknown_name(strategy, strategies)));
    }
    constexpr int64_t kMostSamples = 100'000, kMostRuns = 1'000'000;
    samples = number(document, "samples", 24, 1, kMostSamples);
    runs = number(document, "runs", 10, 1, kMostRuns);
    first_runs = number(document, "first_runs", 1, 1, kMostRuns);
    seed = number(document, "seed", 1, 0);
    keep = share(document, "keep", 1.0 / 3);
    common_ = layer(document);
    for (const Json& rule : member(document, "where", Json::array())) {
      if (!rule.is_object()) fail_usage(fmt::format("{}: \"where\" needs a list of objects", file_));
      check_names(rule, {"if", "fixed", "search", "include"});
      where_.emplace_back(member(rule, "if", Json::object()), layer(rule));
    }
  }

  struct Layer {
    Json fixed, search, include;
  };

  // What holds for one combination of "each".
  Layer for_cell(const Json& combination) const {
    Layer all = common_;
    for (const auto& [condition, layer] : where_) {
      bool holds = true;
      for (const auto& [name, value] : condition.items()) {
        if (!combination.contains(name)) {
          fail_usage(fmt::format("{}: \"if\" asks for \"{}\", which \"each\" has not", file_, name));
        }
        holds = holds && combination.at(name) == value;
      }
      if (!holds) continue;
      all.fixed.update(layer.fixed);
      all.search.update(layer.search);
      all.include.insert(all.include.end(), layer.include.begin(), layer.include.end());
    }
    return all;
  }

  const std::string& file() const { return file_; }

  Json each;
  std::string method, strategy;
  int64_t samples, runs, first_runs, seed;
  double keep;

 private:
  Layer layer(const Json& object) const {
    Layer layer{member(object, "fixed", Json::object()), member(object, "search", Json::object()),
                member(object, "include", Json::array())};
    if (layer.search.contains("metric"))
      fail_usage(
          fmt::format("{}: \"search\" cannot choose \"metric\", by which options are compared", file_));
    for (const char* name : {"runs", "device", "checkpoint_every", "coverage", "baselines"}) {
      if (layer.fixed.contains(name)) {
        fail_usage(fmt::format("{}: \"fixed\" has no use for \"{}\", which changes no result", file_, name));
      }
    }
    for (const auto& [name, values] : layer.search.items()) {
      if (!is_range(values)) {
        check_list(name, values);
      } else if (strategy == "grid") {
        fail_usage(
            fmt::format("{}: \"{}\" is a range, which strategy grid cannot walk; give a list", file_, name));
      } else {
        check_range(name, values);
      }
    }
    return layer;
  }

  void check_names(const Json& object, const std::vector<std::string>& known) const {
    for (const auto& [name, value] : object.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fail_usage(fmt::format("{}: {}", file_, unknown_name(name, known)));
      }
    }
  }

  Json member(const Json& object, const char* name, const Json& otherwise) const {
    if (!object.contains(name)) return otherwise;
    if (object.at(name).type() != otherwise.type()) {
      fail_usage(fmt::format("{}: \"{}\" is no {}", file_, name, otherwise.is_array() ? "list" : "object"));
    }
    return object.at(name);
  }

  void check_list(const std::string& name, const Json& values) const {
    if (!values.is_array() || values.empty()) {
      fail_usage(fmt::format("{}: \"{}\" needs a list of values", file_, name));
    }
  }

  void check_range(const std::string& name, const Json& range) const {
    const bool is_log = range.contains("log");
    const Json& bounds = range.front();
    const bool numbers =
        bounds.is_array() && bounds.size() == 2 && bounds[0].is_number() && bounds[1].is_number();
    if (!numbers || bounds[0].get<double>() > bounds[1].get<double>() ||
        (is_log && bounds[0].get<double>() <= 0)) {
      fail_usage(fmt::format("{}: \"{}\" needs a range [a, b] with a <= b{}", file_, name,
                             is_log ? " and a > 0" : ""));
    }
  }

  std::string text(const Json& object, const char* name, const char* otherwise) const {
    if (!object.contains(name)) return otherwise;
    if (!object.at(name).is_string()) fail_usage(fmt::format("{}: \"{}\" is no text", file_, name));
    return object.at(name).get<std::string>();
  }

  int64_t number(const Json& object, const char* name, int64_t otherwise, int64_t least,
                 int64_t most = std::numeric_limits<int64_t>::max()) const {
    if (!object.contains(name)) return otherwise;
    const Json& value = object.at(name);
    if (!value.is_number_integer() || value.get<int64_t>() < least) {
      fail_usage(fmt::format("{}: \"{}\" needs a whole number from {} on", file_, name, least));
    }
    if (value.get<int64_t>() > most) fail_usage(fmt::format("{}: \"{}\" is above {}", file_, name, most));
    return value.get<int64_t>();
  }

  double share(const Json& object, const char* name, double otherwise) const {
    if (!object.contains(name)) return otherwise;
    const Json& value = object.at(name);
    if (!value.is_number() || value.get<double>() <= 0 || value.get<double>() >= 1) {
      fail_usage(fmt::format("{}: \"{}\" needs a number between 0 and 1", file_, name));
    }
    return value.get<double>();
  }

  std::string file_;
  Layer common_;
  std::vector<std::pair<Json, Layer>> where_;
};

// {name: value}, or the value itself where it is an object of options.
void choose(Json& options, const std::string& name, const Json& value) {
  if (value.is_object()) {
    options.update(value);
  } else {
    options[name] = value;
  }
}

// All combinations of one value each, the last name turning fastest.
std::vector<Json> combinations(const Json& lists, bool as_options) {
  std::vector<Json> all{Json::object()};
  for (const auto& [name, values] : lists.items()) {
    std::vector<Json> longer;
    for (const Json& start : all) {
      for (const Json& value : values) {
        Json one = start;
        if (as_options) {
          choose(one, name, value);
        } else {
          one[name] = value;
        }
        longer.push_back(std::move(one));
      }
    }
    all = std::move(longer);
  }
  return all;
}

Json draw(const Json& values, double uniform) {
  if (!is_range(values)) return values[static_cast<size_t>(uniform * static_cast<double>(values.size()))];
  const auto low = values.front()[0].get<double>(), high = values.front()[1].get<double>();
  // Three digits are enough to search by, and pleasant to read.
  const double number =
      values.contains("log") ? low * std::pow(high / low, uniform) : low + (high - low) * uniform;
  return std::clamp(std::stod(fmt::format("{:.3g}", number)), low, high);
}

// One of the random choices, by its number.
Json sample(const Json& search, int64_t seed, uint64_t number) {
  Json options = Json::object();
  uint64_t stream = 0;
  for (const auto& [name, values] : search.items()) {
    choose(options, name, draw(values, RandomStream(static_cast<uint64_t>(seed), stream++).uniform(number)));
  }
  return options;
}

// Requests that differ, in the order in which they were added.
class Requests {
 public:
  Requests(TrainRequest base, const std::string& file) : base_(std::move(base)), file_(file) {}

  bool add(const Json& options) {
    TrainRequest request = base_;
    set_options(request, options, file_);
    check_model(request.model);
    if (!known_.insert(json_text(options_json(request))).second) return false;
    all_.push_back(std::move(request));
    return true;
  }

  std::vector<TrainRequest> all() { return std::move(all_); }

 private:
  // Here rather than by every training.
  void check_model(const std::string& name) const {
    try {
      find_model(name);
    } catch (const UsageError& error) {
      fail_usage(fmt::format("{}: {}", file_, error.what()));
    }
  }

  TrainRequest base_;
  const std::string& file_;
  std::set<std::string> known_;
  std::vector<TrainRequest> all_;
};

TrainRequest base_request(const Description& description, const Json& combination, const Json& fixed) {
  TrainRequest request;
  request.split = "auto";
  Json options = fixed;
  for (const auto& [name, value] : combination.items()) {
    if (name == "data") {
      request.data = value;
    } else {
      choose(options, name, value);
    }
  }
  set_options(request, options, description.file());
  return request;
}

// Of data its name, or that of its edges.
std::string shown_value(const Json& value) {
  for (const char* place : {"/what", "/load/edges"}) {
    const Json::json_pointer pointer(place);
    if (!value.is_object() || !value.contains(pointer)) continue;
    const Json& name = value.at(pointer);
    if (name.is_string() && !name.get_ref<const std::string&>().empty()) return name.get<std::string>();
  }
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

// All different: combinations that would bear one name bear their options in full.
std::vector<std::string> cell_names(const std::vector<Json>& combinations, const std::string& method) {
  const auto named = [&](const Json& combination, const auto& shown) {
    std::vector<std::string> parts;
    for (const auto& [option, value] : combination.items()) parts.push_back(shown(value));
    if (!method.empty()) parts.push_back(method);
    return join(parts, "/");
  };
  std::vector<std::string> names;
  std::map<std::string, int> known;
  for (const Json& each : combinations) {
    names.push_back(named(each, shown_value));
    ++known[names.back()];
  }
  for (size_t k = 0; k < names.size(); ++k) {
    if (known[names[k]] > 1)
      names[k] = named(combinations[k], [](const Json& value) { return json_text(value); });
  }
  return names;
}

std::vector<TrainRequest> configs_of(const Description& description, const Json& combination) {
  const Description::Layer layer = description.for_cell(combination);
  Requests requests(base_request(description, combination, layer.fixed), description.file());
  for (const Json& options : layer.include) requests.add(options);
  if (description.strategy == "grid") {
    for (const Json& options : combinations(layer.search, true)) requests.add(options);
    return requests.all();
  }
  // Where nearly everything was drawn already, it takes many attempts to find the rest.
  std::set<std::string> drawn;
  int64_t found = 0;
  for (int64_t attempt = 0; found < description.samples && attempt < 100 * description.samples; ++attempt) {
    const Json options = sample(layer.search, description.seed, static_cast<uint64_t>(attempt));
    if (drawn.insert(json_text(options)).second && requests.add(options)) ++found;
  }
  return requests.all();
}

std::vector<Rung> rungs_of(const Description& description, int64_t configs) {
  if (description.strategy != "halving") return {{configs, description.runs}};
  std::vector<Rung> rungs;
  auto runs = static_cast<double>(std::min(description.first_runs, description.runs));
  for (;;) {
    const auto now = std::min(description.runs, static_cast<int64_t>(std::llround(runs)));
    rungs.push_back({configs, now});
    if (now == description.runs) return rungs;
    configs = std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(static_cast<double>(configs) * description.keep - 1e-9)));
    runs = std::max(runs / description.keep, static_cast<double>(now + 1));
  }
}

}  // namespace

nlohmann::ordered_json parse_sweep(const std::string& text, const std::string& file) {
  if (too_deep_at(text) != std::string::npos)
    fail_usage(fmt::format("{}: is no sweep: it is nested deeper than {} levels", file, kDeepestJson));
  try {
    Json description = Json::parse(text, nullptr, true, true);
    if (!description.is_object()) fail_usage(fmt::format("{}: is no JSON object", file));
    return description;
  } catch (const nlohmann::json::parse_error& error) {
    const auto line =
        1 + std::count(text.begin(),
                       text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())), '\n');
    fail_usage(fmt::format("{}:{}: is no JSON from here on", file, line));
  } catch (const nlohmann::json::exception&) {
    fail_usage(fmt::format("{}: is no JSON: a number is out of range", file));
  }
}

nlohmann::ordered_json with_base(const nlohmann::ordered_json& given, const std::vector<Preset>& presets,
                                 const std::string& file, std::vector<MissingBase>& missing) {
  if (!given.contains("base")) return given;
  Json description = given;
  description.erase("base");
  const Description checked(description, file);
  if (!given.at("base").is_string()) fail_usage(fmt::format("{}: \"base\" is no text", file));
  const std::string base = given.at("base");
  Json rules = Json::array();
  const Json fixed = description.value("fixed", Json::object());
  const std::vector<Json> all = combinations(checked.each, false);
  const std::vector<std::string> names = cell_names(all, base);
  for (size_t k = 0; k < all.size(); ++k) {
    const Json& combination = all[k];
    const std::string& name = names[k];
    const auto found = std::find_if(presets.begin(), presets.end(),
                                    [&](const Preset& preset) { return preset.name == name; });
    if (found == presets.end()) {
      missing.push_back({combination, name});
      continue;
    }
    Json options = found->options;
    options.erase("model");
    if (base != checked.method) options.erase("solver");  // that of another method
    for (const auto& [option, value] : fixed.items()) options.erase(option);
    rules.push_back({{"if", combination}, {"fixed", options}});
  }
  const Json others = description.value("where", Json::array());
  rules.insert(rules.end(), others.begin(), others.end());
  description["where"] = rules;
  return description;
}

std::vector<SweepCell> sweep_cells(const nlohmann::ordered_json& document, const std::string& file,
                                   const std::function<bool(const nlohmann::ordered_json& each)>& is_wanted) {
  const Description description(document, file);
  std::vector<SweepCell> cells;
  const std::vector<Json> all = combinations(description.each, false);
  const std::vector<std::string> names = cell_names(all, description.method);
  for (size_t k = 0; k < all.size(); ++k) {
    if (is_wanted && !is_wanted(all[k])) continue;
    SweepCell cell;
    cell.name = names[k];
    cell.each = all[k];
    cell.configs = configs_of(description, all[k]);
    cell.rungs = rungs_of(description, static_cast<int64_t>(cell.configs.size()));
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace qw
