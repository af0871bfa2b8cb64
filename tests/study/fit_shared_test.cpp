// fit_best with a store: whoever does which trial, everybody ends with the result of one who was alone.
#include <gmock/gmock.h>

#include "core/file.h"
#include "core/json.h"
#include "qw/study/fit_best.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::error_of;
using test::Json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class SharedFit : public test::OnEveryStore {
 protected:
  static Dataset data() {
    CsbmOptions csbm;
    csbm.nodes = 120;
    csbm.degree = 6;
    csbm.features = 8;
    csbm.classes = 3;
    return make_csbm(csbm);
  }

  FitBestOptions asked(int64_t trials) const {
    FitBestOptions options{.trials = trials, .seed = 4, .data = "small"};
    options.store = where();
    return options;
  }

  std::filesystem::path out(const std::string& name) const { return folder_.path() / name; }

  // All that must not depend on who trained, by the names of the files.
  static std::map<std::string, std::string> result_in(const std::filesystem::path& out) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      const std::string name = std::filesystem::relative(entry.path(), out).string();
      if (!entry.is_regular_file() || name.starts_with("search") || name == "summary.json") continue;
      if (name == "manifest.json") continue;  // has summary.json, which has times
      files[name] = name == "fit.json" ? "" : read_file(entry.path());
    }
    Json fit = read_json(out / "fit.json");
    fit.erase("seconds");
    files["fit.json"] = json_text(fit);
    return files;
  }
};
INSTANTIATE_TEST_SUITE_P(On, SharedFit, test::every_store(), test::store_name);

// By turns, each stopped after a few looks at it; whoever was stopped goes on with what others did since.
TEST_P(SharedFit, EverybodyEndsWithTheResultOfOneAlone) {
  constexpr int64_t kTrials = 40;
  FitBestOptions alone = asked(kTrials);
  alone.store = "";
  fit_best(data(), alone, out("alone"));
  const auto expected = result_in(out("alone"));
  EXPECT_TRUE(expected.contains("run-0/model.safetensors"));
  int stops = 0, finished = 0;
  for (int turn = 0; finished < 3 && turn < 300; ++turn) {
    const std::filesystem::path folder = out(fmt::format("worker-{}", turn % 3));
    if (std::filesystem::exists(folder / "fit.json")) continue;
    FitBestOptions options = asked(kTrials);
    int left = 5 + (7 * turn) % 23;  // looks
    options.progress = [&](const FitProgress&) { return --left > 0 || turn > 90; };
    try {
      fit_best(data(), options, folder);
      EXPECT_EQ(result_in(folder), expected);
      ++finished;
    } catch (const TrainingStopped&) {
      ++stops;
    }
  }
  EXPECT_EQ(finished, 3);
  EXPECT_GT(stops, 6);
  EXPECT_EQ(count("result"), kTrials);
  EXPECT_EQ(count("claim WHERE worker > 0"), 0);
}

TEST_P(SharedFit, WhatIsDoneIsNotDoneAgain) {
  fit_best(data(), asked(6), out("first"));
  execute("UPDATE result SET seconds = -1");
  const FitBestResult again = fit_best(data(), asked(6), out("second"));
  EXPECT_EQ(again.trials, 6);
  EXPECT_EQ(count("result"), 6);
  EXPECT_EQ(result_in(out("second")), result_in(out("first")));
  EXPECT_FALSE(std::filesystem::exists(out("second") / "search" / "run-5" / "summary.json"));
  // Shown again without its store.
  execute("DELETE FROM file");
  EXPECT_EQ(fit_best(data(), asked(6), out("second")).trials, 6);
}

TEST_P(SharedFit, WhoAsksForSomethingElseIsAlone) {
  fit_best(data(), asked(5), out("five"));
  fit_best(data(), asked(4), out("four"));
  FitBestOptions other = asked(5);
  other.metric = "macro_f1";
  fit_best(data(), other, out("other"));
  EXPECT_EQ(count("result"), 14);
  EXPECT_THAT(error_of([&] { fit_best(data(), asked(4), out("five")); }),
              HasSubstr("is finished already; choose another --out"));
}

TEST_P(SharedFit, InTimeTheyShareWhatTheyHave) {
  FitBestOptions options = asked(0);
  options.seconds = 1;
  const int64_t first = fit_best(data(), options, out("first")).trials;
  EXPECT_GE(first, 1);
  const FitBestResult second = fit_best(data(), options, out("second"));
  EXPECT_GE(second.trials, first);
  EXPECT_FALSE(second.test.empty());
  EXPECT_EQ(count("result"), second.trials);
}

TEST_P(SharedFit, RefusesOtherDataOfTheSameName) {
  fit_best(data(), asked(2), out("first"));
  Dataset changed = data();
  changed.targets.classes[0] = (changed.targets.classes[0] + 1) % 3;
  const std::string words =
      ": was begun with other data by the name 'small': its labels differ; use the same files, or another "
      "store";
  EXPECT_THAT(error_of([&] { fit_best(changed, asked(2), out("second")); }), EndsWith(words));
  FitBestOptions named = asked(2);
  named.data_in_store = {{"what", ""}, {"load", {{"edges", "graph.csv"}}}};
  fit_best(data(), named, out("third"));
  EXPECT_THAT(error_of([&] { fit_best(changed, named, out("fourth")); }),
              HasSubstr("by the name 'graph.csv'"));
}

TEST_P(SharedFit, AFolderThatBeganAloneStaysAlone) {
  FitBestOptions alone = asked(3);
  alone.store = "";
  int looks = 2;
  alone.progress = [&](const FitProgress&) { return --looks > 0; };
  EXPECT_THROW(fit_best(data(), alone, out("a")), TrainingStopped);
  EXPECT_THAT(error_of([&] { fit_best(data(), asked(3), out("a")); }),
              HasSubstr("was made with other options"));
}

TEST_P(SharedFit, DamageIsNamed) {
  fit_best(data(), asked(4), out("first"));
  const std::string change = is_sqlite() ? "CAST(x'00' AS BLOB)" : "'\\x00'::bytea";
  execute("UPDATE file SET content = " + change + " WHERE name = 'validation.safetensors'");
  EXPECT_THAT(error_of([&] { fit_best(data(), asked(4), out("second")); }),
              HasSubstr("validation.safetensors"));
  execute("DELETE FROM file");
  EXPECT_THAT(error_of([&] { fit_best(data(), asked(4), out("third")); }),
              EndsWith(": is damaged: manifest.json of a training is gone"));
}

}  // namespace
}  // namespace qw
