#include "qw/ops/epoch_end.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "qw/ops/step_clock.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

class EpochMetrics : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_epoch_kernels(test::device()))
      GTEST_SKIP() << "no CUDA device: no kernels that end epochs on " << test::device();
  }
};
class EpochEnd : public EpochMetrics {};
class KeepIf : public EpochMetrics {};

TEST(EpochKernels, AreOnAGpuOnly) {
  if (has_epoch_kernels(test::device())) GTEST_SKIP() << "kernels are here: " << test::device();
  EXPECT_EQ(refusal([] { advance_(at::zeros({3}, at::kLong), {1, 1, 1}); }), "qw: this works on a GPU only");
}

at::Tensor none(at::ScalarType type) { return at::empty({0}, type); }
at::Tensor number(double value) { return at::scalar_tensor(value, at::kDouble); }

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.to(at::kDouble).cpu().contiguous();
  return {here.data_ptr<double>(), here.data_ptr<double>() + here.numel()};
}

bool same_numbers(const at::Tensor& a, const at::Tensor& b) {
  return at::allclose(a, b, 0, 0, /*equal_nan=*/true);
}

struct Scored {
  at::Tensor scores, shift;
  std::array<LabelTensors, 3> parts;

  Scored(int64_t nodes, std::array<int64_t, 3> counts, int64_t width, EpochMetric kind) {
    at::manual_seed(nodes * 1000 + width);
    const bool by_class = kind == EpochMetric::kAccuracy;
    // Whole numbers: many are equal.
    scores =
        by_class ? at::randint(-3, 4, {nodes, width}, at::kDouble) : at::randn({nodes, width}, at::kDouble);
    shift =
        by_class ? at::randint(-1, 2, {nodes, width}, at::kDouble) : at::randn({nodes, width}, at::kDouble);
    for (size_t p = 0; p < parts.size(); ++p) {
      const at::Tensor some = at::randperm(nodes, at::TensorOptions(at::kInt)).slice(0, 0, counts[p]);
      parts[p] = {some.contiguous(), none(at::kInt), none(at::kDouble), none(at::kDouble)};
      if (by_class) {
        parts[p].classes = at::randint(-1, width, {counts[p]}, at::TensorOptions(at::kInt));
      } else {
        parts[p].targets = kind == EpochMetric::kR2
                               ? at::randn({counts[p], width}, at::kDouble) + 1000.0
                               : (at::rand({counts[p], width}, at::kDouble) < 0.3).to(at::kDouble);
        parts[p].targets.masked_fill_(at::rand({counts[p], width}) < 0.1, std::nan(""));
      }
    }
    if (kind == EpochMetric::kR2) scores = scores + 999.0;
  }

  Scored to(at::ScalarType type) const {
    Scored other = *this;
    other.scores = scores.to(type);
    other.shift = shift.to(type);
    for (LabelTensors& part : other.parts) part.targets = part.targets.to(type);
    return other;
  }

  at::Tensor sum() const { return shift.numel() == 0 ? scores : scores + shift; }

  at::Tensor measured(EpochMetric kind, double threshold = 0) const {
    return epoch_metrics(kind, scores, shift, threshold, parts[0], parts[1], parts[2]);
  }
};

// As src/learn/metrics.cpp defines them.
double accuracy(const Scored& scored, const LabelTensors& part) {
  const int64_t width = scored.scores.size(1);
  const std::vector<double> rows = numbers_of(scored.sum());
  const std::vector<double> nodes = numbers_of(part.nodes), classes = numbers_of(part.classes);
  int64_t right = 0, all = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const double* row = rows.data() + static_cast<int64_t>(nodes[i]) * width;
    if (classes[i] < 0) continue;
    right += std::max_element(row, row + width) - row == static_cast<int64_t>(classes[i]);
    ++all;
  }
  return all == 0 ? std::nan("") : static_cast<double>(right) / static_cast<double>(all);
}

double macro_f1(const Scored& scored, const LabelTensors& part, double threshold) {
  const int64_t width = scored.scores.size(1);
  const std::vector<double> rows = numbers_of(scored.sum());
  const std::vector<double> nodes = numbers_of(part.nodes), truth = numbers_of(part.targets);
  double sum = 0;
  int64_t present = 0;
  for (int64_t c = 0; c < width; ++c) {
    int64_t hit = 0, errors = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const double label = truth[i * width + c];
      if (std::isnan(label)) continue;
      const bool guess = rows[static_cast<int64_t>(nodes[i]) * width + c] > threshold;
      hit += guess && label > 0.5;
      errors += guess != (label > 0.5);
    }
    if (hit + errors == 0) continue;
    sum += static_cast<double>(2 * hit) / static_cast<double>(2 * hit + errors);
    ++present;
  }
  return present == 0 ? std::nan("") : sum / static_cast<double>(present);
}

double r2(const Scored& scored, const LabelTensors& part) {
  const at::Tensor guess = scored.sum().index_select(0, part.nodes).to(at::kDouble);
  const at::Tensor known = at::isnan(part.targets).logical_not();
  const at::Tensor truth = at::nan_to_num(part.targets.to(at::kDouble));
  const at::Tensor mean = truth.sum(0) / at::clamp_min(known.sum(0), 1);
  const double around = ((truth - mean).square() * known).sum().item<double>();
  return around > 0 ? 1.0 - ((guess - truth).square() * known).sum().item<double>() / around : std::nan("");
}

void expect_metrics(EpochMetric kind, const Scored& scored, double threshold = 0) {
  const at::Tensor found = scored.measured(kind, threshold);
  ASSERT_EQ(found.sizes(), std::vector<int64_t>{3});
  ASSERT_EQ(found.scalar_type(), at::kDouble);
  ASSERT_EQ(found.device().type(), test::device().type());
  const std::vector<double> metrics = numbers_of(found);
  for (size_t p = 0; p < 3; ++p) {
    SCOPED_TRACE(p);
    const LabelTensors& part = scored.parts[p];
    if (part.nodes.numel() == 0) {
      EXPECT_TRUE(std::isnan(metrics[p]));
    } else if (kind == EpochMetric::kR2) {
      const double expected = r2(scored, part);
      EXPECT_EQ(std::isnan(metrics[p]), std::isnan(expected));
      const double largest = 1e-12 * std::max(1.0, std::abs(expected));
      EXPECT_TRUE(std::isnan(expected) || std::abs(metrics[p] - expected) <= largest)
          << metrics[p] << " " << expected;
    } else {
      const double expected =
          kind == EpochMetric::kAccuracy ? accuracy(scored, part) : macro_f1(scored, part, threshold);
      EXPECT_TRUE(metrics[p] == expected || (std::isnan(metrics[p]) && std::isnan(expected)))
          << metrics[p] << " " << expected;
    }
  }
}

// With and without shift, in both types.
void expect_metrics_in_all_forms(EpochMetric kind, const Scored& full, double threshold = 0) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    SCOPED_TRACE(testing::Message() << full.scores.sizes() << type);
    Scored scored = full.to(type);
    expect_metrics(kind, scored, threshold);
    scored.shift = none(type);
    expect_metrics(kind, scored, threshold);
  }
}

TEST_F(EpochMetrics, AccuracyIsTheShareOfRightClasses) {
  for (const int64_t width : {1, 2, 7, 40, 100}) {
    expect_metrics_in_all_forms(EpochMetric::kAccuracy,
                                Scored(50, {1, 0, 50}, width, EpochMetric::kAccuracy));
  }
  expect_metrics_in_all_forms(EpochMetric::kAccuracy,
                              Scored(9000, {8500, 140, 500}, 40, EpochMetric::kAccuracy));
}

TEST_F(EpochMetrics, AScoreThatIsNotANumberIsPredictedOnlyInFront) {
  Scored scored(60, {60, 20, 40}, 5, EpochMetric::kAccuracy);
  scored.scores.masked_fill_(at::rand({60, 5}) < 0.3, std::nan(""));
  scored.scores.masked_fill_(at::rand({60, 5}) < 0.2, -std::numeric_limits<double>::infinity());
  expect_metrics_in_all_forms(EpochMetric::kAccuracy, scored);
  scored.scores.fill_(-std::numeric_limits<double>::infinity());
  expect_metrics_in_all_forms(EpochMetric::kAccuracy, scored);
}

TEST_F(EpochMetrics, MacroF1IsTheMeanOverLabelsThatAreThere) {
  for (const int64_t width : {1, 3, 112, 300}) {
    Scored scored(400, {380, 1, 0}, width, EpochMetric::kMacroF1);
    for (const double threshold : {0.0, 0.5}) {
      expect_metrics_in_all_forms(EpochMetric::kMacroF1, scored, threshold);
    }
    scored.parts[0].targets.select(1, width / 2).fill_(0.0);
    expect_metrics_in_all_forms(EpochMetric::kMacroF1, scored, 100.0);
  }
  expect_metrics_in_all_forms(EpochMetric::kMacroF1, Scored(9000, {40, 8800, 700}, 3, EpochMetric::kMacroF1));
}

TEST_F(EpochMetrics, R2ComparesWithTheMeanOfEachColumn) {
  for (const int64_t width : {1, 3, 40, 300}) {
    expect_metrics_in_all_forms(EpochMetric::kR2, Scored(400, {380, 1, 0}, width, EpochMetric::kR2));
  }
  expect_metrics_in_all_forms(EpochMetric::kR2, Scored(9000, {40, 8800, 700}, 1, EpochMetric::kR2));
}

TEST_F(EpochMetrics, SameBitsHoweverMatricesAreStored) {
  const auto transposed = [](const at::Tensor& matrix) { return matrix.t().contiguous().t(); };
  for (const EpochMetric kind : {EpochMetric::kAccuracy, EpochMetric::kMacroF1, EpochMetric::kR2}) {
    Scored scored(700, {600, 300, 100}, 6, kind);
    const at::Tensor first = scored.measured(kind);
    EXPECT_TRUE(same_numbers(scored.measured(kind), first));
    scored.scores = transposed(scored.scores);
    scored.shift = transposed(scored.shift);
    for (LabelTensors& part : scored.parts) {
      if (kind != EpochMetric::kAccuracy) part.targets = transposed(part.targets);
    }
    EXPECT_TRUE(same_numbers(scored.measured(kind), first));
  }
}

TEST_F(EpochMetrics, Refusals) {
  const auto refused = [](EpochMetric kind, const std::function<void(Scored&)>& change) {
    Scored scored = Scored(9, {4, 3, 2}, 5, kind).to(at::kFloat);
    change(scored);
    return refusal([&] { scored.measured(kind); });
  };
  const std::string op = "qw::epoch_metrics: ", on = " on " + test::device_name();
  EXPECT_EQ(refused(EpochMetric::kR2, [](Scored& s) { s.scores = s.scores.slice(1, 5); }),
            op + "scores must be [N, C] with a column at least, got [9, 0]");
  EXPECT_EQ(refused(EpochMetric::kR2, [](Scored& s) { s.scores = s.scores.to(at::kInt); }),
            op + "scores must be float32 or float64, got Int");
  EXPECT_EQ(refused(EpochMetric::kR2, [](Scored& s) { s.shift = s.shift.slice(1, 1); }),
            op + "shift must be [9, 5] or [0] of Float" + on + ", got [9, 4] of Float" + on);
  EXPECT_EQ(refused(EpochMetric::kR2, [](Scored& s) { s.parts[1].nodes = s.parts[1].nodes.to(at::kLong); }),
            op + "val nodes must be one contiguous row of Int, got Long [3]");
  EXPECT_EQ(refused(EpochMetric::kAccuracy, [](Scored& s) { s.parts[2].classes = none(at::kLong); }),
            op + "test classes must be one contiguous row of Int, got Long [0]");
  EXPECT_EQ(refused(EpochMetric::kAccuracy, [](Scored& s) { s.parts[0].classes = none(at::kInt); }),
            op + "4 train nodes need as many classes, got 0");
  EXPECT_EQ(refused(EpochMetric::kMacroF1, [](Scored& s) { s.parts[0].targets = none(at::kFloat); }),
            op + "train targets must be [4, 5] of Float" + on + ", got [0] of Float" + on);
}

// A training whose losses are known beforehand, here and by the rules of Trainer.
struct Training {
  EpochRule rule;
  int64_t first_row = 0;
  at::Tensor history, state = epoch_state_tensor({}, test::device());
  at::Tensor metrics = at::rand({3}, at::kDouble);
  StepClock clock{test::device()};
  std::vector<double> scores;  // of what decides, the lower the better
  std::vector<at::Tensor> expected_rows;
  EpochState expected;

  Training(const EpochRule& given, int64_t rows) : rule(given), history(at::zeros({rows, 5}, at::kDouble)) {}

  void end(double loss, double val_loss) {
    epoch_end_(history, state, {number(loss), number(val_loss), none(at::kDouble), 1, metrics}, rule,
               clock.counts(), {1, 2, 3}, first_row);
  }

  bool should_stop(int64_t epoch) const {
    if (epoch + 1 >= rule.epochs) return true;
    if (rule.patience == 0 || epoch <= rule.patience || rule.keeps_last) return false;
    const auto now = scores.begin() + epoch;
    return *now > std::accumulate(now - rule.patience, now, 0.0) / static_cast<double>(rule.patience);
  }

  void expect_end(double val_loss) {
    if (rule.by_metric) metrics = at::rand({3}, at::kDouble);
    const double score = rule.by_metric ? -metrics[1].item<double>() : val_loss;
    end(2 * val_loss, val_loss);
    expected.counted = !expected.stopped;
    expected.better = false;
    if (!expected.stopped) {
      expected_rows.push_back(at::cat({at::tensor({2 * val_loss, val_loss}, at::kDouble), metrics}));
      scores.push_back(score);
      expected.better = expected.best_epoch < 0 || rule.keeps_last || score < expected.best_score;
      if (expected.better) {
        expected.best_epoch = expected.epochs;
        expected.best_score = score;
      }
      expected.stopped = should_stop(expected.epochs++);
    }
    expect_state();
  }

  void expect_state() const {
    const EpochState found = read_epoch_state(state);
    EXPECT_EQ(found.epochs, expected.epochs);
    EXPECT_EQ(found.counted, expected.counted) << expected.epochs;
    EXPECT_EQ(found.better, expected.better) << expected.epochs;
    EXPECT_EQ(found.stopped, expected.stopped) << expected.epochs;
    EXPECT_EQ(found.broken, expected.broken) << expected.epochs;
    EXPECT_EQ(found.best_epoch, expected.best_epoch);
    EXPECT_EQ(found.best_score, expected.best_score);
  }
};

TEST_F(EpochEnd, DecidesAsTheTrainerDoes) {
  for (const int64_t patience : {0, 1, 5, 31, 32, 40, 100}) {
    for (const auto& [keeps_last, by_metric] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      SCOPED_TRACE(testing::Message() << patience << keeps_last << by_metric);
      at::manual_seed(patience);
      Training training({160, patience, keeps_last, by_metric}, 160);
      const std::vector<double> noise = numbers_of(at::rand({170}, at::kDouble));
      for (size_t epoch = 0; epoch < noise.size(); ++epoch) {  // falls, then rises
        const double x = static_cast<double>(epoch) / 100 - 1;
        training.expect_end(x * x + 0.2 * noise[epoch]);
      }
      EXPECT_TRUE(training.expected.stopped);
      const int64_t epochs = training.expected.epochs;
      EXPECT_TRUE(patience == 0 || keeps_last || epochs < 160) << epochs;
      EXPECT_TRUE(at::equal(training.history.slice(0, 0, epochs), at::stack(training.expected_rows)));
      EXPECT_EQ(training.history.slice(0, epochs).abs().sum().item<double>(), 0.0);
      EXPECT_TRUE(at::equal(training.clock.counts(), epochs * at::tensor({1, 2, 3}, at::kLong)));
    }
  }
}

TEST_F(EpochEnd, GoesOnWhereAStateLeftOff) {
  Training all({100, 4}, 100);
  for (int epoch = 0; epoch < 6; ++epoch) all.expect_end(1.0 / (1 + epoch));
  Training rest({100, 4}, 98);
  rest.first_row = 2;
  rest.metrics = all.metrics;
  rest.expected = read_epoch_state(all.state);
  rest.state = epoch_state_tensor(rest.expected, test::device());
  rest.expect_state();
  rest.history.slice(0, 0, 4).copy_(all.history.slice(0, 2, 6));
  rest.scores = all.scores;
  for (const double val_loss : {0.15, 0.16, 0.14, 0.3, 0.1}) {
    all.expect_end(val_loss);
    rest.expect_end(val_loss);
  }
  EXPECT_TRUE(rest.expected.stopped);
  EXPECT_EQ(rest.expected.epochs, 10);
  EXPECT_TRUE(at::equal(rest.history.slice(0, 0, 8), all.history.slice(0, 2, 10)));
}

TEST_F(EpochEnd, ValidationLossesAreRoundedTwice) {
  Training training({10, 0}, 10);
  const double cost = 1.0 / 3, lambda = 1.0 / 7, divergence = 0.1, loss = 0.7;
  const volatile double product = lambda * divergence;  // never fused with the sum
  epoch_end_(training.history, training.state,
             {number(loss), number(divergence), number(cost), lambda, training.metrics}, training.rule,
             none(at::kLong), {1, 1, 1});
  const std::vector<double> row = numbers_of(training.history.slice(1, 0, 2));
  EXPECT_EQ(row[0], loss);
  EXPECT_EQ(row[1], cost + product);
}

TEST_F(EpochEnd, ClocksAreAdvanced) {
  const at::Tensor counts = at::zeros({3}, at::kLong);
  advance_(counts, {1, 2, 3});
  advance_(counts, {1, 0, 5});
  EXPECT_TRUE(at::equal(counts.cpu(), ::at::tensor({2, 2, 8}, at::kLong)));
  EXPECT_EQ(refusal([&] {
              advance_(counts.slice(0, 1), {1, 1, 1});
            }),
            "qw::advance_: counts must be [3] of Long, contiguous, got [2] of Long");
}

TEST_F(EpochEnd, ALossThatIsNotFiniteEndsTheTraining) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [loss, val_loss] : {std::pair{std::nan(""), 0.1}, {0.1, infinity}, {-infinity, 0.1}}) {
    for (const bool keeps_last : {false, true}) {
      Training training({100, 0, keeps_last}, 100);
      training.expect_end(1.0);
      training.end(loss, val_loss);
      training.expected = {2, true, false, true, true, 0, 1.0};
      training.expect_state();
      EXPECT_TRUE(
          same_numbers(training.history[1].slice(0, 0, 2), at::tensor({loss, val_loss}, at::kDouble)));
      training.end(0.5, 0.5);
      training.expected.counted = false;
      training.expect_state();
      EXPECT_EQ(training.history[2].abs().sum().item<double>(), 0.0);
    }
  }
}

TEST_F(EpochEnd, WithoutARowThereIsNoEpoch) {
  Training training({100, 0}, 2);
  training.expect_end(2.0);
  training.expect_end(1.0);
  training.end(0.5, 0.5);
  training.expected = {2, false, false, true, false, 1, 1.0};
  training.expect_state();
  EXPECT_TRUE(at::equal(training.clock.counts(), at::tensor({2, 4, 6}, at::kLong)));
}

TEST_F(EpochEnd, Refusals) {
  struct Call {
    at::Tensor history = at::zeros({4, 5}, at::kDouble), state = epoch_state_tensor({}, test::device());
    EpochResult result{number(1), number(1), none(at::kDouble), 1, at::zeros({3}, at::kDouble)};
    EpochRule rule{10, 2};
    at::Tensor counts = at::zeros({3}, at::kLong);
  };
  const auto refused = [](const std::function<void(Call&)>& change) {
    Call call;
    change(call);
    return refusal([&] {
      epoch_end_(call.history, call.state, call.result, call.rule, call.counts, {1, 1, 1});
    });
  };
  const std::string op = "qw::epoch_end_: ", on = "on " + test::device_name();
  EXPECT_EQ(refused([](Call&) {}), "not refused");
  EXPECT_EQ(refused([](Call& c) { c.state = c.history[0]; }),
            op + "state must be [7] of Double, contiguous, " + on + ", got [5] of Double " + on);
  EXPECT_EQ(refused([](Call& c) { c.history = c.history.t(); }),
            op + "history must be [5, 5] of Double, contiguous, " + on + ", got [5, 4] of Double " + on);
  EXPECT_EQ(refused([](Call& c) { c.history = c.history.view(-1); }),
            op + "history must be [rows, 5], got [20]");
  EXPECT_EQ(refused([](Call& c) { c.result.loss = c.result.loss.to(at::kFloat); }),
            op + "loss must be [] of Double, contiguous, " + on + ", got [] of Float " + on);
  EXPECT_EQ(refused([](Call& c) { c.result.flow_cost = c.result.metrics; }),
            op + "flow_cost must be [] of Double, contiguous, " + on + ", got [3] of Double " + on);
  EXPECT_EQ(refused([](Call& c) { c.rule.patience = -1; }),
            op + "epochs, patience and first_row must not be negative, got 10, -1 and 0");
  EXPECT_EQ(refused([](Call& c) { c.counts = c.counts.slice(0, 1); }),
            op + "counts must be [3] or [0] of Long, contiguous, " + on + ", got [2] of Long " + on);
}

at::Tensor state_with(bool better) {
  EpochState state;
  state.better = better;
  return epoch_state_tensor(state, test::device());
}

TEST_F(KeepIf, CopiesAllOrNothing) {
  std::vector<at::Tensor> sources, targets;
  for (int64_t i = 0; i < 37; ++i) {
    const at::ScalarType type = i % 3 == 0 ? at::kDouble : i % 3 == 1 ? at::kFloat : at::kChar;
    const int64_t size = i == 5 ? 0 : i * i * i;
    const at::Tensor source = at::randint(-100, 100, {size + i % 5}, type);
    sources.push_back(source.slice(0, i % 5));  // at addresses that fit 16 bytes, 4 or only one
    targets.push_back(at::zeros({size + i % 7}, type).slice(0, i % 7));
  }
  sources.push_back(at::randn({40, 30}).t());
  targets.push_back(at::zeros({30, 40}));
  sources.push_back(number(7));
  targets.push_back(number(0));
  keep_if_(state_with(false), EpochFlag::kBetter, sources, targets);
  keep_if_(state_with(true), EpochFlag::kStopped, sources, targets);
  for (const at::Tensor& target : targets) EXPECT_EQ(target.abs().sum().item<double>(), 0.0);
  keep_if_(state_with(true), EpochFlag::kBetter, sources, targets);
  for (size_t i = 0; i < targets.size(); ++i) EXPECT_TRUE(at::equal(targets[i], sources[i])) << i;
  keep_if_(state_with(true), EpochFlag::kBetter, {}, {});
}

TEST_F(KeepIf, LeavesWhatIsBesideAlone) {
  const at::Tensor source = at::arange(1, 20000, at::kFloat), around = at::zeros({20003});
  keep_if_(state_with(true), EpochFlag::kBetter, {source}, {around.slice(0, 1, 20000)});
  EXPECT_TRUE(at::equal(around.slice(0, 1, 20000), source));
  EXPECT_EQ(around[0].item<float>(), 0.0f);
  EXPECT_EQ(around.slice(0, 20000).abs().sum().item<float>(), 0.0f);
}

TEST_F(KeepIf, Refusals) {
  const at::Tensor state = state_with(true), matrix = at::ones({3, 2});
  const auto refused = [&](const std::vector<at::Tensor>& sources, const std::vector<at::Tensor>& targets) {
    return refusal([&] { keep_if_(state, EpochFlag::kBetter, sources, targets); });
  };
  const std::string op = "qw::keep_if_: ", on = "on " + test::device_name();
  EXPECT_EQ(refused({matrix}, {}), op + "1 sources need as many targets, got 0");
  EXPECT_EQ(refused({matrix}, {at::ones({2, 3})}),
            op + "target 0 must be [3, 2] of Float, contiguous, " + on + ", got [2, 3] of Float " + on);
  EXPECT_EQ(refused({matrix}, {at::ones({2, 3}).t()}),
            op + "target 0 must be [3, 2] of Float, contiguous, " + on + ", got [3, 2] of Float " + on);
}

}  // namespace
}  // namespace qw
