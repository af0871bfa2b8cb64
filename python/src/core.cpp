// qw._core: graphs, data, exact transport and reports, without torch.
#include "qw/core.h"

#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "arrays.h"
#include "qw/data.h"
#include "qw/graph.h"
#include "qw/report/report.h"
#include "qw/transport.h"
#include "signals.h"

namespace qw::python {
namespace {

EdgePolicy policy_of(const std::string& name, const std::string& option) {
  if (name == "drop") return EdgePolicy::kDrop;
  if (name == "keep") return EdgePolicy::kKeep;
  if (name == "error") return EdgePolicy::kError;
  fail_usage(option + " must be drop, keep or error, got '" + name + "'");
}

std::vector<NodeId> node_ids(const int64_t* ids, int64_t count) {
  std::vector<NodeId> nodes(count);
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] > kMaxNodes) {
      fail("edges must have nodes from 0 to " + std::to_string(kMaxNodes) + ", got " +
           std::to_string(ids[i]) + " at edge " + std::to_string(i));
    }
    nodes[i] = static_cast<NodeId>(ids[i]);
  }
  return nodes;
}

// The graph, and for each given edge its number in the graph, -1 where it was dropped.
std::pair<Graph, py::array_t<int64_t>> build_graph(int64_t num_nodes, const Array<int64_t>& edges,
                                                   const Array<double>& costs, const Array<double>& weights,
                                                   bool directed, const std::string& duplicates,
                                                   const std::string& self_loops) {
  if (edges.ndim() != 2 || edges.shape(0) != 2) fail("edges must be [2, E]");
  const int64_t count = edges.shape(1);
  EdgeList list;
  list.num_nodes = num_nodes;
  list.tails = node_ids(edges.data(), count);
  list.heads = node_ids(edges.data() + count, count);
  list.costs = vector_of(costs);
  list.weights = vector_of(weights);
  GraphOptions options;
  options.directed = directed;
  options.duplicates = policy_of(duplicates, "duplicates");
  options.self_loops = policy_of(self_loops, "self_loops");
  options.map_given_edges = true;
  BuildReport report;
  Graph graph;
  {
    const py::gil_scoped_release others_may_run;
    graph = Graph::build(std::move(list), options, &report);
  }
  return {graph, array_of(std::move(report.edge_of_given))};
}

void define_graph(py::module_& module) {
  py::class_<Graph>(module, "Graph")
      .def_property_readonly("num_nodes", &Graph::num_nodes)
      .def_property_readonly("num_edges", &Graph::num_edges)
      .def_property_readonly("directed", &Graph::directed)
      .def_property_readonly("heads", [](const Graph& graph) { return copy_of(graph.heads()); })
      .def_property_readonly("tails", [](const Graph& graph) { return copy_of(graph.tails()); })
      .def_property_readonly("costs", [](const Graph& graph) { return copy_of(graph.costs()); })
      .def_property_readonly("weights", [](const Graph& graph) { return copy_of(graph.weights()); });
  module.def("build_graph", &build_graph);
}

Features features_of(const Array<float>& values) {
  if (values.ndim() != 2) fail("features must be [nodes, columns]");
  return features_from_dense(values.shape(0), values.shape(1), vector_of(values));
}

Features sparse_features(int64_t columns, const Array<int64_t>& offsets, const Array<int32_t>& indices,
                         const Array<float>& values) {
  return features_from_rows(columns, vector_of(offsets), vector_of(indices), vector_of(values));
}

void define_features(py::module_& module) {
  py::class_<Features>(module, "Features")
      .def(py::init<>())
      .def_readonly("rows", &Features::rows)
      .def_readonly("columns", &Features::columns)
      .def_readonly("sparse", &Features::sparse)
      .def_readwrite("names", &Features::names)
      .def_property_readonly(
          "dense",
          [](const Features& features) {
            if (features.sparse) return array_of(std::vector<float>(), {0, 0});
            return array_of(std::vector<float>(features.dense), {features.rows, features.columns});
          })
      .def_property_readonly("offsets",
                             [](const Features& features) { return array_of(std::vector(features.offsets)); })
      .def_property_readonly("indices",
                             [](const Features& features) { return array_of(std::vector(features.indices)); })
      .def_property_readonly("values",
                             [](const Features& features) { return array_of(std::vector(features.values)); });
  module.def("dense_features", &features_of);
  module.def("sparse_features", &sparse_features);
}

// [N, width].
py::array_t<double> target_values(const Targets& targets) {
  const int64_t rows = targets.width == 0 ? 0 : static_cast<int64_t>(targets.values.size()) / targets.width;
  return array_of(std::vector<double>(targets.values), {rows, targets.width});
}

Targets values_as_targets(const Array<double>& values, std::vector<std::string> names, bool labels) {
  if (values.ndim() != 2) fail("targets must be [nodes, columns]");
  Targets targets = value_targets(vector_of(values), std::move(names));
  if (labels) targets.task = Task::kMultiLabel;
  return targets;
}

void define_targets(py::module_& module) {
  py::class_<Targets>(module, "Targets")
      .def(py::init<>())
      .def_property_readonly("task", [](const Targets& targets) { return task_name(targets.task); })
      .def_readonly("width", &Targets::width)
      .def_readonly("names", &Targets::names)
      .def_property_readonly("classes",
                             [](const Targets& targets) { return array_of(std::vector(targets.classes)); })
      .def_property_readonly("values", &target_values);
  module.def("class_targets", [](const Array<int32_t>& classes, std::vector<std::string> names) {
    return class_targets(vector_of(classes), std::move(names));
  });
  module.def("value_targets", &values_as_targets);
}

void define_dataset(py::module_& module) {
  py::class_<Split>(module, "Split")
      .def(py::init([](const Array<NodeId>& train, const Array<NodeId>& val, const Array<NodeId>& test) {
        return Split{vector_of(train), vector_of(val), vector_of(test)};
      }))
      .def_property_readonly("train", [](const Split& split) { return array_of(std::vector(split.train)); })
      .def_property_readonly("val", [](const Split& split) { return array_of(std::vector(split.val)); })
      .def_property_readonly("test", [](const Split& split) { return array_of(std::vector(split.test)); });
  py::class_<TableColumn>(module, "TableColumn")
      .def(py::init<>())
      .def_readwrite("name", &TableColumn::name)
      .def_readwrite("role", &TableColumn::role)
      .def_readwrite("type", &TableColumn::type)
      .def_readwrite("values", &TableColumn::values)
      .def_readwrite("missing", &TableColumn::missing)
      .def_readwrite("fill", &TableColumn::fill);
  py::class_<Dataset>(module, "Dataset")
      .def(py::init<>())
      .def_readwrite("name", &Dataset::name)
      .def_readwrite("format", &Dataset::format)
      .def_readwrite("graph", &Dataset::graph)
      .def_readwrite("features", &Dataset::features)
      .def_readwrite("targets", &Dataset::targets)
      .def_readwrite("splits", &Dataset::splits)
      .def_readwrite("node_ids", &Dataset::node_ids)
      .def_readwrite("notes", &Dataset::notes)
      .def_readwrite("default_split", &Dataset::default_split)
      .def_readwrite("columns", &Dataset::columns)
      .def_readwrite("made_features", &Dataset::made_features)
      .def_readwrite("of_paper", &Dataset::of_paper)
      .def("check", &check_consistent)
      .def("split", [](const Dataset& dataset, const std::string& spec, int64_t run, uint32_t seed) {
        return make_split(dataset, split_of_run(dataset, spec, run).spec, seed);
      });
}

void define_loading(py::module_& module) {
#define QW_OPTION(name) .def_readwrite(#name, &LoadOptions::name)
  py::class_<LoadOptions>(module, "LoadOptions")
      .def(py::init<>()) QW_OPTION(directed) QW_OPTION(self_loops) QW_OPTION(duplicate_edges) QW_OPTION(edges)
          QW_OPTION(nodes) QW_OPTION(id) QW_OPTION(target) QW_OPTION(task) QW_OPTION(one_hot)
              QW_OPTION(features) QW_OPTION(drop) QW_OPTION(missing) QW_OPTION(decimal)
                  QW_OPTION(missing_features) QW_OPTION(split_column) QW_OPTION(split_file) QW_OPTION(source)
                      QW_OPTION(destination) QW_OPTION(edge_cost) QW_OPTION(edge_weight) QW_OPTION(header)
                          QW_OPTION(comments) QW_OPTION(bipartite) QW_OPTION(unknown_nodes)
                              QW_OPTION(exact_ids) QW_OPTION(encoding);
#undef QW_OPTION
  module.def("load_dataset", &load_dataset, py::call_guard<py::gil_scoped_release>());
}

// A solution of all columns, as arrays.
py::dict solve(const Graph& graph, const Array<NodeId>& labelled, const Array<double>& mu,
               const Array<double>& nu, double slack, const std::string& solver, double gap,
               double time_limit) {
  const auto rows = static_cast<int64_t>(labelled.size());
  if (mu.ndim() != 2 || nu.ndim() != 2 || mu.shape(0) != rows || nu.shape(0) != rows ||
      mu.shape(1) != nu.shape(1)) {
    fail("mu and nu must both be [" + std::to_string(rows) + ", columns], a row for each labelled node");
  }
  const auto columns = static_cast<int64_t>(mu.shape(1));
  TransportOptions options;
  options.solver = solver;
  options.gap = gap;
  options.time_limit = time_limit;
  const std::vector<NodeId> nodes = vector_of(labelled);
  const std::vector<double> from = vector_of(mu), to = vector_of(nu);
  const std::vector<TransportColumn> solved = interruptibly([&](const std::atomic<bool>& stop) {
    options.cancelled = [&] { return stop.load(); };
    return TransportPlan(graph, nodes, slack).solve(from, to, columns, options);
  });
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> flow(graph.num_edges() * columns, none), potential(graph.num_nodes() * columns, none);
  py::list status, obstacles;
  std::vector<double> lower, upper;
  for (int64_t c = 0; c < columns; ++c) {
    const TransportColumn& column = solved[c];
    status.append(name(column.status));
    lower.push_back(column.lower);
    upper.push_back(column.distance);
    for (size_t e = 0; e < column.flow.size(); ++e) flow[e * columns + c] = column.flow[e];
    for (size_t v = 0; v < column.potential.size(); ++v) potential[v * columns + c] = column.potential[v];
    obstacles.append(
        py::make_tuple(column.obstacle.node, column.obstacle.num_nodes, column.obstacle.imbalance));
  }
  py::dict result;
  result["status"] = status;
  result["lower"] = array_of(std::move(lower));
  result["upper"] = array_of(std::move(upper));
  result["flow"] = array_of(std::move(flow), {graph.num_edges(), columns});
  result["potential"] = array_of(std::move(potential), {graph.num_nodes(), columns});
  result["obstacles"] = obstacles;
  return result;
}

// [(source, sink, amount, nodes along it)].
py::list paths(const Graph& graph, const Array<double>& flow, double tolerance) {
  py::list found;
  for (const FlowPath& path : decompose_flow(graph, vector_of(flow), tolerance).paths) {
    found.append(py::make_tuple(path.source, path.sink, path.amount, nodes_along(graph, path)));
  }
  return found;
}

// Of one run, or of several beside each other. As bytes: names in the data may be no UTF-8.
py::bytes report(const std::vector<std::string>& runs, const std::string& title) {
  std::string html;
  {
    const py::gil_scoped_release others_may_run;
    const ReportOptions options{.title = title};
    html = runs.size() == 1 ? report_html(runs[0], options)
                            : comparison_html({runs.begin(), runs.end()}, options);
  }
  return html;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  py::register_exception<Error>(module, "Error", PyExc_ValueError);
  py::register_exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  define_graph(module);
  define_features(module);
  define_targets(module);
  define_dataset(module);
  define_loading(module);
  module.def("solve_transport", &solve);
  module.def("decompose_flow", &paths);
  module.def("report_html", &report);
  module.def("thread_count", &thread_count);
  module.def("set_thread_count", &set_thread_count);
  module.attr("version") = build_info().version;
  module.attr("torch_version") = build_info().libtorch;
}

}  // namespace qw::python
