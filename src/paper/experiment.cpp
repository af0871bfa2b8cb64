// Which trainings make up each table and figure.
#include "paper/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/embedded.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/study/presets.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kFigureGraphs{"computers", "photo", "squirrel", "chameleon"};

bool wanted(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

const Json& paper() {
  static const Json document = Json::parse(embedded_paper().at("paper.json"));
  return document;
}

const char* shown_method(const std::string& method) {
  if (method == "qw") return "QW";
  if (method == "ce") return "CE";
  if (method == "mse") return "MSE";
  if (method == "ce+lpa") return "CE + LPA";
  return method.c_str();
}

// Fills an experiment with cells.
class Maker {
 public:
  Maker(std::string name, const ExperimentOptions& options) : options_(options) {
    experiment_.name = std::move(name);
    experiment_.runs = options.runs;
  }

  // The first of these presets that there is, with other options on top.
  ExperimentCell cell(const std::string& data, const std::string& model,
                      const std::vector<std::string>& methods, const Json& instead) {
    ExperimentCell made;
    made.request.data = data;
    Json chosen{{"model", model}};
    for (const std::string& method : methods) {
      const std::string name = fmt::format("{}/{}/{}", data, model, method);
      const auto found = std::find_if(options_.presets.begin(), options_.presets.end(),
                                      [&](const Preset& preset) { return preset.name == name; });
      if (found == options_.presets.end()) continue;
      chosen = found->options;
      made.preset = name;
      made.borrowed = method != methods.front();
      break;
    }
    set_options(made.request, chosen, made.preset);
    set_options(made.request, instead, experiment_.name);
    return made;
  }

  // Table 1's preset where it is such, as the paper's tables of kinds of QW contain its cells of table 1;
  // else that of a sweep of the kind.
  ExperimentCell cell_of_kind(const std::string& data, const std::string& model, const std::string& kind,
                              const std::function<bool(const LearnOptions&)>& is_such) {
    ExperimentCell made = cell(data, model, {"qw"}, Json::object());
    if (made.preset.empty() || !is_such(made.request.learn))
      made = cell(data, model, {kind, "qw"}, Json::object());
    return made;
  }

  void add(ExperimentCell made) {
    const std::string shown_model = made.row.substr(0, made.row.find(','));
    const bool is_wanted =
        (wanted(options_.models, made.request.model) || wanted(options_.models, shown_model)) &&
        (wanted(options_.datasets, name_of(made.request.data)) || wanted(options_.datasets, made.column));
    if (is_wanted) experiment_.cells.push_back(std::move(made));
  }

  // One cell per column of a row of the paper's table.
  void add_row(const Json& table, const Json& row, const std::string& label,
               const std::function<ExperimentCell(const std::string& data, size_t column)>& make) {
    for (size_t column = 0; column < table.at("columns").size(); ++column) {
      const auto data = table.at("columns")[column].get<std::string>();
      ExperimentCell made = make(data, column);
      made.row = label;
      made.column = data;
      made.paper = PaperValue{row.at("mean")[column].get<double>(), row.at("std")[column].get<double>()};
      add(std::move(made));
    }
  }

  static std::string name_of(const Json& data) {
    return data.is_string() ? data.get<std::string>() : data.at("what").get<std::string>();
  }

  Experiment finished() {
    note("No preset, so qw's defaults were used",
         [](const ExperimentCell& cell) { return cell.preset.empty(); });
    note("No sweep of their own: settings found for another method were used",
         [](const ExperimentCell& cell) { return cell.borrowed; });
    return std::move(experiment_);
  }

  Experiment& experiment() { return experiment_; }
  const ExperimentOptions& options() const { return options_; }

 private:
  // Names the cells of which this holds, each once.
  void note(const std::string& what, const std::function<bool(const ExperimentCell&)>& holds) {
    std::set<std::string> cells;
    for (const ExperimentCell& cell : experiment_.cells) {
      if (holds(cell)) cells.insert(fmt::format("{} on {}", cell.row, cell.column));
    }
    if (!cells.empty()) {
      experiment_.notes.push_back(fmt::format("{}: {}.", what, join({cells.begin(), cells.end()}, "; ")));
    }
  }

  const ExperimentOptions& options_;
  Experiment experiment_;
};

Json solver_options(const std::string& method) {
  if (method == "ce") return {{"solver", "ce"}};
  if (method == "mse") return {{"solver", "mse"}};
  if (method == "ce+lpa") return {{"solver", "gcn-lpa"}};
  return Json::object();
}

// Algorithm 1 or 2, whichever the preset of QW has.
Json algorithm(int which) {
  return which == 1 ? Json{{"solver", "bregman"}} : Json{{"solver", "badmm"}, {"inner_steps", 2}};
}

void table1(Maker& maker) {
  const Json& table = paper().at("table1");
  for (const Json& row : table.at("rows")) {
    const auto model = row.at("model").get<std::string>(), method = row.at("method").get<std::string>();
    const std::string network = method == "ce+lpa" ? "gcn-lpa" : model;
    maker.add_row(table, row, fmt::format("{}, {}", model, shown_method(method)),
                  [&](const std::string& data, size_t) {
                    return maker.cell(data, network, {method}, solver_options(method));
                  });
  }
}

void table2(Maker& maker) {
  maker.experiment().metric = "mse";
  const Json& table = paper().at("table2");
  for (const Json& row : table.at("rows")) {
    const auto model = row.at("model").get<std::string>(), method = row.at("method").get<std::string>();
    maker.add_row(
        table, row, fmt::format("{}, {}", model, shown_method(method)), [&](const std::string& data, size_t) {
          ExperimentCell cell =
              maker.cell(data, model, {method == "qw" ? "qw-mse" : "mse", method == "qw" ? "qw" : "ce"},
                         solver_options(method));
          cell.request.data = {{"what", data}, {"load", {{"one_hot", true}}}};
          return cell;
        });
  }
}

void table3(Maker& maker) {
  const Json& table = paper().at("table3");
  const Json published{{"model", "chebnetii"}, {"hidden", 512},
                       {"layers", 3},          {"norm", "batch"},
                       {"dprate", 0.6},        {"dropout", 0.1},
                       {"lr", 0.0005},         {"weight_decay", 0.001},
                       {"filter_lr", 0.01},    {"filter_weight_decay", 0.0005}};
  const bool real = !maker.options().arxiv.empty();
  const std::string data =
      real ? maker.options().arxiv : "csbm:nodes=169343,degree=13.774,homophily=0.22,features=128,classes=5";
  for (const Json& row : table.at("rows")) {
    const auto method = row.at("method").get<std::string>();
    ExperimentCell cell;
    cell.row = fmt::format("chebnetii, {}", shown_method(method));
    cell.column = "arxiv-year";
    cell.request.data = real ? Json{{"what", data}, {"load", {{"target", "year"}}}} : Json(data);
    cell.request.split = "random:train=0.5,val=0.25";
    set_options(cell.request, published, "table3");
    set_options(cell.request,
                method == "ce" ? Json{{"solver", "ce"}} : Json{{"solver", "bregman"}, {"lambda", 100}},
                "table3");
    if (real) cell.paper = PaperValue{row.at("mean")[0].get<double>(), row.at("std")[0].get<double>()};
    cell.preset =
        method == "ce" ? "as ChebNetII's authors published" : "as ChebNetII's authors published, lambda 100";
    maker.add(std::move(cell));
  }
  if (!real) {
    maker.experiment().notes.push_back(
        "arXiv-year is not here (--arxiv FOLDER reads OGB's ogbn-arxiv): this is a generated graph with as "
        "many nodes, edges, "
        "features and classes, whose accuracies say nothing about the paper's.");
  }
}

void table4(Maker& maker) {
  const Json& table = paper().at("table4");
  for (const Json& row : table.at("rows")) {
    const auto model = row.at("model").get<std::string>(), adjacency = row.at("adjacency").get<std::string>();
    const bool learned = adjacency == "A(F)";
    maker.add_row(table, row, fmt::format("{}, {}", model, adjacency), [&](const std::string& data, size_t) {
      ExperimentCell cell = maker.cell_of_kind(
          data, model, learned ? "qw-weights" : "qw-plain", [&](const LearnOptions& learn) {
            return learn.edge_weights == learned && learn.solver != "proximal";
          });
      cell.request.learn.edge_weights = learned;
      return cell;
    });
  }
}

void table5(Maker& maker) {
  const Json& table = paper().at("table5");
  for (const Json& row : table.at("rows")) {
    const auto model = row.at("model").get<std::string>(), method = row.at("method").get<std::string>();
    const bool is_ce = method == "ce";
    maker.add_row(table, row,
                  fmt::format("{}, {}", model,
                              is_ce                    ? "CE"
                              : method == "algorithm1" ? "Algorithm 1"
                                                       : "Algorithm 2"),
                  [&](const std::string& data, size_t) {
                    if (is_ce) return maker.cell(data, model, {"ce"}, solver_options("ce"));
                    const Json solver = algorithm(method == "algorithm1" ? 1 : 2);
                    const auto has_it = [&](const LearnOptions& learn) {
                      return solver.at("solver") == learn.solver;
                    };
                    ExperimentCell cell = maker.cell_of_kind(data, model, "qw-" + method, has_it);
                    if (!has_it(cell.request.learn)) set_options(cell.request, solver, "table5");
                    return cell;
                  });
  }
}

void table6(Maker& maker) {
  const Json& table = paper().at("table6");
  for (const Json& row : table.at("rows")) {
    const auto model = row.at("model").get<std::string>(), method = row.at("method").get<std::string>();
    maker.add_row(table, row, fmt::format("{}, {}", model, shown_method(method)),
                  [&](const std::string& data, size_t) {
                    Json options = solver_options(method);
                    options["split"] = "per-class:train=20,val=500,test=1000";
                    return maker.cell(data, model, {method + "-20", method}, options);
                  });
  }
}

// "hidden 125, 5 heads, 3 layers" as options.
Json setting_options(const std::string& setting) {
  Json options = Json::object();
  for (const std::string& part : split(setting, ',')) {
    const std::vector<std::string> words = split(std::string(trim(part)), ' ');
    const bool number_first = parse_integer(words.front()).has_value();
    options[number_first ? words.back() : words.front()] =
        *parse_integer(number_first ? words.front() : words.back());
  }
  return options;
}

void table7(Maker& maker) {
  const Json& table = paper().at("table7");
  for (const Json& row : table.at("rows")) {
    const auto loss = row.at("loss").get<std::string>();
    const Json& settings = row.at("setting");
    std::string label = settings[0].get<std::string>();
    if (settings[0] != settings[1]) label += " / " + settings[1].get<std::string>();
    maker.add_row(table, row, fmt::format("{}, {}", shown_method(loss), label),
                  [&](const std::string& data, size_t column) {
                    Json options = setting_options(settings[column].get<std::string>());
                    options.update(solver_options(loss));
                    return maker.cell(data, "gat", {loss}, options);
                  });
  }
}

// What people would take instead of QW, on the same splits: no numbers of the paper's.
void baselines(Maker& maker) {
  const Json& table = paper().at("table1");
  for (const Json& column : table.at("columns")) {
    const auto data = column.get<std::string>();
    const auto add = [&](const std::string& label, ExperimentCell cell) {
      cell.row = label;
      cell.column = data;
      maker.add(std::move(cell));
    };
    add("mlp, CE", maker.cell(data, "mlp", {"ce"}, {{"solver", "ce"}}));
    ExperimentCell propagation;
    propagation.request.data = data;
    set_options(propagation.request, {{"model", "none"}, {"solver", "label-propagation"}}, "baselines");
    propagation.preset = "the usual settings";
    add("label propagation", std::move(propagation));
    add("gcn, CE + LPA", maker.cell(data, "gcn-lpa", {"ce+lpa"}, {{"solver", "gcn-lpa"}}));
    for (const char* model : {"mlp", "gcn", "gat", "gin", "graphsage", "appnp", "bernnet", "chebnetii"}) {
      add(fmt::format("{}, C&S", model), maker.cell(data, model, {"ce"}, {{"solver", "correct-and-smooth"}}));
      if (std::string_view(model) != "mlp") {
        add(fmt::format("{}, CE", model), maker.cell(data, model, {"ce"}, {{"solver", "ce"}}));
        add(fmt::format("{}, CE by metric", model),
            maker.cell(data, model, {"ce"}, {{"solver", "ce"}, {"select", "metric"}}));
        add(fmt::format("{}, QW", model), maker.cell(data, model, {"qw"}, Json::object()));
      }
    }
  }
}

void fig_runtime(Maker& maker) {
  Experiment& experiment = maker.experiment();
  experiment.metric = "step_ms";
  experiment.one_at_a_time = true;
  const Json same{{"epochs", 200}, {"patience", 0}};
  const auto add = [&](const std::string& label, double x, const std::string& method, const Json& solver) {
    ExperimentCell cell = maker.cell("photo", "gcn", {method}, same);
    set_options(cell.request, solver, "fig-runtime");
    cell.row = label;
    cell.column = "photo";
    cell.x = x;
    maker.add(std::move(cell));
  };
  add("CE", 0, "ce", {{"solver", "ce"}});
  add("Algorithm 1", 1, "qw", algorithm(1));
  for (int64_t inner = 1; inner <= 5; ++inner) {
    add(fmt::format("Algorithm 2, J = {}", inner), 1 + static_cast<double>(inner), "qw",
        {{"solver", "badmm"}, {"inner_steps", inner}});
  }
}

void fig_histogram(Maker& maker) {
  maker.experiment().runs = 1;
  for (const std::string& data : kFigureGraphs) {
    for (const char* model : {"gcn", "chebnetii"}) {
      ExperimentCell cell = maker.cell(data, model, {"qw"}, Json::object());
      cell.row = model;
      cell.column = data;
      maker.add(std::move(cell));
    }
  }
}

void fig_labels(Maker& maker) {
  for (const std::string& data : kFigureGraphs) {
    for (const double percent : {1, 5, 10, 20, 30, 40, 50, 60}) {
      const Json split{{"split", fmt::format("published:train={},val=0.2", percent / 100)}};
      const auto add = [&](const char* label, const char* method, const Json& solver) {
        ExperimentCell cell = maker.cell(data, "chebnetii", {method}, split);
        set_options(cell.request, solver, "fig-labels");
        cell.row = label;
        cell.column = data;
        cell.x = percent;
        maker.add(std::move(cell));
      };
      add("CE", "ce", {{"solver", "ce"}});
      add("Algorithm 1", "qw", algorithm(1));
      add("Algorithm 2", "qw", algorithm(2));
    }
  }
  maker.experiment().notes.push_back("20 % of the nodes validate; all that are left are for test.");
}

void fig_lambda(Maker& maker) {
  for (const std::string& data : kFigureGraphs) {
    for (const double lambda : {0.01, 0.1, 1.0, 10.0, 100.0, 1000.0}) {
      for (const int which : {1, 2}) {
        ExperimentCell cell = maker.cell(data, "chebnetii", {"qw"}, {{"lambda", lambda}});
        set_options(cell.request, algorithm(which), "fig-lambda");
        cell.row = fmt::format("Algorithm {}", which);
        cell.column = data;
        cell.x = lambda;
        maker.add(std::move(cell));
      }
    }
  }
}

struct Named {
  const char* name;
  const char* title;
  void (*fill)(Maker&);
};

constexpr Named kExperiments[] = {
    {"table1", "Node classification", table1},
    {"table2", "Node regression: one-hot labels", table2},
    {"table3", "A large graph", table3},
    {"table4", "Edge weights from the flow", table4},
    {"table5", "Algorithm 1 and Algorithm 2", table5},
    {"table6", "20 labels per class", table6},
    {"table7", "More parameters instead of QW, GAT", table7},
    {"baselines",
     "What people would take instead: MLP, label propagation, Correct and Smooth, GCN-LPA, the best epoch by "
     "accuracy",
     baselines},
    {"fig-runtime", "Time of an epoch's step on Photo, GCN", fig_runtime},
    {"fig-histogram", "Values of the flow", fig_histogram},
    {"fig-labels", "Accuracy by the share of labels, ChebNetII", fig_labels},
    {"fig-lambda", "Accuracy by lambda, ChebNetII", fig_lambda},
};

}  // namespace

const std::vector<std::string>& experiment_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const Named& each : kExperiments) names.emplace_back(each.name);
    return names;
  }();
  return all;
}

Experiment make_experiment(const std::string& name, const ExperimentOptions& options) {
  for (const Named& each : kExperiments) {
    if (name != each.name) continue;
    Maker maker(name, options);
    maker.experiment().title = each.title;
    each.fill(maker);
    return maker.finished();
  }
  fail_usage("qw reproduce: " + unknown_name(name, experiment_names()));
}

}  // namespace qw
