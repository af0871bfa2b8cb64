#include "report/figure_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// In the order of PanelKind.
const std::vector<std::string> kKinds{"lines",     "points", "bars",    "histogram",
                                      "intervals", "matrix", "parallel"};
const std::vector<std::string> kSpreadStyles{"band", "whiskers"};  // and of SpreadStyle

// Takes the fields of an object one by one; what is left over is unknown.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail(fmt::format("{}: is no JSON object", where_));
  }

  template <class T>
  void take(const char* name, T& value) {
    known_.emplace_back(name);
    if (!object_.contains(name)) return;
    try {
      object_.at(name).get_to(value);
    } catch (const Json::exception&) {
      fail(fmt::format("{}: {} is of the wrong kind", where_, in_quotes(name)));
    }
  }

  void take(const char* name, std::vector<double>& values) {
    known_.emplace_back(name);
    if (!object_.contains(name)) return;
    for (const Json& each : object_.at(name)) {
      if (!each.is_number() && !each.is_null())
        fail(fmt::format("{}: {} has what is no number: {}", where_, in_quotes(name), each.dump()));
      values.push_back(each.is_null() ? std::nan("") : each.get<double>());
    }
  }

  // The place among `choices`; the first where nothing is given.
  size_t choice(const char* name, const std::vector<std::string>& choices) {
    std::string chosen = choices.front();
    take(name, chosen);
    const auto found = std::find(choices.begin(), choices.end(), chosen);
    if (found == choices.end()) fail(fmt::format("{}: {} {}", where_, name, unknown_name(chosen, choices)));
    return found - choices.begin();
  }

  // An array of objects.
  const Json* list(const char* name) {
    known_.emplace_back(name);
    if (!object_.contains(name)) return nullptr;
    if (!object_.at(name).is_array()) fail(fmt::format("{}: {} is no list", where_, in_quotes(name)));
    return &object_.at(name);
  }

  std::string inside(const char* name, size_t place) const {
    return fmt::format("{}: {} {}", where_, name, place);
  }

  void refuse_others() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        fail(fmt::format("{}: {}", where_, unknown_name(name, known_)));
    }
  }

 private:
  const Json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

Series series_from(const Json& json, const std::string& where) {
  Fields fields(json, where);
  Series series;
  fields.take("name", series.name);
  fields.take("x", series.x);
  fields.take("y", series.y);
  fields.take("spread", series.spread);
  fields.take("spread_above", series.spread_above);
  fields.take("thin", series.thin);
  fields.take("names", series.names);
  fields.refuse_others();
  return series;
}

void take_panel(Fields& fields, Panel& panel) {
  panel.kind = static_cast<PanelKind>(fields.choice("kind", kKinds));
  panel.spread_style = static_cast<SpreadStyle>(fields.choice("spread_style", kSpreadStyles));
  fields.take("x_label", panel.x_label);
  fields.take("y_label", panel.y_label);
  fields.take("log_x", panel.log_x);
  fields.take("log_y", panel.log_y);
  fields.take("diagonal", panel.diagonal);
  fields.take("x_reach", panel.x_reach);
  fields.take("y_reach", panel.y_reach);
  fields.take("categories", panel.categories);
  const Json* all = fields.list("series");
  for (size_t s = 0; all != nullptr && s < all->size(); ++s)
    panel.series.push_back(series_from((*all)[s], fields.inside("series", s)));
}

}  // namespace

const std::vector<std::string>& panel_kinds() { return kKinds; }

Figure figure_from_json(const Json& document, const std::string& file) {
  Fields fields(document, file);
  Figure figure;
  fields.take("title", figure.title);
  fields.take("description", figure.description);
  int64_t columns = figure.columns;
  fields.take("columns", columns);
  figure.columns = static_cast<int>(std::clamp<int64_t>(columns, 0, 100));
  if (const Json* panels = fields.list("panels")) {
    for (size_t p = 0; p < panels->size(); ++p) {
      Fields of_panel((*panels)[p], fields.inside("panel", p));
      Panel& panel = figure.panels.emplace_back();
      of_panel.take("title", panel.title);
      take_panel(of_panel, panel);
      of_panel.refuse_others();
    }
  } else {
    take_panel(fields, figure.panels.emplace_back());
  }
  fields.refuse_others();
  return figure;
}

}  // namespace qw
