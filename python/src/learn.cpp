// qw._learn: trainings as `qw train` does them, on data in memory.
#include "qw/learn.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arrays.h"
#include "qw/data/load.h"
#include "qw/graph/split_spec.h"
#include "qw/study/fit_best.h"
#include "signals.h"

namespace qw::python {
namespace {

using nlohmann::ordered_json;

FitOptions options_of(const std::string& json) {
  TrainRequest request;
  request.split = "auto";
  ordered_json given = ordered_json::parse(json);
  FitOptions options;
  const auto take = [&](const char* name, auto& value) {
    if (!given.contains(name)) return;
    given.at(name).get_to(value);
    given.erase(name);
  };
  take("runs", options.runs);
  take("device", options.device);
  set_options(request, given, "qw");
  options.model = request.model;
  options.model_options = request.model_options;
  options.learn = request.learn;
  options.split = request.split;
  options.seed = request.seed;
  options.scale_features = request.scale_features;
  return options;
}

// `progress(run, epoch, epochs, loss, val_metric)`, or None; called now and then, from a thread of ours.
Fitted fit_dataset(const Dataset& dataset, const std::string& json, const py::object& progress) {
  FitOptions options = options_of(json);
  return interruptibly([&](const std::atomic<bool>& stop) {
    options.progress = [&](const TrainProgress& now) {
      if (!progress.is_none()) {
        const py::gil_scoped_acquire python;
        progress(now.run, now.record.epoch, now.epochs, now.record.loss, now.record.val_metric);
      }
      return !stop.load();
    };
    return fit(dataset, options);
  });
}

FitBestOptions best_options_of(const std::string& json) {
  const ordered_json given = ordered_json::parse(json);
  FitBestOptions options;
  given.at("seconds").get_to(options.seconds);
  given.at("trials").get_to(options.trials);
  given.at("metric").get_to(options.metric);
  given.at("split").get_to(options.split);
  given.at("seed").get_to(options.seed);
  given.at("device").get_to(options.device);
  return options;
}

// `progress(trials, best, score, seconds_left, trials_left)`, or None; called now and then, from a thread of
// ours.
std::string fit_best_dataset(const Dataset& dataset, const std::string& json, const std::string& folder,
                             const py::object& progress) {
  FitBestOptions options = best_options_of(json);
  return interruptibly([&](const std::atomic<bool>& stop) {
    options.progress = [&](const FitProgress& now) {
      if (!progress.is_none()) {
        const py::gil_scoped_acquire python;
        progress(now.trials, now.best, now.score, now.seconds_left, now.trials_left);
      }
      return !stop.load();
    };
    return to_json(fit_best(dataset, options, folder)).dump();
  });
}

py::array_t<double> matrix_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.to(at::kCPU).to(at::kDouble).contiguous();
  const double* from = here.data_ptr<double>();
  const int64_t rows = here.size(0), columns = here.dim() == 2 ? here.size(1) : 0;
  return array_of(std::vector<double>(from, from + here.numel()), {rows, columns});
}

// Rows of arrays have no names. They are the training's nodes when they are the training's rows; else all are
// new.
Dataset with_names(const Fitted& fitted, const Dataset& dataset) {
  Dataset named = dataset;
  if (!dataset.node_ids.empty()) return named;
  const DataChanges changes = fitted.changes(dataset);
  if (changes.nodes + changes.edges + changes.features == 0 && !changes.directions) return named;
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node)
    named.node_ids.push_back("new " + std::to_string(node));
  return named;
}

py::dict predictions(const Fitted& fitted, const Dataset& dataset) {
  NodePredictions found;
  {
    const py::gil_scoped_release others_may_run;
    found = fitted.predict(with_names(fitted, dataset));
  }
  py::dict result;
  const auto rows = found.width == 0 ? 0 : static_cast<py::ssize_t>(found.values.size()) / found.width;
  result["task"] = task_name(found.task);
  result["names"] = found.names;
  result["values"] = array_of(std::move(found.values), {rows, found.width});
  result["classes"] = array_of(std::move(found.classes));
  return result;
}

py::dict scores(const Fitted& fitted, const Dataset& dataset, int64_t run) {
  Scores found;
  at::Tensor flow;
  {
    const py::gil_scoped_release others_may_run;
    const Dataset named = with_names(fitted, dataset);
    found = fitted.scores(named, run);
    flow = fitted.flow(named, run);
  }
  py::dict result;
  result["network"] = matrix_of(found.network);
  result["transport"] = found.transport.numel() == 0 ? py::object(py::none()) : matrix_of(found.transport);
  result["flow"] = flow.numel() == 0 ? py::object(py::none()) : matrix_of(flow);
  result["probabilities"] = found.in_label_space;
  return result;
}

// As `qw explain --json` says it.
std::string explain(const Fitted& fitted, const Dataset& dataset, NodeId node,
                    const std::vector<int64_t>& columns, int64_t top, int64_t run) {
  const py::gil_scoped_release others_may_run;
  ExplainOptions options;
  options.columns = columns;
  options.top = top;
  return to_json(fitted.explain(with_names(fitted, dataset), std::vector{node}, options, run).front()).dump();
}

// Other data, read as the training's was.
Dataset load_as_trained(const Fitted& fitted, const std::string& what, LoadOptions options) {
  options.as_trained = std::make_shared<DataSchema>(fitted.schema());
  const py::gil_scoped_release others_may_run;
  return load_dataset(what, options);
}

std::string results(const Fitted& fitted) {
  ordered_json all = ordered_json::array();
  for (const RunResult& result : fitted.metrics()) all.push_back(to_json(result));
  return all.dump();
}

// What the splits of the runs lack, each once.
std::vector<std::string> warnings(const Fitted& fitted) {
  std::vector<std::string> all;
  for (const RunResult& result : fitted.metrics()) {
    for (const std::string& warning : split_warnings(result.split)) {
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
    }
  }
  return all;
}

}  // namespace

PYBIND11_MODULE(_learn, module) {
  py::module_::import("qw._core");  // the types that come from there
  py::class_<Fitted>(module, "Fitted")
      .def("predict", &predictions)
      .def("scores", &scores)
      .def("explain", &explain)
      .def("results", &results)
      .def("split_warnings", &warnings)
      .def("request", [](const Fitted& fitted) { return to_json(fitted.request()).dump(); })
      .def_property_readonly("task", [](const Fitted& fitted) { return task_name(fitted.schema().task); })
      .def_property_readonly("names", [](const Fitted& fitted) { return fitted.schema().target_names; })
      .def_property_readonly("width", [](const Fitted& fitted) { return fitted.schema().width; })
      .def_property_readonly("folder", [](const Fitted& fitted) { return fitted.folder().string(); })
      .def("load", &load_as_trained)
      .def("save", [](const Fitted& fitted, const std::string& folder) { fitted.save(folder); });
  module.def("fit", &fit_dataset);
  module.def("fit_best", &fit_best_dataset);
  module.def("load_fitted", [](const std::string& folder) { return load_fitted(folder); });
}

}  // namespace qw::python
