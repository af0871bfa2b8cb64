#include "learn/single_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "learn/run_files.h"
#include "qw/core/error.h"

namespace qw {

namespace {

int64_t count_predicted(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  if (targets.task != Task::kClassification) return 0;
  const std::vector<double> rows = logits_of(targets.task, nodes, targets.width, scores);
  std::set<int64_t> predicted;
  for (auto row = rows.begin(); row != rows.end(); row += targets.width) {
    predicted.insert(std::max_element(row, row + targets.width) - row);
  }
  return static_cast<int64_t>(predicted.size());
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

SingleRun::SingleRun(const Dataset& dataset, const Training& training, Split split, const GraphTensors& graph,
                     const NodeMatrix& features, const std::filesystem::path& folder, bool of_search)
    : dataset_(dataset),
      training_(training),
      folder_(folder.empty() ? folder : run_folder(folder, training.run)),
      of_search_(of_search),
      seed_(seed_of_run(training.request, training.run)),
      split_(std::move(split)) {
  if (!folder_.empty()) done_ = read_result(folder_);
  if (done_) {
    check_finished_run(folder_);
    std::error_code ignored;
    std::filesystem::remove(checkpoint_path(folder_),
                            ignored);  // of one that was killed just before it did so
    return;
  }
  const TrainRequest& request = training_.request;
  scaling_ = scaling_for(split_);
  targets_ = scaling_.apply(dataset.targets);
  trainer_ = std::make_unique<Trainer>(LearnInput{dataset.graph, targets_, split_, graph, features,
                                                  request.model, request.model_options, request.learn, seed_,
                                                  network_from(), scaling_.deviation()});
  if (!folder_.empty() && std::filesystem::exists(checkpoint_path(folder_))) {
    trainer_->load_checkpoint(checkpoint_path(folder_));
  }
}

void SingleRun::epoch_done(const EpochRecord& record) const {
  const int64_t every = training_.request.checkpoint_every;
  if (every != 0 && (record.epoch + 1) % every == 0) save();
}

void SingleRun::save() const {
  if (folder_.empty() || trainer_->history().empty()) return;
  write_metrics(folder_, trainer_->history());
  trainer_->save_checkpoint(checkpoint_path(folder_));
}

RunResult SingleRun::result() {
  if (done_) return *done_;
  if (!trainer_->failure().empty()) fail(trainer_->failure());
  const Scores scores = scaling_.undo(trainer_->best().predict());
  const Calibration calibration = calibrate(dataset_.targets, split_.val, scores);
  Learner& learner = trainer_->best();
  RunResult result =
      summarise_run(training_, *trainer_,
                    {dataset_, split_, scaling_, scores, calibration,
                     learner.flow() == nullptr ? std::optional<FlowSummary>() : learner.flow()->summary()});
  if (!folder_.empty()) {
    write_run(folder_, *trainer_,
              {dataset_, split_, scores, calibration, training_.request.coverage, result,
               of_search_ ? &training_.request : nullptr, edge_flow(dataset_.graph, learner.flow())});
  }
  return result;
}

std::filesystem::path SingleRun::network_from() const {
  const std::string& earlier = training_.request.refit_flow;
  return earlier.empty() ? "" : run_folder(earlier, training_.run) / "model.safetensors";
}

// A network that is taken over goes on to speak in the units it learned in.
TargetScaling SingleRun::scaling_for(const Split& split) const {
  if (training_.request.refit_flow.empty()) return {dataset_.targets, split.train};
  const std::filesystem::path folder = run_folder(training_.request.refit_flow, training_.run);
  const std::optional<RunResult> earlier = read_result(folder);
  if (!earlier)
    fail(
        fmt::format("{} is not finished: there is no network whose flow could be refitted", folder.string()));
  return earlier->scaling;
}

RunResult summarise_run(const Training& training, Trainer& trainer, RunEnd end) {
  RunResult result;
  result.run = training.run;
  result.seed = seed_of_run(training.request, training.run);
  result.scaling = end.scaling;
  result.epochs = static_cast<int64_t>(trainer.history().size());
  result.best_epoch = trainer.best_epoch();
  result.step_ms = median(trainer.step_milliseconds());
  result.parameters = trainer.best().parameter_count();
  const Targets& targets = end.dataset.targets;
  const MeasureOptions options{training.request.learn.metric, end.calibration.temperature};
  result.train = measure(targets, end.split.train, end.scores, options);
  result.val = measure(targets, end.split.val, end.scores, options);
  result.test = measure(targets, end.split.test, end.scores, options);
  result.classes = by_class(targets, end.split.test, end.scores);
  result.split = split_sizes(targets, end.split);
  result.temperature = end.calibration.temperature;
  const PredictionSets sets(targets.task, targets.width, end.calibration, training.request.coverage);
  result.certainty = measure_coverage(targets, end.split.test, end.scores, end.calibration, sets);
  result.classes_predicted = count_predicted(targets, end.split.test, end.scores);
  result.flow = std::move(end.flow);
  return result;
}

}  // namespace qw
