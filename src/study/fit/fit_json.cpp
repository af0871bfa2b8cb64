#include <cmath>

#include "learn/run_files.h"
#include "qw/study/fit_best.h"

namespace qw {

using Json = nlohmann::ordered_json;

nlohmann::ordered_json to_json(const FitBestResult& result) {
  Json document{{"asked", {{"seconds", result.seconds_asked}, {"trials", result.trials_asked}}},
                {"trials", result.trials},
                {"folds", result.folds},
                {"seconds", result.seconds},
                {"validation", metrics_json(result.validation)},
                {"test", metrics_json(result.test)},
                {"single_test", metrics_json(result.single_test)},
                {"warnings", result.warnings}};
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  document["coverage"] = {{"asked", result.coverage_asked},
                          {"test", number(result.certainty.coverage)},
                          {"size", number(result.certainty.size)}};
  for (const FitVerdict& verdict : result.verdicts) {
    document["verdicts"].push_back({{"question", verdict.question},
                                    {"answer", verdict.answer},
                                    {"candidate", verdict.candidate},
                                    {"against", verdict.against},
                                    {"difference", verdict.difference},
                                    {"half_width", verdict.half_width},
                                    {"measure", verdict.measure}});
  }
  for (const LearningPoint& point : result.learning_curve)
    document["learning_curve"].push_back({{"labels", point.labels}, {"score", point.score}});
  for (const RankedCandidate& row : result.candidates) {
    document["candidates"].push_back({{"name", row.name},
                                      {"options", row.options},
                                      {"folds", row.folds},
                                      {"score", row.score},
                                      {"weight", row.weight}});
  }
  return document;
}

FitBestResult fit_result_from_json(const nlohmann::ordered_json& document) {
  FitBestResult result;
  document.at("asked").at("seconds").get_to(result.seconds_asked);
  document.at("asked").at("trials").get_to(result.trials_asked);
  document.at("trials").get_to(result.trials);
  document.at("folds").get_to(result.folds);
  document.at("seconds").get_to(result.seconds);
  document.at("warnings").get_to(result.warnings);
  const Json& coverage = document.at("coverage");
  const auto number = [](const Json& json) { return json.is_number() ? json.get<double>() : std::nan(""); };
  result.coverage_asked = coverage.at("asked").get<double>();
  result.certainty = {number(coverage.at("test")), number(coverage.at("size"))};
  result.validation = metrics_from_json(document.at("validation"));
  result.test = metrics_from_json(document.at("test"));
  result.single_test = metrics_from_json(document.at("single_test"));
  for (const Json& row : document.value("verdicts", Json::array())) {
    result.verdicts.push_back({row.at("question").get<std::string>(), row.at("answer").get<std::string>(),
                               row.at("candidate").get<std::string>(), row.at("against").get<std::string>(),
                               row.at("difference").get<double>(), row.at("half_width").get<double>(),
                               row.at("measure").get<std::string>()});
  }
  for (const Json& row : document.value("learning_curve", Json::array()))
    result.learning_curve.push_back({row.at("labels").get<int64_t>(), row.at("score").get<double>()});
  for (const Json& row : document.at("candidates")) {
    result.candidates.push_back({row.at("name").get<std::string>(), row.at("options"),
                                 row.at("folds").get<int64_t>(), row.at("score").get<double>(),
                                 row.at("weight").get<double>()});
  }
  return result;
}

}  // namespace qw
