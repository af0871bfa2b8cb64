#include "distributed/train_partition.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "comm/parts.h"
#include "distributed/part_features.h"
#include "distributed/part_graph.h"
#include "distributed/part_training.h"
#include "learn/run_files.h"
#include "learn/single_run.h"
#include "qw/core/error.h"
#include "qw/graph/split_spec.h"

namespace qw {
namespace {

// What all parts of one process share: labels and split of the run that they are at.
class SharedLabels {
 public:
  explicit SharedLabels(const PartitionTraining& training) : training_(training) {}

  struct OfRun {
    TargetScaling scaling;
    RunLabels labels;
  };
  std::shared_ptr<const OfRun> of(int64_t run) {
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    std::shared_ptr<const OfRun> known = kept_.lock();
    if (known && run == run_) return known;
    auto made = std::make_shared<OfRun>();
    made->labels.split = split_of(training_.request, training_.labels, run);
    made->scaling = TargetScaling(training_.labels.targets, made->labels.split.train);
    made->labels.targets = made->scaling.apply(training_.labels.targets);
    run_ = run;
    kept_ = made;
    return made;
  }

 private:
  const PartitionTraining& training_;
  std::mutex one_at_a_time_;
  std::weak_ptr<const OfRun> kept_;
  int64_t run_ = -1;
};

// What part 0 finds in the folder of a run.
enum RunState : int64_t { kNew, kBegun, kDone };

class OnePart {
 public:
  OnePart(Comm& parts, const PartitionTraining& training, SharedLabels& shared)
      : parts_(parts),
        training_(training),
        request_(training.request),
        shared_(shared),
        part_(open_part(training.manifest, parts.rank())),
        graph_(part_graph(parts, part_, at::TensorOptions(at::kFloat).device(training.device))) {
    const Features own = features_of(part_, training.manifest.schema.feature_names);
    scaling_ = scaling_of_parts(parts, request_.scale_features, training.labels, own);
    features_ = part_features(parts, part_, scaling_.apply(own), graph_.options());
    release_memory(part_);
    if (!is_first()) return;
    if (training.scaled) training.scaled(scaling_);
    if (!training.folder.empty()) claim_folder();
  }

  // The results at part 0; nothing when all were stopped.
  std::optional<std::vector<RunResult>> run_all() {
    std::vector<RunResult> results;
    for (int64_t run = 0; run < request_.runs && !stopped_; ++run) {
      std::optional<RunResult> result = run_one(run);
      if (result) results.push_back(std::move(*result));
    }
    if (stopped_) return std::nullopt;
    if (is_first() && !training_.folder.empty())
      write_summary(training_.folder, summary_json(request_, training_.labels, results), fingerprint_);
    return results;
  }

 private:
  bool is_first() const { return parts_.rank() == 0; }
  int64_t from_first(int64_t number) const {
    const at::Tensor value = at::full({1}, number, at::kLong);
    parts_.broadcast(value, 0);
    return value.item<int64_t>();
  }

  // Makes the folder, or sees that it belongs to this request and this data.
  void claim_folder() {
    lock_.emplace(training_.folder);
    check_config(training_.folder, request_);
    std::vector<Split> splits;
    for (int64_t run = 0; run < request_.runs; ++run)
      splits.push_back(split_of(request_, training_.labels, run));
    const std::string spec = request_.split == "auto" ? automatic_split(training_.labels) : request_.split;
    TrainedOn now = remember(training_.manifest, std::move(splits), spec);
    now.partition = training_.manifest.id;
    if (has_memory(training_.folder)) {
      const TrainingMemory memory = read_memory(training_.folder);
      if (fingerprint_json(fingerprint(memory.trained_on)) != fingerprint_json(fingerprint(now))) {
        fail(
            fmt::format("{} cannot go on: the partition holds other data than it began with; train anew "
                        "with another --out",
                        training_.folder.string()));
      }
      if (memory.trained_on.partition != now.partition) {
        fail(
            fmt::format("{} cannot go on: it began with another partition of the data; train anew with "
                        "another --out",
                        training_.folder.string()));
      }
    } else {
      write_memory(training_.folder, {now, scaling_}, request_);
    }
    data_ = training_.labels;
    data_->node_ids = now.node_ids;
    fingerprint_ = fingerprint(now);
  }

  std::filesystem::path folder_of(int64_t run) const {
    return training_.folder.empty() ? training_.folder : run_folder(training_.folder, run);
  }

  // At part 0, unless it was stopped.
  std::optional<RunResult> run_one(int64_t run) {
    const std::filesystem::path folder = folder_of(run);
    std::optional<RunResult> done;
    int64_t state = kNew;
    if (is_first() && !folder.empty()) {
      done = read_result(folder);
      if (done) check_finished_run(folder);
      state = done ? kDone : std::filesystem::exists(checkpoint_path(folder)) ? kBegun : kNew;
    }
    state = from_first(state);
    if (state == kDone) return done;
    const std::shared_ptr<const SharedLabels::OfRun> of_run = shared_.of(run);
    const PartTraining part(parts_, training_.manifest, part_, of_run->labels);
    const Targets targets = part.own_targets();
    const Split split = part.own_split();
    LearnInput input{training_.labels.graph,
                     targets,
                     split,
                     graph_,
                     features_,
                     request_.model,
                     request_.model_options,
                     request_.learn,
                     seed_of_run(request_, run),
                     "",
                     of_run->scaling.deviation(),
                     &part};
    Trainer trainer(input);
    release_memory(part_);
    if (state == kBegun) trainer.load_checkpoint(checkpoint_path(folder));
    trainer.run([&](const EpochRecord& record) { return epoch_done(trainer, run, record); });
    if (!trainer.finished()) {
      save(trainer, folder);
      stopped_ = true;
      return std::nullopt;
    }
    return end_of(trainer, part, *of_run, run);
  }

  bool epoch_done(const Trainer& trainer, int64_t run, const EpochRecord& record) {
    bool goes_on = true;
    if (is_first() && training_.progress) {
      goes_on = training_.progress(
          {run, request_.runs, record, request_.learn.epochs, trainer.history(), trainer.finished()});
    }
    const bool stops = !goes_on || (training_.is_told_to_stop && training_.is_told_to_stop());
    goes_on = sum_in_order(parts_, at::full({1}, stops ? 1 : 0, at::kLong)).item<int64_t>() == 0;
    const int64_t every = request_.checkpoint_every;
    if (every != 0 && (record.epoch + 1) % every == 0) save(trainer, folder_of(run));
    return goes_on;
  }

  void save(const Trainer& trainer, const std::filesystem::path& folder) const {
    if (folder.empty() || trainer.history().empty()) return;
    if (is_first()) write_metrics(folder, trainer.history());
    trainer.save_checkpoint(checkpoint_path(folder));
  }

  std::optional<RunResult> end_of(Trainer& trainer, const PartTraining& part,
                                  const SharedLabels::OfRun& of_run, int64_t run) {
    Learner& learner = trainer.best();
    const Scores own = learner.predict();
    const Scores all = part.in_order(own);
    std::optional<FlowSummary> summary;
    EdgeFlow flow;
    if (learner.flow() != nullptr) {
      learner.flow()->drop_moments();  // room for the flow of all parts
      flow = gathered_flow(part, *learner.flow(), summary);
    }
    if (!is_first()) return std::nullopt;
    const Split& split = of_run.labels.split;
    const Scores scores = of_run.scaling.undo(all);
    const Calibration calibration = calibrate(training_.labels.targets, split.val, scores);
    const Training which{request_, run};
    const Dataset& data = data_ ? *data_ : training_.labels;
    const RunResult result =
        summarise_run(which, trainer, {data, split, of_run.scaling, scores, calibration, std::move(summary)});
    if (!training_.folder.empty()) {
      write_run(folder_of(run), trainer,
                {data, split, scores, calibration, request_.coverage, result, nullptr, flow});
    }
    return result;
  }

  // At part 0, of all parts, by the nodes of the data; in the order in which its graph would have it.
  EdgeFlow gathered_flow(const PartTraining& part, const Flow& flow,
                         std::optional<FlowSummary>& summary) const {
    const int64_t own = flow.topology().counted;
    const FlowEdges& edges = flow.topology().edges;
    const at::Tensor originals =
        at::cat({part_originals(part_.original), part_originals(part_.halo_original)});
    const auto ends = [&](const at::Tensor& rows) {
      return part.at_first(originals.index_select(0, rows.narrow(0, 0, own).cpu().to(at::kLong)));
    };
    at::Tensor heads = ends(edges.heads), tails = ends(edges.tails);
    at::Tensor values = part.at_first(flow.values().detach().narrow(0, 0, own));
    const at::Tensor cost = part.sum(at::tensor({flow.cost()}, at::kDouble));
    const at::Tensor violations = part.at_first(at::tensor({flow.violation()}, at::kDouble));
    if (!is_first()) return {};
    if (!part_.directed) {  // an edge points to the lower number
      const at::Tensor turned = heads > tails;
      const at::Tensor low = at::minimum(heads, tails);
      tails = at::maximum(heads, tails);
      heads = low;
      values = at::where(turned.unsqueeze(1), 0 - values, values);
    }
    const at::Tensor ends_of = heads * training_.manifest.nodes + tails;
    const at::Tensor order = std::get<1>(at::sort(ends_of, /*stable=*/true, 0, false));
    heads = heads.index_select(0, order);
    tails = tails.index_select(0, order);
    values = values.index_select(0, order);
    summary = summary_of_flow(values, cost.item<double>(), violations.max().item<double>());
    return {heads.to(at::kInt), tails.to(at::kInt), values};
  }

  static at::Tensor part_originals(std::span<const NodeId> nodes) {
    at::Tensor numbers = at::empty({std::ssize(nodes)}, at::kLong);
    std::copy(nodes.begin(), nodes.end(), numbers.data_ptr<int64_t>());
    return numbers;
  }

  Comm& parts_;
  const PartitionTraining& training_;
  const TrainRequest& request_;
  SharedLabels& shared_;
  Part part_;
  GraphTensors graph_;
  FeatureScaling scaling_;
  NodeMatrix features_;
  bool stopped_ = false;
  // Of part 0.
  std::optional<FolderLock> lock_;
  Fingerprint fingerprint_;
  std::optional<Dataset> data_;  // labels and ids
};

// While it lives, LibTorch's own sums on a GPU have one order too.
class OrderedSums {
 public:
  explicit OrderedSums(const at::Device& device) : before_(at::globalContext().deterministicAlgorithms()) {
    if (device.is_cuda()) at::globalContext().setDeterministicAlgorithms(true, false);
  }
  ~OrderedSums() { at::globalContext().setDeterministicAlgorithms(before_, false); }
  OrderedSums(const OrderedSums&) = delete;
  OrderedSums& operator=(const OrderedSums&) = delete;

 private:
  bool before_;
};

// While it lives, backward passes of this thread run in it. All parts of a process would else share the one
// thread that autograd has for their GPU, and wait there for each other's rows for ever.
class OwnBackwardPass {
 public:
  OwnBackwardPass() : before_(c10::AutogradState::get_tls_state()) {
    run_here(c10::AutogradState::get_tls_state());
  }
  ~OwnBackwardPass() { c10::AutogradState::set_tls_state(before_); }
  OwnBackwardPass(const OwnBackwardPass&) = delete;
  OwnBackwardPass& operator=(const OwnBackwardPass&) = delete;

 private:
  template <class State>
  static void run_here(State& state) {
    if constexpr (requires { state.set_multithreading_enabled(false); })  // since torch 2
      state.set_multithreading_enabled(false);
  }

  c10::AutogradState before_;
};

bool is_among(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string needs_joined_graph(const TrainRequest& request) {
  if (is_among(request.model, {"gcn-lpa", "none"})) return "--model " + request.model;
  if (!is_among(request.learn.solver, {"ce", "mse", "bregman", "proximal", "badmm"}))
    return "--solver " + request.learn.solver;
  if (!request.refit_flow.empty()) return "--refit-flow";
  if (request.baselines == "all") return "--baselines all";
  return "";
}

Dataset labels_of_partition(const PartitionManifest& manifest) {
  Dataset labels = partition_labels(manifest);
  EdgeList nodes_alone;
  nodes_alone.num_nodes = manifest.nodes;
  labels.graph = Graph::build(std::move(nodes_alone), {manifest.directed});
  return labels;
}

std::optional<std::vector<RunResult>> train_partition(Comm& processes, const PartitionTraining& training) {
  QW_ASSERT(needs_joined_graph(training.request).empty());
  const OrderedSums same_bits(training.device);
  find_metric(training.labels.targets.task, training.request.learn.metric);
  SharedLabels shared(training);
  std::optional<std::vector<RunResult>> results(std::in_place);
  std::mutex one_at_a_time;
  run_parts(processes, static_cast<int>(training.manifest.count()), [&](Comm& part) {
    const c10::OptionalDeviceGuard device(training.device);
    const OwnBackwardPass backward;
    std::optional<std::vector<RunResult>> of_part = OnePart(part, training, shared).run_all();
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    if (part.rank() == 0 || !of_part) results = std::move(of_part);
  });
  processes.barrier();  // until all is written
  return results;
}

}  // namespace qw
