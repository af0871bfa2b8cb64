// The memory plan: closed forms, and what is really there.
#include <gtest/gtest.h>

#include <set>

#include "qw/core/parallel.h"
#include "qw/graph/generators.h"
#include "qw/learn/flow.h"
#include "qw/learn/memory_plan.h"
#include "support/support.h"

namespace qw {
namespace {

TrainRequest request_for(const std::string& model, const std::string& solver) {
  TrainRequest request;
  request.model = model;
  request.learn.solver = solver;
  request.split = "random:train=0.5,val=0.25";
  request.seed = 3;
  return request;
}

// 1,000 nodes, 5,000 undirected edges, 20 dense features, 3 classes; half of the edges touch a label.
TrainingSize thousand_nodes() {
  TrainingSize size;
  size.nodes = 1000;
  size.edges = 5000;
  size.entries = 10'000;
  size.entries_with_loops = 11'000;
  size.inputs = 20;
  size.stored_features = 20'000;
  size.outputs = 3;
  size.split_nodes = 1000;
  size.train_nodes = 100;
  size.edges_at_labels = 2500;
  return size;
}

int64_t bytes_of(const MemoryPlan& plan, const std::string& what) {
  for (const MemoryItem& item : plan.items) {
    if (item.what == what) return item.bytes;
  }
  return 0;
}

int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> seen;
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (seen.insert(tensor.data_ptr()).second) bytes += static_cast<int64_t>(tensor.nbytes());
  }
  return bytes;
}

TEST(MemoryPlan, IsTheSumOfItsShapes) {
  const MemoryPlan plan = memory_plan(thousand_nodes(), request_for("gcn", "proximal"));
  EXPECT_EQ(plan.parameters, 20 * 64 + 64 + 64 * 3 + 3);
  EXPECT_EQ(plan.flow_edges, 2500);
  EXPECT_EQ(bytes_of(plan, "graph structure"), 8 * 1001 + 11'000 * (4 + 4));
  EXPECT_EQ(bytes_of(plan, "features"), 4 * 20'000);
  EXPECT_EQ(bytes_of(plan, "graph times features"), 4 * 20'000);
  EXPECT_EQ(bytes_of(plan, "parameters, gradients, Adam moments"), 4 * 4 * plan.parameters);
  EXPECT_EQ(bytes_of(plan, "flow and its moments"), 3 * 4 * 2500 * 3);
  EXPECT_EQ(bytes_of(plan, "edges of the flow"), 2500 * (2 * 4 + 2 * 8 + 8) + 8 * 1001 + 4 * 1000 * 3);
  EXPECT_EQ(bytes_of(plan, "best state kept"), 4 * (plan.parameters + 2500 * 3));
  EXPECT_EQ(bytes_of(plan, "labels"), 1100 * (4 + 4) + 1000 * (4 + 4));
  EXPECT_EQ(bytes_of(plan, "activations"), 4 * 1000 * (64 + 3));
  EXPECT_EQ(bytes_of(plan, "gradients and work"), 4 * (1000 * (2 * 64 + 2 * 3) + 2500 * 3));
  int64_t sum = 0;
  for (const MemoryItem& item : plan.items) sum += item.bytes;
  EXPECT_EQ(plan.total(), sum);
  EXPECT_EQ(plan.once() + plan.each_run(), sum);
}

TEST(MemoryPlan, CountsWhatOptionsAdd) {
  TrainRequest request = request_for("gcn", "bregman");
  const MemoryPlan plain = memory_plan(thousand_nodes(), request);
  request.learn.full_flow = true;
  const MemoryPlan full = memory_plan(thousand_nodes(), request);
  EXPECT_EQ(full.flow_edges, 5000);
  EXPECT_EQ(bytes_of(full, "flow and its moments"), 2 * bytes_of(plain, "flow and its moments"));
  request.learn.edge_weights = true;
  const MemoryPlan weighted = memory_plan(thousand_nodes(), request);
  EXPECT_EQ(weighted.parameters, plain.parameters + 3 * 32 + 32 + 32 + 1);
  EXPECT_EQ(bytes_of(weighted, "graph structure"), 8 * 1001 + 11'000 * (4 + 8 + 8) + 16 * 5000);
  EXPECT_EQ(bytes_of(weighted, "activations"), 4 * (1000 * 2 * (64 + 3) + 4 * 11'000 + 5000 * 34));
  const MemoryPlan without = memory_plan(thousand_nodes(), request_for("gcn", "ce"));
  EXPECT_EQ(without.flow_edges, 0);
  EXPECT_EQ(bytes_of(without, "edges of the flow"), 0);

  TrainingSize directed = thousand_nodes();
  directed.directed = true;
  EXPECT_EQ(bytes_of(memory_plan(directed, request_for("gcn", "ce")), "graph structure"),
            2 * 8 * 1001 + 11'000 * (4 + 4 + 8 + 4));
  TrainingSize sparse = thousand_nodes();
  sparse.sparse_features = true;
  sparse.stored_features = 900;
  EXPECT_EQ(bytes_of(memory_plan(sparse, request_for("gcn", "ce")), "features"),
            8 * 1001 + 8 * 21 + 900 * (4 + 4 + 4 + 8));
  ModelOptions options;
  options.dropout = 0.5;
  options.k = 7;
  TrainRequest appnp = request_for("appnp", "ce");
  appnp.model_options = options;
  EXPECT_EQ(bytes_of(memory_plan(thousand_nodes(), appnp), "activations"),
            4 * (1000 * (64 + 3 + 9 * 3) + 20'000));
  EXPECT_EQ(bytes_of(memory_plan(thousand_nodes(), request_for("mlp", "ce")), "graph structure"), 0);
}

TEST(MemoryPlan, CountsTheTensorsThatAreThere) {
  const Dataset data = make_csbm({.nodes = 200, .degree = 6, .features = 8, .classes = 3});
  const GraphTensors graph(data.graph, at::kFloat);
  const auto with_values = [](const PropagationMatrix& matrix) {
    const SparsePattern& pattern = matrix.pattern;
    return bytes_of({pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                     pattern.order, matrix.values});
  };
  const auto structure = [&](const std::string& model) {
    const TrainRequest request = request_for(model, "proximal");
    return bytes_of(memory_plan(training_size(data, request), request), "graph structure");
  };
  EXPECT_EQ(structure("gcn"), with_values(graph.with_self_loops()));
  EXPECT_EQ(structure("appnp"), with_values(graph.with_self_loops()));
  EXPECT_EQ(structure("bernnet"), with_values(graph.normalised()));
  EXPECT_EQ(structure("gin"), with_values(graph.adjacency()));
  EXPECT_EQ(structure("graphsage"), with_values(graph.mean()));
  EXPECT_EQ(structure("gat"), with_values(graph.neighbourhood()));

  const TrainRequest request = request_for("gcn", "proximal");
  const MemoryPlan plan = memory_plan(training_size(data, request), request);
  FlowOptions options;
  options.all_edges = false;
  const Flow flow(data.graph, split_of(request, data, 0).train, 3, options, at::kFloat);
  EXPECT_EQ(plan.flow_edges, static_cast<int64_t>(flow.carriers().size()));
  std::vector<at::Tensor> kept{flow.values()};
  for (const Buffer& moment : flow.moments()) kept.push_back(moment.value);
  EXPECT_EQ(bytes_of(plan, "flow and its moments"), bytes_of(kept));
  const at::Tensor features = NodeMatrix(data.features, at::kFloat).dense();
  EXPECT_EQ(bytes_of(plan, "features"), bytes_of({features}));
  EXPECT_EQ(bytes_of(plan, "graph times features"), bytes_of({graph.smoothed(features)}));
  const TrainRequest without = request_for("appnp", "ce");
  EXPECT_EQ(bytes_of(memory_plan(training_size(data, without), without), "graph times features"), 0);
}

TEST(MemoryPlan, CountsTheParametersOfEveryModel) {
  const Dataset data = make_karate();
  for (const ModelInfo& info : models()) {
    if (info.name == "none") continue;
    const TrainRequest request = request_for(info.name, info.name == "gcn-lpa" ? "gcn-lpa" : "ce");
    const MemoryPlan plan = memory_plan(training_size(data, request), request);
    const auto model = info.make(model_shape(data.graph, 34, 4), request.model_options, 1, at::kFloat);
    EXPECT_EQ(plan.parameters, model->parameters().count()) << info.name;
    EXPECT_GT(bytes_of(plan, "activations"), 0) << info.name;
    EXPECT_EQ(bytes_of(plan, "graph structure") == 0, info.name == "mlp");
  }
}

TEST(MemoryPlan, RunsAtOnceAddUp) {
  TrainRequest request = request_for("gcn", "proximal");
  request.runs = 40;
  const MemoryPlan here = memory_plan(thousand_nodes(), request);
  EXPECT_EQ(here.runs_at_once, std::min(40, thread_count()));
  EXPECT_EQ(here.total(), here.once() + here.runs_at_once * here.each_run());
  request.device = "cuda";
  const MemoryPlan there = memory_plan(thousand_nodes(), request);
  EXPECT_EQ(there.runs_at_once, 16);
  EXPECT_EQ(memory_plan(thousand_nodes(), request, there.once() + 5 * there.each_run()).runs_at_once, 5);
  EXPECT_EQ(memory_plan(thousand_nodes(), request, 1).runs_at_once, 1);
  EXPECT_EQ(most_at_once(at::kCUDA, 2'000'001), 1);
}

TEST(MemoryPlan, KnowsWhatTheHostHas) {
  EXPECT_GT(device_memory(at::kCPU), int64_t{1} << 20);
  TrainRequest request;
  request.device = "tpu";
  EXPECT_EQ(test::error_of([&] { device_of(request); }),
            "--device 'tpu' is unknown; known: cpu, cuda, cuda:0, ...");
}

TEST(WhatWouldFit, NamesTheChangesThatDo) {
  TrainRequest request = request_for("gcn", "bregman");
  request.learn.full_flow = true;
  request.device = "cuda";
  request.runs = 10;
  const MemoryPlan plan = memory_plan(thousand_nodes(), request);
  const auto advice = [&](int64_t available) {
    const std::string text = what_would_fit(plan, available);
    return text.substr(text.find("; ") + 2);
  };
  EXPECT_EQ(what_would_fit(plan, plan.total()).find("; "), std::string::npos);
  // 260 bytes a kept hidden column and node, 3 * 4 * 3 + ... a flow edge: the flow of half the edges, one run
  // less, or half the columns each save more than 1 %.
  EXPECT_EQ(advice(plan.total() * 99 / 100),
            "would fit: --solver bregman without --full-flow, or fewer runs at once (9 instead of 10), or "
            "--hidden 32, or --solver ce, which has no flow");
  EXPECT_EQ(advice(plan.once() + 4 * plan.each_run()),
            "would fit: fewer runs at once (4 instead of 10), or --hidden 4");
  EXPECT_EQ(advice(plan.once() + 3 * plan.each_run()), "would fit: fewer runs at once (3 instead of 10)");
  const std::string together = advice(plan.once() + plan.each_run() / 2);
  EXPECT_EQ(together.find("would fit, all together: --solver bregman without --full-flow, fewer runs at once "
                          "(1 instead of 10)"),
            0)
      << together;
  EXPECT_EQ(advice(1000),
            "no option of qw train makes it fit; it takes a device with more memory or a smaller graph");
}

TEST(WhatWouldFit, SaysWhatIsNeededAndThere) {
  const MemoryPlan plan = memory_plan(thousand_nodes(), request_for("gcn", "ce"));
  ASSERT_EQ(plan.total(), 1'107'588);
  EXPECT_EQ(what_would_fit(plan, 2 << 20),
            "needs about 1.1 MiB, the device has 2.0 MiB, of which others seem to use some");
  EXPECT_EQ(what_would_fit(plan, 1024).rfind("needs about 1.1 MiB, the device has 1.0 KiB; ", 0), 0);
}

}  // namespace
}  // namespace qw
