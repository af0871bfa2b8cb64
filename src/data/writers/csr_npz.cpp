// One .npz file in the layout of gnn-benchmark: sparse adjacency, sparse features, labels.
#include <fmt/format.h>

#include "core/file.h"
#include "core/text.h"
#include "data/formats/npy.h"
#include "data/writers/writers.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

template <class Value>
void add_array(Files& files, const std::string& name, const std::vector<Value>& values) {
  files.emplace_back(name + ".npy", write_npy(values, {static_cast<int64_t>(values.size())}));
}

// Row u of the stored matrix lists the nodes that u points to.
void add_adjacency(Files& files, const Graph& graph) {
  const Adjacency out = graph.out();
  std::vector<double> weights(out.edges.size(), 1.0);
  for (size_t at = 0; at < weights.size() && !graph.weights().empty(); ++at) {
    weights[at] = graph.weights()[out.edges[at]];
  }
  add_array(files, "adj_data", weights);
  add_array(files, "adj_indices", std::vector<int32_t>(out.neighbours.begin(), out.neighbours.end()));
  add_array(files, "adj_indptr", std::vector<int64_t>(out.offsets.begin(), out.offsets.end()));
  add_array(files, "adj_shape", std::vector<int64_t>{graph.num_nodes(), graph.num_nodes()});
}

void add_features(Files& files, const Features& features) {
  if (features.columns == 0) return;
  if (!features.sparse) {
    files.emplace_back("attr_matrix.npy", write_npy(features.dense, {features.rows, features.columns}));
  } else {
    add_array(files, "attr_data", features.values);
    add_array(files, "attr_indices", features.indices);
    add_array(files, "attr_indptr", features.offsets);
    add_array(files, "attr_shape", std::vector<int64_t>{features.rows, features.columns});
  }
  if (!features.names.empty()) add_array(files, "attr_names", features.names);
}

void add_targets(Files& files, const Targets& targets) {
  if (targets.task == Task::kClassification) {
    add_array(files, "labels", std::vector<int64_t>(targets.classes.begin(), targets.classes.end()));
    if (!targets.names.empty()) add_array(files, "class_names", targets.names);
  } else if (targets.task == Task::kRegression) {
    add_array(files, "labels", targets.values);
  }
}

void write(const Dataset& dataset, const std::filesystem::path& path) {
  if (path.extension() != ".npz")
    fail_usage(fmt::format("csr-npz: {} must end in .npz", in_quotes(path.string())));
  const bool several = dataset.targets.task != Task::kClassification && dataset.targets.width > 1;
  if (several)
    fail(fmt::format("{}: csr-npz holds one target per node, not {}", dataset.name, dataset.targets.width));
  if (!dataset.graph.costs().empty())
    fail(fmt::format("{}: csr-npz cannot hold edge costs; use csv", dataset.name));
  Files files;
  add_adjacency(files, dataset.graph);
  add_features(files, dataset.features);
  add_targets(files, dataset.targets);
  if (!dataset.node_ids.empty()) add_array(files, "node_names", dataset.node_ids);
  write_file_atomically(path, write_zip(files));
}

}  // namespace

const Writer kCsrNpzWriter = {"csr-npz", "one .npz file with sparse arrays", ".npz", write};

}  // namespace qw
