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
  RunResult result = summarise(scores, calibration);
  if (!folder_.empty()) {
    write_run(folder_, *trainer_,
              {dataset_, split_, scores, calibration, training_.request.coverage, result,
               of_search_ ? &training_.request : nullptr});
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

RunResult SingleRun::summarise(const Scores& scores, const Calibration& calibration) {
  RunResult result;
  result.run = training_.run;
  result.seed = seed_;
  result.scaling = scaling_;
  result.epochs = static_cast<int64_t>(trainer_->history().size());
  result.best_epoch = trainer_->best_epoch();
  const std::vector<double>& milliseconds = trainer_->step_milliseconds();
  result.step_ms = median(milliseconds);
  Learner& learner = trainer_->best();
  result.parameters = learner.parameter_count();
  const Targets& targets = dataset_.targets;
  const MeasureOptions options{training_.request.learn.metric, calibration.temperature};
  result.train = measure(targets, split_.train, scores, options);
  result.val = measure(targets, split_.val, scores, options);
  result.test = measure(targets, split_.test, scores, options);
  result.classes = by_class(targets, split_.test, scores);
  result.split = split_sizes(targets, split_);
  result.temperature = calibration.temperature;
  const PredictionSets sets(targets.task, targets.width, calibration, training_.request.coverage);
  result.certainty = measure_coverage(targets, split_.test, scores, calibration, sets);
  result.classes_predicted = count_predicted(targets, split_.test, scores);
  if (learner.flow() != nullptr) result.flow = learner.flow()->summary();
  return result;
}

}  // namespace qw
