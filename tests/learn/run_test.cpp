// Trainings in folders: what they leave there, and going on after an interruption.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/manifest.h"
#include "learn/problem.h"
#include "learn/reloaded_predictions.h"
#include "learn/run_files.h"
#include "learn/small_training.h"
#include "nn/tensor_file.h"
#include "qw/learn/ensemble.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::data_with_values;
using test::expect_same_metrics;
using test::small_data;
using test::small_request;

void expect_same_result(const RunResult& actual, const RunResult& expected) {
  EXPECT_EQ(actual.seed, expected.seed);
  EXPECT_EQ(actual.epochs, expected.epochs);
  EXPECT_EQ(actual.best_epoch, expected.best_epoch);
  expect_same_metrics(actual.train, expected.train);
  expect_same_metrics(actual.val, expected.val);
  expect_same_metrics(actual.test, expected.test);
  ASSERT_EQ(actual.classes.size(), expected.classes.size());
  for (size_t c = 0; c < expected.classes.size(); ++c) {
    EXPECT_EQ(actual.classes[c].name, expected.classes[c].name);
    EXPECT_EQ(actual.classes[c].f1, expected.classes[c].f1);
  }
  ASSERT_EQ(actual.flow.has_value(), expected.flow.has_value());
  if (expected.flow) {
    EXPECT_EQ(actual.flow->l1, expected.flow->l1);
    EXPECT_EQ(actual.flow->nonzeros, expected.flow->nonzeros);
    EXPECT_EQ(actual.flow->violation, expected.flow->violation);
    EXPECT_EQ(actual.flow->quantiles, expected.flow->quantiles);
    EXPECT_EQ(actual.flow->histogram.limit, expected.flow->histogram.limit);
    EXPECT_EQ(actual.flow->histogram.counts, expected.flow->histogram.counts);
  }
  EXPECT_EQ(actual.scaling.mean(), expected.scaling.mean());
}

constexpr const char* kFilesOfRun[] = {"metrics.jsonl",    "model.safetensors", "model.json",
                                       "flow.safetensors", "predictions.csv",   "summary.json"};

void expect_same_files(const fs::path& actual, const fs::path& expected) {
  for (const char* name : kFilesOfRun) {
    EXPECT_EQ(read_file(actual / name), read_file(expected / name)) << name;
  }
}

TEST(Run, LeavesItsFilesAndIsDoneOnce) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainRequest request = small_request();
  request.runs = 2;
  const std::vector<RunResult> first = train(data, request, folder.path());
  for (const char* run : {"run-0", "run-1"}) {
    for (const char* name : kFilesOfRun) EXPECT_TRUE(fs::exists(folder.path() / run / name)) << name;
    EXPECT_FALSE(fs::exists(folder.path() / run / "checkpoint.safetensors"));
  }
  const auto config = nlohmann::ordered_json::parse(read_file(folder.path() / "config.json"));
  EXPECT_EQ(to_json(request_from_json(config, "config.json")), to_json(request));
  const auto summary = nlohmann::ordered_json::parse(read_file(folder.path() / "summary.json"));
  EXPECT_EQ(summary.at("test").at("accuracy").at("runs").at(1), first[1].test[0].second);
  EXPECT_EQ(summary.at("seeds"), (std::vector<int>{5, 6}));
  EXPECT_EQ(summary.at("flow").size(), 2u);
  int64_t epochs = 0;
  const std::vector<RunResult> second =
      train(data, request, folder.path(), [&](const TrainProgress&) { return ++epochs > 0; });
  EXPECT_EQ(epochs, 0);
  for (int run = 0; run < 2; ++run) expect_same_result(second[run], first[run]);
  EXPECT_EQ(second[0].step_ms, 0.0);
}

TEST(Run, SummariesOfFlowsWithoutAHistogramAreStillRead) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainRequest request = small_request();
  RunResult expected = train(data, request, folder.path())[0];
  EXPECT_EQ(expected.flow->histogram.counts.size(), static_cast<size_t>(FlowHistogram::kBins));
  auto summary = nlohmann::ordered_json::parse(read_file(folder.path() / "run-0/summary.json"));
  EXPECT_EQ(summary.at("flow").at("histogram").at("limit"), expected.flow->histogram.limit);
  summary.at("flow").erase("histogram");
  folder.write("run-0/summary.json", summary.dump());
  Manifest manifest = Manifest::read(folder.path() / "run-0");
  manifest.add("summary.json");
  manifest.write();
  expected.flow->histogram = {};
  expect_same_result(train(data, request, folder.path())[0], expected);
}

TEST(Run, AloneInParallelOrInMemoryGivesTheSame) {
  const Dataset data = small_data();
  TrainRequest request = small_request();
  request.runs = 3;
  const test::TemporaryFolder together, one_thread;
  std::vector<RunResult> results;
  {
    const test::ScopedThreads threads(3);
    results = train(data, request, together.path());
  }
  {
    const test::ScopedThreads threads(1);
    train(data, request, one_thread.path());
  }
  request.runs = 1;
  for (int run = 0; run < 3; ++run) {
    request.seed = 5 + run;
    const test::TemporaryFolder alone;
    const std::vector<RunResult> single = train(data, request, alone.path());
    expect_same_result(single[0], results[run]);
    expect_same_result(train(data, request, {})[0], results[run]);
    const fs::path name = "run-" + std::to_string(run);
    expect_same_files(one_thread.path() / name, together.path() / name);
    EXPECT_EQ(read_file(alone.path() / "run-0/predictions.csv"),
              read_file(together.path() / name / "predictions.csv"));
  }
}

struct Interrupted {};

TEST(Run, GoesOnAfterAnInterruptionAsIfThereWasNone) {
  for (const char* solver : {"bregman", "badmm", "proximal"}) {
    const Dataset data = data_with_values();
    const TrainRequest request = small_request(solver);
    const test::TemporaryFolder whole, part;
    const std::vector<RunResult> expected = train(data, request, whole.path());
    EXPECT_THROW(train(data, request, part.path(),
                       [](const TrainProgress& progress) {
                         if (progress.record.epoch == 6) throw Interrupted();
                         return true;
                       }),
                 Interrupted);
    EXPECT_TRUE(fs::exists(part.path() / "run-0/checkpoint.safetensors"));
    int64_t first = -1;
    const std::vector<RunResult> results =
        train(data, request, part.path(), [&](const TrainProgress& progress) {
          if (first < 0) first = progress.record.epoch;
          return true;
        });
    EXPECT_EQ(first, 6);
    expect_same_result(results[0], expected[0]);
    expect_same_files(part.path() / "run-0", whole.path() / "run-0");
  }
}

TEST(Run, ProgressHasAllEpochsOfARunAndItsLast) {
  const test::TemporaryFolder folder;
  const Dataset data = data_with_values();
  TrainRequest request = small_request("ce");
  request.runs = 2;
  EXPECT_THROW(train(data, request, folder.path(),
                     [](const TrainProgress& progress) { return progress.record.epoch < 5; }),
               TrainingStopped);
  std::map<int64_t, int64_t> last;
  const std::vector<RunResult> results =
      train(data, request, folder.path(), [&](const TrainProgress& progress) {
        const std::span<const EpochRecord> history = progress.history;
        EXPECT_EQ(history.size(), static_cast<size_t>(progress.record.epoch) + 1)
            << "also of the first process";
        for (size_t k = 0; k < history.size(); ++k) EXPECT_EQ(history[k].epoch, static_cast<int64_t>(k));
        EXPECT_EQ(history.back().loss, progress.record.loss);
        EXPECT_FALSE(last.contains(progress.run)) << "it was told that no epoch follows";
        if (progress.is_last) last[progress.run] = progress.record.epoch;
        return true;
      });
  for (const RunResult& result : results) EXPECT_EQ(last.at(result.run) + 1, result.epochs);
}

TEST(Run, OutOfMemorySaysWhatWouldFit) {
  if (!test::device().is_cuda())
    GTEST_SKIP() << "no CUDA device: the memory of a CPU is not to be filled by a test";
  const Dataset data = generate("csbm:nodes=300000,degree=4,features=4,classes=3,seed=1");
  TrainRequest request = small_request("ce");
  request.split = "published";
  request.model_options.hidden = 1'000'000;
  const auto says_what_would_fit =
      testing::AllOf(testing::StartsWith("out of memory on cuda: needs about "),
                     testing::HasSubstr("would fit: "), testing::HasSubstr("--hidden"));
  EXPECT_THAT(test::error_of([&] { train(data, request, {}); }), says_what_would_fit);
  TrainingFeed feed;  // as of a sweep
  feed.take = [&](int64_t) { return std::vector<Training>{{request, 0}}; };
  EXPECT_THAT(test::error_of([&] { train_all(data, "cuda", request.scale_features, feed); }),
              says_what_would_fit);
}

TEST(Run, RefusesFoldersAndFilesOfOthers) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainRequest request = small_request();
  train(data, request, folder.path());
  request.learn.lr = 0.02;
  EXPECT_EQ(test::error_of([&] { train(data, request, folder.path()); }),
            folder.path().string() +
                " was made by another request; choose another --out, or go on with it by " + "--resume " +
                folder.path().string());
  request = small_request();
  const fs::path summary = folder.path() / "run-0/summary.json";
  for (const char* text : {"{", "[]", "{\"run\": 0}", "{\"run\": \"x\"}"}) {
    folder.write("run-0/summary.json", text);
    EXPECT_EQ(test::error_of([&] { train(data, request, folder.path()); }),
              summary.string() +
                  ": is not the file that was written here, by its checksum in manifest.json; "
                  "restore it, or train again");
    Manifest manifest = Manifest::read(folder.path() / "run-0");
    manifest.add("summary.json");
    manifest.write();
    EXPECT_THAT(
        test::error_of([&] { train(data, request, folder.path()); }),
        testing::StartsWith(summary.string() +
                            (text[1] == '\0' ? ": is not JSON: "
                                             : ": is no summary of a run; remove it to do the run again")));
  }
  fs::remove(summary);
  folder.write("run-0/checkpoint.safetensors", "garbage");
  EXPECT_THAT(test::error_of([&] { train(data, request, folder.path()); }),
              testing::StartsWith((folder.path() / "run-0/checkpoint.safetensors").string()));
  request.device = "tpu";
  EXPECT_EQ(test::error_of([&] { train(data, request, {}); }),
            "--device 'tpu' is unknown; known: cpu, cuda, cuda:0, ...");
}

TEST(Run, GoesOnInFoldersOfAnOlderQw) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainRequest request = small_request();
  const RunResult expected = train(data, request, folder.path())[0];
  nlohmann::ordered_json older = nlohmann::ordered_json::parse(read_file(folder.path() / "config.json"));
  older["schema"] = 1;
  older["learn"].erase("balanced");
  folder.write("config.json", older.dump());
  for (const char* name :
       {"manifest.json", "schema.json", "split.csv", "trained_on.safetensors", "run-0/manifest.json"})
    fs::remove(folder.path() / name);
  expect_same_result(train(data, request, folder.path())[0], expected);
  EXPECT_FALSE(has_memory(folder.path()));
  request.learn.balanced = true;
  EXPECT_EQ(test::error_of([&] { train(data, request, folder.path()); }),
            folder.path().string() +
                " was made by another request; choose another --out, or go on with it by --resume " +
                folder.path().string());
  folder.write("config.json", "{");
  EXPECT_EQ(test::error_of([&] { train(data, request, folder.path()); }),
            (folder.path() / "config.json").string() + ": is not JSON: something is wrong at byte 2");
}

TEST(Run, StopsWhenToldAndGoesOnToTheSameBytes) {
  for (const char* solver : {"ce", "bregman", "badmm", "proximal", "exact", "correct-and-smooth"}) {
    const Dataset data = small_data();
    TrainRequest request = small_request(solver);
    if (request.learn.solver == "correct-and-smooth") request.model = "mlp";
    request.runs = 3;
    const test::TemporaryFolder whole, part;
    train(data, request, whole.path());
    int64_t told = 0;
    EXPECT_THROW(train(data, request, part.path(), [&](const TrainProgress&) { return ++told < 7; }),
                 TrainingStopped);
    EXPECT_FALSE(fs::exists(part.path() / "summary.json"));
    train(data, request, part.path());
    for (const char* run : {"run-0", "run-1", "run-2"}) {
      for (const auto& file : fs::directory_iterator(whole.path() / run))
        EXPECT_EQ(read_file(part.path() / run / file.path().filename()), read_file(file.path()))
            << file.path();
    }
  }
}

TEST(Run, GoesOnOnlyWithTheDataItBeganWith) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainRequest request = small_request();
  EXPECT_THROW(train(data, request, folder.path(), [](const TrainProgress&) { return false; }),
               TrainingStopped);
  const std::string
      cannot = folder.path().string() + " cannot go on: ",
      instead =
          " since it began; train anew with another --out, or fit the flow to new labels with --refit-flow";
  const auto refusal = [&](const Dataset& changed) {
    return test::error_of([&] { train(changed, request, folder.path()); });
  };
  Dataset relabelled = data;
  relabelled.targets.classes[3] = (relabelled.targets.classes[3] + 1) % 3;
  EXPECT_EQ(refusal(relabelled), cannot + "1 label changed" + instead);
  Dataset other_features = data;
  (other_features.features.sparse ? other_features.features.values : other_features.features.dense)[0] +=
      1.0f;
  EXPECT_EQ(refusal(other_features), cannot + "the features of 1 node changed" + instead);
  Dataset fewer = data;
  EdgeList edges{45,
                 {data.graph.heads().begin() + 1, data.graph.heads().end()},
                 {data.graph.tails().begin() + 1, data.graph.tails().end()},
                 {},
                 {}};
  fewer.graph = Graph::build(edges);
  EXPECT_EQ(refusal(fewer), cannot + "1 edge changed" + instead);
  train(data, request, folder.path());
}

TEST(Run, GoesOnOnlyWithThePartsItBeganWith) {
  const test::TemporaryFolder folder;
  Dataset data = small_data();
  data.splits.assign(2, stratified_split(data.targets, 1));
  TrainRequest request = small_request();
  request.split = "stored";
  request.runs = 2;
  const std::vector<RunResult> results = train(data, request, folder.path());
  std::reverse(data.splits[0].train.begin(), data.splits[0].train.end());
  EXPECT_EQ(train(data, request, folder.path()).front().seed, results.front().seed);  // the same nodes
  std::swap(data.splits[1].val[0], data.splits[1].test[0]);
  EXPECT_EQ(test::error_of([&] { train(data, request, folder.path()); }),
            folder.path().string() +
                " cannot go on: who trains, validates and tests changed since it began; train anew with "
                "another --out");
}

TEST(Run, KilledInBetweenItGoesOnToTheSameFiles) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainRequest request = small_request();
  request.command = "qw train small";
  train(data, request, folder.path());
  const std::string schema = read_file(folder.path() / "schema.json");
  // Before the manifest was written; then, after the summary, before the checkpoint was removed.
  fs::remove(folder.path() / "manifest.json");
  fs::remove_all(folder.path() / "run-0");
  request.command = "qw train --resume small";
  train(data, request, folder.path());
  EXPECT_EQ(read_file(folder.path() / "schema.json"), schema);
  folder.write("run-0/checkpoint.safetensors", "stale");
  train(data, request, folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / "run-0/checkpoint.safetensors"));
}

TEST(Run, OneProcessAtATimeWritesToAFolder) {
  const test::TemporaryFolder folder;
  const FolderLock lock(folder.path());
  EXPECT_EQ(test::error_of([&] { train(small_data(), small_request(), folder.path()); }),
            folder.path().string() + " is being written by another qw; wait for it, or choose another --out");
}

TEST(Run, EveryFileThatIsReadIsChecked) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainRequest request = small_request();
  train(data, request, folder.path());
  const fs::path run = folder.path() / "run-0";
  const auto use = [&] { reload(run, read_request(folder.path()), read_memory(folder.path()), data); };
  use();
  for (const fs::path& file :
       {run / "model.safetensors", run / "model.json", run / "flow.safetensors", run / "calibration.json",
        run / "summary.json", folder.path() / "config.json", folder.path() / "schema.json",
        folder.path() / "split.csv", folder.path() / "trained_on.safetensors"}) {
    const std::string written = read_file(file);
    std::string flipped = written;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    write_file_atomically(file, flipped);
    EXPECT_EQ(test::error_of(use), file.string() +
                                       ": is not the file that was written here, by its checksum in "
                                       "manifest.json; restore it, or train again");
    fs::remove(file);
    EXPECT_THAT(test::error_of(use), testing::HasSubstr(file.parent_path().string())) << file;
    write_file_atomically(file, written);
  }
  fs::remove(run / "manifest.json");
  EXPECT_THAT(test::error_of(use), testing::StartsWith((run / "manifest.json").string()));
}

TEST(Run, CountsTheNumbersOfNetworkAndEdgePredictor) {
  TrainRequest request = small_request();
  request.model = "mlp";
  request.model_options.layers = 2;
  const int64_t network = (6 + 1) * 8 + (8 + 1) * 3;
  EXPECT_EQ(train(small_data(), request, {})[0].parameters, network);
  request.model = "gcn";
  const int64_t plain = train(small_data(), request, {})[0].parameters;
  request.learn.edge_weights = true;
  EXPECT_EQ(train(small_data(), request, {})[0].parameters - plain, (3 + 1) * 32 + (32 + 1));
}

TEST(Run, RefusesARequestOutOfRange) {
  const Dataset data = small_data();
  TrainRequest request = small_request();
  request.runs = 0;
  EXPECT_THAT(test::error_of([&] { train(data, request, {}); }), testing::HasSubstr("runs '0'"));
  request = small_request();
  request.learn.dual = "forgotten";
  EXPECT_THAT(test::error_of([&] { train(data, request, {}); }), testing::HasSubstr("dual 'forgotten'"));
}

TEST(Run, RequestFileSaysWhatIsWrongWithIt) {
  const nlohmann::ordered_json good = to_json(small_request());
  const auto refusal = [](const nlohmann::ordered_json& document) {
    return test::error_of([&] { request_from_json(document, "config.json"); });
  };
  EXPECT_EQ(to_json(request_from_json(good, "config.json")), good);
  EXPECT_EQ(refusal(nlohmann::ordered_json::array()), "config.json: has no \"schema\"");
  for (const char* name : {"schema", "data", "request", "model_options", "learn"}) {
    nlohmann::ordered_json document = good;
    document.erase(name);
    EXPECT_EQ(refusal(document), std::string("config.json: has no \"") + name + "\"");
  }
  nlohmann::ordered_json document = good;
  document["schema"] = 7;
  EXPECT_EQ(refusal(document), "config.json: schema 7 is not the 2 that this qw reads");
  document = good;
  document["learn"]["lr"] = -1;
  EXPECT_THAT(refusal(document), testing::StartsWith("config.json: qw train: lr '-1"));
  document = good;
  document["request"]["runs"] = "many";
  EXPECT_THAT(refusal(document), testing::StartsWith("config.json: qw train: runs 'many'"));
}

TEST(Run, SeedsAreThePublishedOnesUnlessAsked) {
  TrainRequest request;
  EXPECT_EQ(seed_of_run(request, 0), kPublishedSeeds[0]);
  EXPECT_EQ(seed_of_run(request, 9), kPublishedSeeds[9]);
  EXPECT_EQ(seed_of_run(request, 10), kPublishedSeeds[0] + uint64_t{1});
  request.seed = 7;
  EXPECT_EQ(seed_of_run(request, 2), 9u);
}

TEST(Run, AutoSplitIsTheDatasOwnThePublishedOrStratified) {
  Dataset data = small_data();
  TrainRequest request;
  request.split = "auto";
  EXPECT_EQ(split_of(request, data, 1).train, stratified_split(data.targets, kPublishedSeeds[1]).train);
  data.default_split = "published";
  EXPECT_EQ(split_of(request, data, 1).train, published_split(data.targets, kPublishedSeeds[1]).train);
  data.default_split = "";
  request.split = "kfold:k=3";
  EXPECT_EQ(split_of(request, data, 1).test, kfold_split(data.targets, kPublishedSeeds[0], 3, 1).test)
      << "all folds are of one draw";
  request.split = "auto";
  data.splits = {{{1}, {2}, {3}}, {{4}, {5}, {6}}};
  data.format = "csv";
  EXPECT_EQ(split_of(request, data, 3).train, std::vector<NodeId>{4});
}

}  // namespace
}  // namespace qw
