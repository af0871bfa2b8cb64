#include "learn/single_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "learn/run_files.h"
#include "qw/core/error.h"

namespace qw {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

SingleRun::SingleRun(const Dataset& dataset, const Training& training, const GraphTensors& graph,
                     const NodeMatrix& features, const std::filesystem::path& folder)
    : dataset_(dataset),
      training_(training),
      folder_(folder.empty() ? folder : run_folder(folder, training.run)),
      seed_(seed_of_run(training.request, training.run)) {
  if (!folder_.empty()) done_ = read_result(folder_);
  if (done_) return;
  const TrainRequest& request = training_.request;
  split_ = split_of(request, dataset, training.run);
  scaling_ = scaling_for(split_);
  targets_ = scaling_.apply(dataset.targets);
  trainer_ =
      std::make_unique<Trainer>(LearnInput{dataset.graph, targets_, split_, graph, features, request.model,
                                           request.model_options, request.learn, seed_, network_from()});
  if (!folder_.empty() && std::filesystem::exists(checkpoint_path(folder_))) {
    trainer_->load_checkpoint(checkpoint_path(folder_));
  }
}

void SingleRun::epoch_done(const EpochRecord& record) const {
  const int64_t every = training_.request.checkpoint_every;
  if (folder_.empty() || every == 0 || (record.epoch + 1) % every != 0) return;
  write_metrics(folder_, trainer_->history());
  trainer_->save_checkpoint(checkpoint_path(folder_));
}

RunResult SingleRun::result() {
  if (done_) return *done_;
  if (!trainer_->failure().empty()) fail(trainer_->failure());
  RunResult result = summarise();
  if (!folder_.empty()) write_run(folder_, dataset_, *trainer_, result);
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

RunResult SingleRun::summarise() {
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
  const Scores scores = scaling_.undo(learner.predict());
  result.train = measure(dataset_.targets, split_.train, scores);
  result.val = measure(dataset_.targets, split_.val, scores);
  result.test = measure(dataset_.targets, split_.test, scores);
  result.classes = by_class(dataset_.targets, split_.test, scores);
  if (learner.flow() != nullptr) result.flow = learner.flow()->summary();
  return result;
}

}  // namespace qw
