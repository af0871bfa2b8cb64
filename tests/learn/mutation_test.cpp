// Damaged files of a run folder that need LibTorch to be read (those that do not: fuzz/run_folder_fuzz.cpp).
// Whatever is in them, they are read or refused in one line. QW_MUTATIONS=2000000 tries so many of each.
#include "support/mutate.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/json.h"
#include "learn/problem.h"
#include "learn/run_files.h"
#include "nn/tensor_file.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

// Fails on what is thrown beside qw::Error, and on an InternalError.
template <class Use>
void expect_read_or_refused(const std::string& what, const std::string& text, const Use& use) {
  try {
    use();
  } catch (const InternalError& error) {
    ADD_FAILURE() << what << ": " << error.what() << "\n" << text;
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 2000u) << what;
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what() << "\n" << text;
  }
}

class Mutations : public testing::Test {
 protected:
  void SetUp() override {
    request_.learn.solver = "bregman";
    request_.learn.epochs = 4;
    request_.model_options.hidden = 4;
    request_.checkpoint_every = 2;
    request_.split = "stratified";
    request_.baselines = "none";
    EXPECT_THROW(
        train(data_, request_, folder_.path(), [](const TrainProgress& now) { return now.record.epoch < 2; }),
        TrainingStopped);
    checkpoint_ = read_file(run_ / "checkpoint.safetensors");
    train(data_, request_, folder_.path());
  }

  // Calls use(text) for mutations of a file, one damage on top of another now and then.
  template <class Use>
  void try_all(const std::string& name, const std::string& text, int64_t usual, const Use& use) {
    std::mt19937_64 random(17);
    for (int64_t k = 0; k < test::mutations(usual); ++k) {
      std::string damaged = test::mutated(text, random);
      while (random() % 3 == 0) damaged = test::mutated(damaged, random);
      expect_read_or_refused(name, damaged, [&] { use(damaged); });
      if (HasFailure()) return;
    }
  }

  const Dataset data_ = test::small_problem("ce").data;
  TrainRequest request_;
  test::TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.path() / "run-0";
  std::string checkpoint_;
};

TEST_F(Mutations, OfConfigs) {
  try_all("config.json", read_file(folder_.path() / "config.json"), 3000, [&](const std::string& text) {
    request_from_json(parse_json(text, "config.json"), "config.json");
  });
}

TEST_F(Mutations, OfSummariesAndCalibrations) {
  try_all("summary.json", read_file(run_ / "summary.json"), 2000, [&](const std::string& text) {
    const nlohmann::ordered_json json = parse_json(text, "summary.json");
    try {
      result_from_json(json);
    } catch (const nlohmann::json::exception&) {  // as promised in run.h
    }
  });
  try_all("calibration.json", read_file(run_ / "calibration.json"), 2000, [&](const std::string& text) {
    calibration_from_json(parse_json(text, "calibration.json"), "calibration.json");
  });
}

TEST_F(Mutations, OfModels) {
  const std::filesystem::path model = folder_.path() / "other/model.safetensors",
                              config = folder_.path() / "other/model.json";
  const std::string tensors = read_file(run_ / "model.safetensors"), text = read_file(run_ / "model.json");
  folder_.write("other/model.json", text);
  folder_.write("other/model.safetensors", tensors);
  const auto load = [&] { load_model(model, at::kFloat); };
  try_all("model.json", text, 300, [&](const std::string& damaged) {
    folder_.write("other/model.json", damaged);
    load();
  });
  folder_.write("other/model.json", text);
  try_all("model.safetensors", tensors, 300, [&](const std::string& damaged) {
    folder_.write("other/model.safetensors", damaged);
    load();
  });
}

// A damaged checkpoint is refused by its checksum; to see what lies behind, some get a right one.
TEST_F(Mutations, OfCheckpoints) {
  const Split split = split_of(request_, data_, 0);
  const GraphTensors graph(data_.graph, at::kFloat);
  const NodeMatrix features(data_.features, at::kFloat);
  const std::filesystem::path file = folder_.path() / "c.safetensors";
  try_all("checkpoint.safetensors", checkpoint_, 200, [&](const std::string& damaged) {
    const SafetensorsFile parsed = SafetensorsFile::parse(damaged, "c");
    std::vector<Buffer> tensors;
    for (const StoredTensor& stored : parsed.tensors()) tensors.push_back({stored.name, tensor_from(stored)});
    write_checked_tensors(file, tensors, parsed.metadata());
    Trainer trainer(LearnInput{data_.graph,
                               data_.targets,
                               split,
                               graph,
                               features,
                               request_.model,
                               request_.model_options,
                               request_.learn,
                               1,
                               "",
                               {}});
    trainer.load_checkpoint(file);
  });
}

}  // namespace
}  // namespace qw
