#include "qw/learn/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/graph/matrix.h"
#include "qw/nn/edge_predictor.h"

namespace qw {
namespace {

constexpr int64_t kNumber = 4;  // training is in float32
constexpr int64_t kIndex = 4;   // of a node
constexpr int64_t kPlace = 8;   // of an edge, in an array
constexpr int64_t kPredictorWidth = 32;
constexpr int64_t kMostForQuantiles = int64_t{1} << 26;  // entries of the flow that its summary sorts

bool has_flow(const std::string& solver) { return find_solver(solver).has_flow; }

int64_t count_edges_at(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<char> marked(graph.num_nodes(), 0);
  for (const NodeId node : nodes) marked[node] = 1;
  std::atomic<int64_t> count{0};
  parallel_for(graph.num_edges(), 1 << 16, [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (EdgeId e = begin; e < end; ++e) found += marked[graph.heads()[e]] || marked[graph.tails()[e]];
    count += found;
  });
  return count;
}

// A training counted by its shapes. Its network has no memory: it is made on the meta device.
class Counted {
 public:
  Counted(const TrainingSize& size, const TrainRequest& request)
      : size_(size), learn_(request.learn), on_cpu_(device_of(request).is_cpu()) {
    const ModelShape shape{size.nodes, size.entries_with_loops, size.inputs, size.outputs};
    const auto network =
        find_model(request.model).make(shape, request.model_options, 0, at::TensorOptions(at::kMeta));
    parameters_ = network->parameters().count();
    for (const Buffer& buffer : network->parameters().buffers()) buffers_ += buffer.value.numel();
    pass_ = network->pass_memory(learn_.edge_weights);
    if (learn_.edge_weights) {
      ParameterSet predictor(0, at::TensorOptions(at::kMeta));
      const EdgePredictor made(predictor, "edge_predictor", size.outputs);
      parameters_ += predictor.count();
    }
    if (has_flow(learn_.solver)) {
      const bool everywhere = learn_.full_flow || learn_.edge_weights;
      flow_edges_ = everywhere ? size.edges : size.edges_at_labels;
    }
  }

  int64_t parameters() const { return parameters_; }
  int64_t flow_edges() const { return flow_edges_; }

  std::vector<MemoryItem> items() const {
    std::vector<MemoryItem> items{
        {"graph structure", structure(), false},
        {"features", features(), false},
        {"graph times features", pass_.keeps_product && !size_.sparse_features ? features() : 0, false},
        {"parameters, gradients, Adam moments", kNumber * (4 * parameters_ + buffers_)},
        {"flow and its moments", flow()},
        {"edges of the flow", flow_structure()},
        {"labels", labels()},
        {"best state kept", kNumber * (parameters_ + buffers_ + flow_numbers())},
        {"activations", activations()},
        {"gradients and work", work()}};
    if (learn_.solver == "exact" && on_cpu_)
      items.push_back({"transport problems", 8 * 8 * size_.nodes * size_.outputs});
    std::erase_if(items, [](const MemoryItem& item) { return item.bytes == 0; });
    return items;
  }

 private:
  int64_t entries() const { return pass_.self_loops ? size_.entries_with_loops : size_.entries; }
  int64_t offsets() const { return kPlace * (size_.nodes + 1); }
  int64_t flow_numbers() const { return flow_edges_ * size_.outputs; }
  int64_t scores() const { return size_.nodes * size_.outputs; }

  int64_t structure() const {
    if (pass_.graph == GraphUse::kNone) return 0;
    const bool ordered = pass_.graph != GraphUse::kPattern || size_.directed || learn_.edge_weights;
    const bool constant = !learn_.edge_weights && (pass_.graph != GraphUse::kOrderedAlone || size_.weighted);
    int64_t bytes = offsets() + entries() * (kIndex + (constant ? kNumber : 0) + (ordered ? kPlace : 0));
    if (size_.directed) bytes += offsets() + kIndex * entries();
    if (learn_.edge_weights) bytes += kPlace * (entries() + 2 * size_.edges);
    if (learn_.edge_weights && size_.weighted) bytes += kNumber * size_.edges;
    return bytes;
  }

  int64_t features() const {
    if (!size_.sparse_features) return kNumber * size_.stored_features;
    return offsets() + kPlace * (size_.inputs + 1) + size_.stored_features * (kNumber + 2 * kIndex + kPlace);
  }

  // F, both moments and, when the predictor reads it, its gradient.
  int64_t flow() const { return kNumber * flow_numbers() * (learn_.edge_weights ? 4 : 3); }

  // Ends, costs, the arcs of each node, what the flow brings, and on the host which edges these are.
  int64_t flow_structure() const {
    if (!has_flow(learn_.solver)) return 0;
    const int64_t per_edge =
        2 * kIndex + 2 * kPlace + (size_.has_costs ? kNumber : 0) + (on_cpu_ ? kPlace : 0);
    return flow_edges_ * per_edge + offsets() + kNumber * scores();
  }

  int64_t labels() const {
    const int64_t per_label = size_.classes ? kIndex : kNumber * size_.outputs;
    int64_t bytes = (size_.train_nodes + size_.split_nodes) * (kIndex + per_label);
    if (on_cpu_)
      bytes += kIndex * size_.split_nodes + size_.nodes * (size_.classes ? kIndex : 8 * size_.outputs);
    return bytes;
  }

  int64_t activations() const {
    int64_t numbers = pass_.kept_per_node * size_.nodes + pass_.per_entry * entries() +
                      pass_.feature_copies * size_.stored_features;
    if (learn_.edge_weights) numbers += size_.edges * (kPredictorWidth + 2);
    if (learn_.solver == "gcn-lpa") numbers += entries() + scores() * (learn_.lpa_steps + 2);
    return kNumber * numbers;
  }

  // Of a step, whose memory the host keeps (ops/kept_memory.h), and of the sizes of the flow that the summary
  // at the end sorts there.
  int64_t work() const {
    int64_t per_node = std::max(pass_.moment_per_node, size_.outputs) + 2 * size_.outputs;
    if (learn_.solver == "badmm") per_node += (learn_.dual == "carried" ? 5 : 2) * size_.outputs;
    int64_t numbers = per_node * size_.nodes;
    if (learn_.edge_weights) numbers += size_.edges * 2 * kPredictorWidth;
    if (on_cpu_) numbers += std::min(flow_numbers(), kMostForQuantiles);
    return kNumber * numbers;
  }

  TrainingSize size_;
  LearnOptions learn_;
  bool on_cpu_;
  PassMemory pass_;
  int64_t parameters_ = 0, buffers_ = 0, flow_edges_ = 0;
};

// Up to here runs are small: their memory adds up little, and threads inside one would wait for each other
// more than they work.
constexpr int64_t kEdgesForParallelRuns = 2'000'000;
// More gain little: with twenty a run takes a seventh less than with ten (GCN on Cora).
constexpr int64_t kRunsOnDevice = 16;

}  // namespace

int64_t most_at_once(const at::Device& device, int64_t edges) {
  if (edges > kEdgesForParallelRuns) return 1;
  return device.is_cpu() ? thread_count() : kRunsOnDevice;
}

TrainingSize training_size(const Dataset& dataset, const TrainRequest& request) {
  const Graph& graph = dataset.graph;
  const Split split = split_of(request, dataset, 0);
  TrainingSize size;
  size.nodes = graph.num_nodes();
  size.edges = graph.num_edges();
  size.entries = static_cast<int64_t>(graph.in().neighbours.size());
  size.entries_with_loops = offsets_with_diagonal(graph).back();
  size.directed = graph.directed();
  size.weighted = !graph.weights().empty();
  size.has_costs = !graph.costs().empty();
  const Features& features = dataset.features;
  size.inputs = features.columns;
  size.sparse_features = features.sparse;
  size.stored_features =
      features.sparse ? static_cast<int64_t>(features.values.size()) : features.rows * features.columns;
  size.outputs = dataset.targets.width;
  size.classes = dataset.targets.task == Task::kClassification;
  size.train_nodes = static_cast<int64_t>(split.train.size());
  size.split_nodes = static_cast<int64_t>(split.train.size() + split.val.size() + split.test.size());
  size.edges_at_labels = count_edges_at(graph, split.train);
  return size;
}

int64_t MemoryPlan::once() const {
  int64_t bytes = 0;
  for (const MemoryItem& item : items) bytes += item.per_run ? 0 : item.bytes;
  return bytes;
}

int64_t MemoryPlan::each_run() const {
  int64_t bytes = 0;
  for (const MemoryItem& item : items) bytes += item.per_run ? item.bytes : 0;
  return bytes;
}

MemoryPlan memory_plan(const TrainingSize& size, const TrainRequest& request, int64_t available) {
  const Counted counted(size, request);
  MemoryPlan plan{size, request, counted.items(), counted.parameters(), counted.flow_edges(), 1};
  plan.runs_at_once = std::min(request.runs, most_at_once(device_of(request), size.edges));
  if (available > 0 && !device_of(request).is_cpu()) {
    const int64_t room = (available - plan.once()) / std::max<int64_t>(1, plan.each_run());
    plan.runs_at_once = std::clamp<int64_t>(room, 1, plan.runs_at_once);
  }
  return plan;
}

namespace {

// A change that makes a training smaller, and how a person would write it.
struct Change {
  MemoryPlan plan;
  std::string text;
};

class Advice {
 public:
  Advice(const MemoryPlan& plan, int64_t available) : available_(available), smallest_{plan, ""} {
    consider([](MemoryPlan& changed) {
      const bool applies = changed.request.learn.full_flow && !changed.request.learn.edge_weights;
      changed.request.learn.full_flow = false;
      return applies ? fmt::format("--solver {} without --full-flow", changed.request.learn.solver) : "";
    });
    consider([](MemoryPlan& changed) {
      const bool applies = changed.request.learn.edge_weights;
      changed.request.learn.edge_weights = changed.request.learn.full_flow = false;
      return std::string(applies ? "no --edge-weights" : "");
    });
    consider_runs();
    const std::vector<std::string> heeded = find_model(plan.request.model).options;
    const auto heeds = [&](const char* option) {
      return std::find(heeded.begin(), heeded.end(), option) != heeded.end();
    };
    consider_halving("hidden", [](ModelOptions& options) -> int64_t& { return options.hidden; });
    if (heeds("heads"))
      consider_halving("heads", [](ModelOptions& options) -> int64_t& { return options.heads; });
    if (heeds("k")) consider_halving("k", [](ModelOptions& options) -> int64_t& { return options.k; });
    consider([](MemoryPlan& changed) {
      const bool applies = has_flow(changed.request.learn.solver);
      changed.request.learn.solver = "ce";
      changed.request.learn.edge_weights = changed.request.learn.full_flow = false;
      return std::string(applies ? "--solver ce, which has no flow" : "");
    });
  }

  std::string text() const {
    if (!enough_.empty()) return "would fit: " + join(enough_, ", or ");
    if (fits(smallest_.plan)) return "would fit, all together: " + smallest_.text;
    return "no option of qw train makes it fit; it takes a device with more memory or a smaller graph";
  }

 private:
  bool fits(const MemoryPlan& plan) const { return plan.total() <= available_; }

  static MemoryPlan again(const MemoryPlan& changed) {
    MemoryPlan plan = memory_plan(changed.size, changed.request);
    plan.runs_at_once = std::min(plan.runs_at_once, changed.runs_at_once);
    return plan;
  }

  // Alone, and on top of all changes before: for when none is enough.
  void consider(const std::function<std::string(MemoryPlan&)>& change) {
    MemoryPlan alone = start_;
    const std::string text = change(alone);
    if (text.empty()) return;
    alone = again(alone);
    if (fits(alone)) enough_.push_back(text);
    if (fits(smallest_.plan)) return;
    change(smallest_.plan);
    smallest_.plan = again(smallest_.plan);
    smallest_.text += (smallest_.text.empty() ? "" : ", ") + text;
  }

  void consider_runs() {
    const int64_t now = start_.runs_at_once;
    if (now == 1) return;
    const int64_t room = (available_ - start_.once()) / std::max<int64_t>(1, start_.each_run());
    const int64_t fewer = std::clamp<int64_t>(room, 1, now - 1);
    consider([&](MemoryPlan& changed) {
      changed.runs_at_once = fewer;
      return fmt::format("fewer runs at once ({} instead of {})", fewer, now);
    });
  }

  void consider_halving(const std::string& option, const std::function<int64_t&(ModelOptions&)>& field) {
    MemoryPlan halved = start_;
    int64_t& value = field(halved.request.model_options);
    while (value > 1 && !fits(again(halved))) value /= 2;
    const int64_t found = value;
    consider([&](MemoryPlan& changed) {
      int64_t& number = field(changed.request.model_options);
      const bool smaller = found < number;
      number = found;
      return smaller ? fmt::format("--{} {}", option, found) : "";
    });
  }

  int64_t available_;
  Change smallest_;
  MemoryPlan start_ = smallest_.plan;
  std::vector<std::string> enough_;
};

}  // namespace

std::string what_would_fit(const MemoryPlan& plan, int64_t available) {
  const std::string needs =
      fmt::format("needs about {}, the device has {}", human_bytes(static_cast<double>(plan.total())),
                  human_bytes(static_cast<double>(available)));
  if (plan.total() <= available) return needs + ", of which others seem to use some";
  return needs + "; " + Advice(plan, available).text();
}

}  // namespace qw
