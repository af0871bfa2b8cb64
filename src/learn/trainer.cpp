#include "qw/learn/trainer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "core/file.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "learn/device_epochs.h"
#include "learn/training_part.h"
#include "nn/tensor_file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kCheckpointSchema = 2;
constexpr const char* kBestPrefix = "best/";
constexpr const char* kHistory = "history";
constexpr size_t kHistoryColumns = 5;

at::Tensor history_tensor(const std::vector<EpochRecord>& history) {
  at::Tensor rows =
      at::empty({static_cast<int64_t>(history.size()), static_cast<int64_t>(kHistoryColumns)}, at::kDouble);
  auto* out = rows.data_ptr<double>();
  for (const EpochRecord& r : history) {
    for (const double value : {r.loss, r.val_loss, r.train_metric, r.val_metric, r.test_metric})
      *out++ = value;
  }
  return rows;
}

std::vector<EpochRecord> history_from(const SafetensorsFile& file) {
  const std::vector<double> numbers = file.values<double>(kHistory);
  std::vector<EpochRecord> history;
  for (size_t at = 0; at + kHistoryColumns <= numbers.size(); at += kHistoryColumns) {
    const double* row = numbers.data() + at;
    history.push_back({static_cast<int64_t>(history.size()), row[0], row[1], row[2], row[3], row[4]});
  }
  return history;
}

std::string counts_text(const std::vector<int64_t>& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const int64_t count : counts) parts.push_back(std::to_string(count));
  return join(parts, " ");
}

std::vector<int64_t> counts_from(const std::string& text) {
  std::vector<int64_t> counts;
  for (const std::string& part : split(text, ' ')) {
    if (const auto count = parse_integer(part); count && *count >= 0) counts.push_back(*count);
  }
  return counts;
}

// Without the prefix of what belongs to the best epoch.
std::string plain_name(const std::string& name) {
  return name.starts_with(kBestPrefix) ? name.substr(std::string_view(kBestPrefix).size()) : name;
}

bool all_finite(const at::Tensor& tensor) {
  return !at::isFloatingType(tensor.scalar_type()) || at::isfinite(tensor).all().item<bool>();
}

}  // namespace

Trainer::Trainer(const LearnInput& input)
    : input_(input),
      metric_(find_metric(input.targets.task, input.options.metric)),
      rule_{input.options.epochs, input.options.patience, keeps_last(), by_metric(),
            metric_.higher_is_better},
      learner_(make_learner(input)),
      train_labels_(labels_of(input, input.split.train)),
      val_labels_(labels_of(input, input.split.val)),
      test_labels_(labels_of(input, input.split.test)) {}

Trainer::~Trainer() = default;

EpochRecord Trainer::run_epoch() {
  EpochRecord record;
  record.epoch = static_cast<int64_t>(history_.size());
  const auto begin = std::chrono::steady_clock::now();
  record.loss = learner_->step(record.epoch).loss;
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  step_milliseconds_.push_back(taken.count());
  const Scores scores = learner_->predict();
  record.val_loss = learner_->validation_loss(scores, val_labels_).sum();
  if (input_.part) {
    measure_parts(scores, record);
  } else {
    measure_epoch(scores, record);
  }
  return record;
}

void Trainer::measure_parts(const Scores& scores, EpochRecord& record) const {
  const TrainingPart& part = *input_.part;
  const at::Tensor losses = part.sum(at::tensor({record.loss, record.val_loss}, at::kDouble));
  const bool counts = input_.targets.task == Task::kClassification && metric_.name == "accuracy";
  const at::Tensor metrics = counts ? accuracy_of_parts(scores) : metrics_at_first(scores);
  record.loss = losses[0].item<double>();
  record.val_loss = losses[1].item<double>();
  record.train_metric = metrics[0].item<double>();
  record.val_metric = metrics[1].item<double>();
  record.test_metric = metrics[2].item<double>();
}

void Trainer::measure_epoch(const Scores& scores, EpochRecord& record) const {
  const Targets& targets = input_.targets;
  if (scores.network.is_cuda() && has_device_metric()) {  // as replayed epochs do
    const at::Tensor metrics =
        epoch_metrics(targets.task, scores, {train_labels_, val_labels_, test_labels_}).cpu();
    const auto* number = metrics.data_ptr<double>();
    record.train_metric = number[0];
    record.val_metric = number[1];
    record.test_metric = number[2];
    return;
  }
  record.train_metric = measure_one(targets, input_.split.train, scores, metric_, input_.units);
  record.val_metric = measure_one(targets, input_.split.val, scores, metric_, input_.units);
  record.test_metric = measure_one(targets, input_.split.test, scores, metric_, input_.units);
}

// Who is right is counted where the scores are.
at::Tensor Trainer::accuracy_of_parts(const Scores& scores) const {
  const std::vector<NodeId>* nodes[] = {&input_.split.train, &input_.split.val, &input_.split.test};
  const at::Tensor counts = at::zeros({2, 3}, at::kDouble);  // right, known
  for (int64_t k = 0; k < 3; ++k) {
    const auto known = static_cast<double>(std::count_if(
        nodes[k]->begin(), nodes[k]->end(), [&](NodeId node) { return input_.targets.classes[node] >= 0; }));
    if (known == 0) continue;
    counts[0][k] = std::round(known * measure_one(input_.targets, *nodes[k], scores, metric_));
    counts[1][k] = known;
  }
  const at::Tensor all = input_.part->sum(counts);
  return all[0] / all[1];  // of nobody no number
}

at::Tensor Trainer::metrics_at_first(const Scores& scores) const {
  const TrainingPart& part = *input_.part;
  at::Tensor metrics = at::zeros({3}, at::kDouble);
  const Scores all = part.in_order(scores);
  if (part.is_first()) {
    const Split& split = part.all_split();
    const std::vector<NodeId>* nodes[] = {&split.train, &split.val, &split.test};
    for (int64_t k = 0; k < 3; ++k)
      metrics[k] = measure_one(part.all_targets(), *nodes[k], all, metric_, input_.units);
  }
  part.broadcast(metrics);
  return metrics;
}

bool Trainer::fails(const EpochRecord& record) {
  if (std::isfinite(record.loss) && std::isfinite(record.val_loss)) {
    if (!by_metric() || keeps_last() || record.epoch > 0 || !std::isnan(record.val_metric)) return false;
    failure_ = fmt::format(
        "the {} of the validation nodes is undefined (one class or one value only?), so that no "
        "epoch can be chosen by it; use --select loss, another --metric or another --split",
        metric_.name);
    finished_ = true;
    return true;
  }
  std::string what =
      fmt::format("the {} is not finite", std::isfinite(record.loss) ? "validation loss" : "loss");
  for (const Buffer& each : learner_->state()) {
    if (all_finite(each.value)) continue;
    what = fmt::format("'{}' is not finite any more", each.name);
    break;
  }
  failure_ = fmt::format("epoch {}: {}; a smaller learning rate may help", record.epoch, what);
  finished_ = true;
  return true;
}

double Trainer::score_of(const EpochRecord& record) const {
  return rule_.score(record.val_loss, record.val_metric);
}

bool Trainer::is_best(const EpochRecord& record) const {
  const double best = best_epoch_ < 0 ? 0 : score_of(history_[best_epoch_]);
  return rule_.is_better(score_of(record), best_epoch_, best);
}

bool Trainer::keeps_last() const {
  const Split& split = input_.part ? input_.part->all_split() : input_.split;
  return split.val.empty() || !input_.network_from.empty();
}

// The kernel measures in the units that are learned in, which R2 of one column does not see.
bool Trainer::has_device_metric() const {
  return metric_.name == metrics_of(input_.targets.task).front().name &&
         (input_.units.empty() || input_.targets.width == 1);
}

void Trainer::keep_best() {
  const std::vector<Buffer> now = learner_->predicting_state();
  if (best_state_.empty()) {
    for (const Buffer& each : now) best_state_.push_back({each.name, each.value.clone()});
    return;
  }
  for (size_t i = 0; i < now.size(); ++i) best_state_[i].value.copy_(now[i].value);
}

bool Trainer::should_stop(const EpochRecord& record) const {
  if (rule_.is_last(record.epoch) || learner_->settled()) return true;
  if (!rule_.looks_back(record.epoch)) return false;
  double sum = 0;
  for (int64_t k = record.epoch - rule_.patience; k < record.epoch; ++k) sum += score_of(history_[k]);
  return rule_.is_above_mean(score_of(record), sum);
}

bool Trainer::run_epochs(const GoOn& go_on, int64_t most) {
  for (int64_t k = 0; k < most && !finished_; ++k) {
    const EpochRecord record = run_epoch();
    if (fails(record)) return false;
    if (is_best(record)) {
      best_epoch_ = record.epoch;
      keep_best();
    }
    history_.push_back(record);
    finished_ = should_stop(record);
    if (go_on && !go_on(record)) return false;
  }
  return true;
}

bool Trainer::can_replay() const {
  return input_.graph.options().device().is_cuda() && !input_.part && learner_->stays_on_device() &&
         has_device_metric();
}

const CapturedWork& Trainer::captured_epoch() {
  if (replays_left() == 0) {
    device_epochs_.reset();
    device_epochs_ =
        std::make_unique<DeviceEpochs>(*learner_, EpochLabels{train_labels_, val_labels_, test_labels_},
                                       input_.targets.task, history_, best_epoch_, best_state_, rule_);
  }
  return device_epochs_->work();
}

int64_t Trainer::replays_left() const { return device_epochs_ ? device_epochs_->left() : 0; }

// The device has decided already which epoch is the best and which the last.
bool Trainer::take_replays(int64_t replays, double milliseconds, const GoOn& go_on) {
  bool goes_on = true;
  const std::vector<EpochRecord> records = device_epochs_->take(replays);
  const EpochState& state = device_epochs_->state();
  best_epoch_ = state.best_epoch;
  for (const EpochRecord& record : records) {
    if (fails(record)) return false;
    history_.push_back(record);
    step_milliseconds_.push_back(milliseconds / static_cast<double>(replays));
    finished_ = state.stopped && record.epoch + 1 == state.epochs;
    if (go_on && !go_on(record)) goes_on = false;
  }
  return goes_on;
}

void Trainer::run(const GoOn& go_on, int64_t at_once) {
  if (can_replay()) {
    run_together({this}, {go_on}, at_once);
  } else {
    run_epochs(go_on, std::numeric_limits<int64_t>::max());
  }
  if (!failure_.empty()) fail(failure_);
}

Learner& Trainer::best() {
  QW_ASSERT(best_epoch_ >= 0);
  device_epochs_.reset();
  copy_by_name(best_state_, learner_->predicting_state(), "best epoch");
  if (Flow* flow = learner_->flow()) flow->changed(flow->steps());
  learner_->finish();
  finished_ = true;
  return *learner_;
}

void Trainer::save_checkpoint(const std::filesystem::path& path) const {
  std::vector<Buffer> tensors = learner_->state();
  for (const Buffer& each : best_state_) tensors.push_back({kBestPrefix + each.name, each.value});
  std::map<std::string, std::string> fields{{"schema", std::to_string(kCheckpointSchema)},
                                            {"counts", counts_text(learner_->counts())},
                                            {"best_epoch", std::to_string(best_epoch_)},
                                            {"finished", finished_ ? "true" : "false"}};
  if (input_.part) {
    for (Buffer& each : tensors) {
      if (Learner::is_of_part(plain_name(each.name))) each.value = input_.part->at_first(each.value);
    }
    fields["partition"] = input_.part->id();
  }
  tensors.push_back({kHistory, history_tensor(history_)});
  if (!input_.part || input_.part->is_first()) write_checked_tensors(path, tensors, fields);
}

// What part 0 reads, all have; each keeps what is its own.
SafetensorsFile Trainer::read_checkpoint(const std::filesystem::path& path) const {
  if (!input_.part) return read_checked_tensors(path);
  const std::string bytes = input_.part->broadcast(input_.part->is_first() ? read_file(path) : "");
  return checked_tensors_from(bytes, path.string());
}

void Trainer::load_checkpoint(const std::filesystem::path& path) {
  const SafetensorsFile file = read_checkpoint(path);
  const auto field = [&](const std::string& name) {
    const auto found = file.metadata().find(name);
    if (found == file.metadata().end())
      fail(fmt::format("{}: is no checkpoint: has no {}", path.string(), name));
    return found->second;
  };
  if (field("schema") != std::to_string(kCheckpointSchema)) {
    fail(fmt::format("{}: schema {} is not the {} that this qw reads", path.string(), field("schema"),
                     kCheckpointSchema));
  }
  if (input_.part && field("partition") != input_.part->id())
    fail(
        fmt::format("{}: is of another partition of the data; train anew with another --out", path.string()));
  history_ = history_from(file);
  const auto best_epoch = parse_integer(field("best_epoch"));
  if (!best_epoch || *best_epoch < 0 || *best_epoch >= static_cast<int64_t>(history_.size())) {
    fail(fmt::format("{}: best epoch {} is none of the {} in its history", path.string(), field("best_epoch"),
                     history_.size()));
  }
  best_epoch_ = *best_epoch;
  take_state(file, counts_from(field("counts")), path.string());
  finished_ = field("finished") == "true";
}

void Trainer::take_state(const SafetensorsFile& file, const std::vector<int64_t>& counts,
                         const std::string& from) {
  std::map<std::string, int64_t> rows;  // of this part
  for (const Buffer& each : learner_->state()) {
    if (input_.part && Learner::is_of_part(each.name)) rows[each.name] = each.value.size(0);
  }
  std::vector<Buffer> tensors, best;
  for (const StoredTensor& stored : file.tensors()) {
    if (stored.name == kHistory) continue;
    const bool is_best = stored.name.starts_with(kBestPrefix);
    Buffer read{plain_name(stored.name), tensor_from(stored)};
    if (const auto own = rows.find(read.name); own != rows.end())
      read.value = input_.part->own_of(read.value, own->second).clone();  // what all parts have can go
    (is_best ? best : tensors).push_back(std::move(read));
  }
  learner_->restore(tensors, counts, from);
  best_state_.clear();
  for (const Buffer& each : learner_->predicting_state()) {
    best_state_.push_back({each.name, each.value.clone()});
  }
  copy_by_name(best, best_state_, from);
}

}  // namespace qw
