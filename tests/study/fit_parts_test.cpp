// The parts of fit_best: folds, what judges predictions, who speaks, and verdicts.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "qw/core/random.h"
#include "qw/report/paired.h"
#include "study/fit/finalists.h"
#include "study/fit/fit_scaling.h"
#include "study/fit/folds.h"
#include "study/fit/judge.h"
#include "study/fit/leakage.h"
#include "study/fit/portfolio.h"
#include "study/fit/selection.h"
#include "study/fit/verdicts.h"
#include "study/study.h"

namespace qw {
namespace {

Targets two_classes(int64_t nodes) {
  std::vector<int32_t> classes(nodes);
  for (int64_t i = 0; i < nodes; ++i) classes[i] = static_cast<int32_t>(i % 2);
  return class_targets(classes);
}

std::vector<NodeId> first_nodes(int64_t count) {
  std::vector<NodeId> nodes(count);
  for (int64_t i = 0; i < count; ++i) nodes[i] = static_cast<NodeId>(i);
  return nodes;
}

TEST(FitFolds, EveryNodeThatIsNotHeldOutValidatesOnce) {
  const Targets targets = two_classes(100);
  const Split given = stratified_split(targets, 3);
  const std::vector<Split> folds = make_folds(targets, given, 3);
  ASSERT_EQ(folds.size(), 4u);  // a quarter of what is not for test validates
  std::multiset<NodeId> validated;
  for (const Split& fold : folds) {
    EXPECT_EQ(fold.test, given.test);
    EXPECT_EQ(fold.train.size() + fold.val.size() + fold.test.size(), 100u);
    EXPECT_NO_THROW(check_split(fold, targets));
    validated.insert(fold.val.begin(), fold.val.end());
  }
  EXPECT_EQ(validated.size(), 80u);
  EXPECT_EQ(std::set<NodeId>(validated.begin(), validated.end()).size(), 80u);
}

TEST(FitFolds, ManyLabelsNeedOneFold) {
  const Targets targets = two_classes(40'000);
  const Split given = stratified_split(targets, 3);
  const std::vector<Split> folds = make_folds(targets, given, 3);
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_EQ(folds[0].val, given.val);
}

TEST(FitFolds, FewerLabelsAreAShareOfEveryClass) {
  std::vector<int32_t> classes(60);
  for (int i = 0; i < 60; ++i) classes[i] = i < 40 ? 0 : i < 59 ? 1 : 2;
  const Targets targets = class_targets(classes);
  const Split fold{first_nodes(60), {}, {}};
  const Split half = thinned(targets, fold, 0.5, 3), quarter = thinned(targets, fold, 0.25, 3);
  const auto count = [&](const Split& split, int32_t which) {
    return std::count_if(split.train.begin(), split.train.end(),
                         [&](NodeId node) { return targets.classes[node] == which; });
  };
  EXPECT_THAT((std::array{count(half, 0), count(half, 1), count(half, 2)}),
              ::testing::ElementsAre(20, 10, 1));
  EXPECT_THAT((std::array{count(quarter, 0), count(quarter, 1), count(quarter, 2)}),
              ::testing::ElementsAre(10, 5, 1));
  EXPECT_TRUE(
      std::includes(half.train.begin(), half.train.end(), quarter.train.begin(), quarter.train.end()));
  EXPECT_NE(half.train, thinned(targets, fold, 0.5, 4).train);
}

TEST(FitFolds, TooFewLabelsAreRefused) {
  EXPECT_THROW(make_folds(two_classes(10), {{0, 1}, {2}, {3}}, 1), Error);
}

TEST(FitJudge, ErrorsAddUpToWhatTheyMeasure) {
  const RandomStream random(5, 0);
  const Targets classes = two_classes(50);
  std::vector<double> probability;
  for (int i = 0; i < 50; ++i) {
    const double p = random.uniform(i);
    probability.insert(probability.end(), {p, 1 - p});
  }
  const Judge of_classes(classes, first_nodes(50), "auto");
  double wrong = 0;
  for (const double each : of_classes.errors(probability)) wrong += each / 50;
  EXPECT_NEAR(1 - wrong, of_classes.metric(probability), 1e-12);

  std::vector<double> truth, predicted;
  for (int i = 0; i < 40; ++i) {
    truth.push_back(random.normal(100 + i));
    predicted.push_back(truth.back() + 0.5 * random.normal(200 + i));
  }
  truth[7] = std::nan("");
  const Judge of_values(value_targets(truth), first_nodes(40), "auto");
  double error = 0;
  for (const double each : of_values.errors(predicted)) error += each / 39;
  EXPECT_NEAR(1 - error, of_values.metric(predicted), 1e-12);
  EXPECT_LT(Judge(value_targets(truth), first_nodes(40), "rmse").score(predicted), 0);  // less is better
}

TEST(FitJudge, EverySecondNode) {
  const Targets targets = two_classes(5);
  const Judge judge(targets, {0, 1, 2, 3, 4}, "auto");
  const std::vector<double> predicted{1, 0, 1, 0, 1, 0, 1, 0, 0, 1};  // node 4 is wrong, and 1 and 3
  EXPECT_THAT(judge.every(2).nodes(), ::testing::ElementsAre(0, 2, 4));
  EXPECT_NEAR(judge.every(2).metric(judge.every(2, predicted)), 2 / 3.0, 1e-12);
  EXPECT_NEAR(judge.metric(predicted), 2 / 5.0, 1e-12);
}

// Three that are right on different two thirds of the nodes are all right together.
TEST(FitSelection, VotesMakeUpForEachOther) {
  const Targets targets = two_classes(90);
  const Judge judge(targets, first_nodes(90), "auto");
  std::vector<std::vector<double>> predicted;
  for (int liar = 0; liar < 3; ++liar) {
    std::vector<double>& each = predicted.emplace_back();
    for (int i = 0; i < 90; ++i) {
      const double right = i % 3 == liar ? 0.4 : 0.9;
      each.insert(each.end(), {i % 2 == 0 ? right : 1 - right, i % 2 == 0 ? 1 - right : right});
    }
  }
  predicted.push_back(std::vector<double>(180, 0.5));
  const std::vector<double> weights = select_ensemble(judge, predicted);
  EXPECT_THAT(weights, ::testing::ElementsAre(1 / 3.0, 1 / 3.0, 1 / 3.0, 0.0));
  EXPECT_LT(best_alone(judge, predicted), 3u);
}

// The second and the third are far behind, and no vote of theirs is of use.
TEST(FitSelection, WhoIsFarBehindDoesNotSpeak) {
  const Judge judge(two_classes(30), first_nodes(30), "auto");
  std::vector<double> right, wrong;
  for (int i = 0; i < 30; ++i) {
    const double first = i % 2 == 0 ? 0.6 : 0.4;
    right.insert(right.end(), {first, 1 - first});
    wrong.insert(wrong.end(), {i % 2 == 0 ? 0.0 : 1.0, i % 2 == 0 ? 1.0 : 0.0});
  }
  const std::vector<double> weights = select_ensemble(judge, {wrong, right, wrong});
  EXPECT_THAT(weights, ::testing::ElementsAre(0.0, 1.0, 0.0));
}

TEST(FitSelection, OneCandidateSpeaksAlone) {
  const Judge judge(two_classes(4), first_nodes(4), "auto");
  EXPECT_THAT(select_ensemble(judge, {{1, 0, 0, 1, 1, 0, 0, 1}}), ::testing::ElementsAre(1.0));
}

Candidate named(const std::string& family, Variant variant = Variant::kPlain, int64_t number = 0) {
  return {family, variant, {{"model", family}, {"hidden", number}}, 0};
}

// Candidates that guess: the share of right ones is given for those with edges and for those without.
std::vector<FitVerdict> verdicts_of_guesses(uint64_t seed, double with, double without) {
  constexpr int kNodes = 400, kEach = 10;
  const Judge judge(two_classes(kNodes), first_nodes(kNodes), "auto");
  std::vector<Candidate> candidates;
  for (int k = 0; k < kEach; ++k) {
    candidates.push_back(named("gcn", Variant::kPlain, k));
    candidates.push_back(named("mlp", Variant::kPlain, k));
  }
  std::vector<JudgedCandidate> judged;
  for (size_t k = 0; k < candidates.size(); ++k) {
    const RandomStream random(seed, k);
    std::vector<double> predicted;
    for (int i = 0; i < kNodes; ++i) {
      const bool right = random.uniform(i) < (candidates[k].family == "gcn" ? with : without);
      const double first = (i % 2 == 0) == right ? 1 : 0;
      predicted.insert(predicted.end(), {first, 1 - first});
    }
    judged.push_back({&candidates[k], predicted});
  }
  std::vector<int> group(kNodes);
  for (int i = 0; i < kNodes; ++i) group[i] = i % 4;
  return make_verdicts(judge, group, judged);
}

TEST(FitVerdicts, AreNotFooledByTheLuckOfTheBest) {
  int wrong = 0, found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    wrong += verdicts_of_guesses(seed, 0.7, 0.7).at(0).answer == "yes";
    found += verdicts_of_guesses(seed, 0.9, 0.7).at(0).answer == "yes";
  }
  EXPECT_LE(wrong, 5);
  EXPECT_GE(found, 95);
}

// [2 * nodes]: probabilities of the classes of two_classes(), all right or all wrong.
std::vector<double> says_all(int nodes, bool right) {
  std::vector<double> predicted;
  for (int i = 0; i < nodes; ++i) {
    const double first = (i % 2 == 0) == right ? 1 : 0;
    predicted.insert(predicted.end(), {first, 1 - first});
  }
  return predicted;
}

std::vector<int> two_groups(int nodes) {
  std::vector<int> group(nodes);
  for (int i = 0; i < nodes; ++i) group[i] = i % 2;
  return group;
}

TEST(FitVerdicts, AFewNodesThatAgreeProveNothing) {
  const Candidate gcn = named("gcn"), mlp = named("mlp");
  for (const auto& [nodes, answer] : {std::pair{30, "undecided"}, std::pair{2000, "no"}}) {
    const Judge judge(two_classes(nodes), first_nodes(nodes), "auto");
    const std::vector<double> same = says_all(nodes, true);
    const FitVerdict verdict = make_verdicts(judge, two_groups(nodes), {{&gcn, same}, {&mlp, same}}).at(0);
    EXPECT_EQ(verdict.answer, answer);
    EXPECT_EQ(verdict.difference, 0);
    // Half a node in each cell: variance 1 / (n + 2)^2, widened by two groups.
    EXPECT_NEAR(verdict.half_width, student_t(0.95, nodes - 1) / (nodes + 1.5) * std::sqrt(3), 1e-3 / nodes);
  }
}

TEST(FitVerdicts, FeaturesMadeFromTheGraphAreNoAnswer) {
  const Judge judge(two_classes(40), first_nodes(40), "auto");
  const Candidate gcn = named("gcn"), linear = named("linear"), spread = named("label-propagation");
  const std::vector<double> right = says_all(40, true), wrong = says_all(40, false);
  const auto asked = [&](bool made, int64_t columns) {
    Dataset data;
    data.made_features = made;
    data.features.columns = columns;
    std::vector<std::string> questions;
    for (const FitVerdict& verdict : make_verdicts(
             judge, two_groups(40), {{&gcn, right}, {&linear, right}, {&spread, wrong}}, questions_for(data)))
      questions.push_back(verdict.question);
    return questions;
  };
  const std::string graph = "does the graph help?", features = "do the features help?";
  EXPECT_THAT(asked(false, 3), ::testing::ElementsAre(graph, features));
  EXPECT_THAT(asked(true, 3), ::testing::ElementsAre());
  EXPECT_THAT(asked(true, 1), ::testing::ElementsAre(graph));  // a column of ones
}

TEST(FitFinalists, SidesOfQuestionsAreJudgedHoweverFarBehind) {
  std::vector<Candidate> all;
  for (int k = 0; k < 40; ++k) all.push_back(named("gcn", Variant::kPlain, k));
  all.push_back(named("gat", Variant::kQw, 7));                // 40
  all.push_back(named("linear"));                              // 41
  all.push_back(named("gat", Variant::kPlain, 8));             // 42: stands for nothing
  all.push_back(named("mlp"));                                 // 43
  all.push_back(named("mlp", Variant::kPlain, 1));             // 44: the third without edges
  all.push_back(named("gat", Variant::kPlain, 7));             // 45: beside 40
  all.push_back(named("label-propagation"));                   // 46
  all.push_back(named("gcn", Variant::kCorrectAndSmooth, 3));  // 47
  std::vector<const Candidate*> best_first;
  for (const Candidate& each : all) best_first.push_back(&each);
  std::vector<size_t> expected(30);
  std::iota(expected.begin(), expected.end(), size_t{0});
  expected.insert(expected.end(), {40, 41, 43, 45, 46, 47});
  EXPECT_EQ(judged_places(best_first), expected);
}

TEST(FitVerdicts, ComparesTheSameNetworkWithAndWithout) {
  const Judge judge(two_classes(40), first_nodes(40), "auto");
  const std::vector<Candidate> candidates{named("gcn", Variant::kQw, 1), named("gcn", Variant::kPlain, 1),
                                          named("gcn", Variant::kPlain, 2)};
  const std::vector<double> right = says_all(40, true), wrong = says_all(40, false);
  const std::vector<FitVerdict> verdicts = make_verdicts(
      judge, two_groups(40), {{&candidates[0], right}, {&candidates[1], wrong}, {&candidates[2], right}});
  ASSERT_EQ(verdicts.size(), 1u);  // nobody goes without edges or without features
  EXPECT_EQ(verdicts[0].question, "does QW help?");
  EXPECT_EQ(verdicts[0].answer, "yes");
  EXPECT_EQ(verdicts[0].difference, 1);
}

// It might have won with more time; that it won with less counts.
TEST(FitVerdicts, WhoWasCutOffCannotLose) {
  const Judge judge(two_classes(2000), first_nodes(2000), "auto");
  const Candidate gcn = named("gcn"), mlp = named("mlp");
  const std::vector<double> right = says_all(2000, true), wrong = says_all(2000, false);
  const auto verdict = [&](const JudgedCandidate& with, const JudgedCandidate& without) {
    return make_verdicts(judge, two_groups(2000), {with, without}).at(0);
  };
  EXPECT_EQ(verdict({&gcn, wrong, true}, {&mlp, right}).answer, "undecided");
  EXPECT_EQ(verdict({&gcn, wrong, true}, {&mlp, right}).candidate, gcn.name() + ", cut off");
  EXPECT_EQ(verdict({&gcn, right, true}, {&mlp, wrong}).answer, "yes");
  EXPECT_EQ(verdict({&gcn, right}, {&mlp, wrong, true}).answer, "undecided");
  EXPECT_EQ(verdict({&gcn, wrong}, {&mlp, right, true}).answer, "no");
}

Split all_but(int64_t nodes, int64_t test) {
  Split split;
  for (NodeId node = 0; node < nodes; ++node)
    (node < nodes - test ? split.train : split.test).push_back(node);
  return split;
}

TEST(FitLeakage, FeaturesThatGiveTheLabelAwayAreNamed) {
  Dataset data = test::tiny_data();
  const RandomStream random(3, 0);
  std::vector<float> rows;
  for (int i = 0; i < 45; ++i) {
    rows.push_back(static_cast<float>(random.normal(i)));
    rows.push_back(static_cast<float>(7 * (data.targets.classes[i] == 1) + 1));  // one class
    rows.push_back(static_cast<float>(data.targets.classes[i] + random.normal(100 + i)));
  }
  data.features = features_from_dense(45, 3, rows);
  data.features.names = {"noise", "made", "helps"};
  const std::vector<std::string> warnings = leakage_warnings(data, all_but(45, 5));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("feature 'made' alone tells class "));
  std::vector<double> values;
  for (int i = 0; i < 45; ++i) values.push_back(3 * rows[3 * i] + 1e-3 * random.normal(200 + i));
  data.targets = value_targets(values);
  ASSERT_EQ(leakage_warnings(data, all_but(45, 5)).size(), 1u);
  EXPECT_THAT(leakage_warnings(data, all_but(45, 5))[0],
              ::testing::HasSubstr("feature 'noise' is nearly the value itself"));
}

TEST(FitLeakage, ANumberThatSeparatesTheClassesIsNamed) {
  Dataset data = test::tiny_data();
  const RandomStream random(3, 0);
  std::vector<float> rows;
  for (int i = 0; i < 45; ++i)
    rows.push_back(static_cast<float>((data.targets.classes[i] == 0 ? 7 : 0) + 0.1 * random.uniform(i)));
  data.features = features_from_dense(45, 1, rows);
  data.features.names = {"made"};
  ASSERT_EQ(leakage_warnings(data, all_but(45, 5)).size(), 1u);
}

TEST(FitLeakage, NothingIsSaidOfHonestData) {
  const Dataset data = test::tiny_data();
  EXPECT_THAT(leakage_warnings(data, all_but(45, 10)), ::testing::IsEmpty());
}

TEST(FitLeakage, CopiesAmongTestNodesAreCounted) {
  // Nodes 0 and 1 lead to nodes 2 .. 9, all of which are the same.
  std::vector<NodeId> from, to;
  for (NodeId node = 2; node < 10; ++node) {
    for (const NodeId hub : {0, 1}) {
      from.push_back(node);
      to.push_back(hub);
    }
  }
  Dataset data;
  data.graph = Graph::build({10, from, to, {}, {}});
  data.features = features_from_dense(10, 1, std::vector<float>(10, 1));
  data.targets = class_targets({1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<std::string> warnings = leakage_warnings(data, all_but(10, 3));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], ::testing::StartsWith("3 of 3 test nodes are copies"));
  data.made_features = true;  // twins in the graph have the same, whatever they are
  EXPECT_THAT(leakage_warnings(data, all_but(10, 3)), ::testing::IsEmpty());
}

TEST(FitPortfolio, HasEveryFamilyAndDrawsTheSameSamplesAgain) {
  const Dataset data = test::tiny_data();
  const Portfolio portfolio(data, first_nodes(45), 7), again(data, first_nodes(45), 7);
  std::set<std::string> families;
  for (const Candidate& candidate : portfolio.first()) {
    families.insert(candidate.family);
    TrainRequest request;
    EXPECT_NO_THROW(set_options(request, candidate.options, "")) << candidate.name();
  }
  EXPECT_EQ(families.size(), 10u);
  for (const std::string& family : families) {
    for (int64_t number = 0; number < 8; ++number) {
      const auto sampled = portfolio.sample(family, number);
      EXPECT_EQ(sampled, again.sample(family, number));
      TrainRequest request;
      if (!sampled) continue;
      EXPECT_NO_THROW(set_options(request, sampled->options, "")) << sampled->name();
    }
  }
  EXPECT_FALSE(portfolio.sample("label-propagation", 1000));
}

// Small features are learned slowly; GIN adds up neighbours.
TEST(FitPortfolio, StartsWithTheRateThatItIsGiven) {
  const Dataset data = test::tiny_data();
  const Portfolio portfolio(data, first_nodes(45), 7, kHighRate);
  for (const Candidate& candidate : portfolio.first()) {
    if (candidate.family == "label-propagation") continue;
    TrainRequest request;
    set_options(request, candidate.options, "");
    EXPECT_EQ(request.learn.lr, candidate.family == "gin" ? kUsualRate : kHighRate) << candidate.name();
  }
  bool other = false;
  for (int64_t number = 0; number < 20; ++number) {
    const auto sampled = portfolio.sample("gcn", number);
    other = other || (sampled && sampled->options.at("lr") == kUsualRate);
  }
  EXPECT_TRUE(other);
}

// Rows that add up to 1 are the paper's preprocessing, which a fit does not take from its graphs.
TEST(FitScaling, IsThatOfAnybodysData) {
  Dataset data = test::tiny_data();
  data.format = "csv";
  const FeatureScaling anybodys("auto", data);
  data.of_paper = true;
  EXPECT_EQ(FeatureScaling("auto", data).kind(), "rows");
  const FeatureScaling scaling = scaling_for_fit(data, "auto");
  EXPECT_EQ(scaling.kind(), anybodys.kind());
  EXPECT_EQ(scaling.mean(), anybodys.mean());
  EXPECT_EQ(scaling.factor(), anybodys.factor());
  EXPECT_EQ(scaling_for_fit(data, "rows").kind(), "rows");
}

TEST(FitScaling, SmallFeaturesWantAHighRate) {
  Dataset data = test::tiny_data();
  const FeatureScaling none("none", data);
  data.features = features_from_dense(4, 2, {1, -1, 1, 1, -1, 1, 1, 1});  // mean square 1
  EXPECT_EQ(rate_for(data, none), kUsualRate);
  for (float& value : data.features.dense) value *= 0.3f;  // 0.09
  EXPECT_EQ(rate_for(data, none), kHighRate);
  data.targets.task = Task::kRegression;
  EXPECT_EQ(rate_for(data, none), kUsualRate);
}

// All that is tried can be asked of a training, of every task.
TEST(FitPortfolio, OptionsAreThoseOfTheTask) {
  for (const Task task : {Task::kClassification, Task::kMultiLabel, Task::kRegression}) {
    Dataset data = test::tiny_data();
    data.targets.task = task;
    if (task != Task::kClassification) {
      data.targets.values.assign(45, 1.0);
      data.targets.width = 1;
      data.targets.classes.clear();
    }
    const Portfolio portfolio(data, first_nodes(45), 7);
    std::vector<Candidate> all = portfolio.first();
    for (const Candidate& candidate : portfolio.first()) {
      for (int64_t number = 0; number < 20; ++number) {
        if (auto sampled = portfolio.sample(candidate.family, number)) all.push_back(*sampled);
      }
    }
    const std::vector<Candidate> proven = portfolio.proven();
    all.insert(all.end(), proven.begin(), proven.end());
    for (const Candidate& candidate : all) {
      TrainRequest request;
      EXPECT_NO_THROW(set_options(request, candidate.options, "")) << candidate.name();
      EXPECT_FALSE(request.learn.balanced && task != Task::kClassification) << candidate.name();
    }
  }
}

TEST(FitPortfolio, EveryVariantIsOfItsPlainNetwork) {
  const Dataset data = test::tiny_data();
  const Portfolio portfolio(data, first_nodes(45), 7);
  size_t variants = 0;
  for (const Candidate& plain : portfolio.first()) {
    if (plain.variant != Variant::kPlain) continue;
    std::set<std::string> names{plain.name()};
    for (const Candidate& variant : portfolio.variants_of(plain)) {
      EXPECT_TRUE(names.insert(variant.name()).second) << variant.name();
      EXPECT_TRUE(is_same_network(variant, plain)) << variant.name();
      EXPECT_EQ(portfolio.plain_of(variant), plain) << variant.name();
      TrainRequest request;
      EXPECT_NO_THROW(set_options(request, variant.options, "")) << variant.name();
      ++variants;
    }
  }
  EXPECT_GT(variants, 30u);
}

}  // namespace
}  // namespace qw
