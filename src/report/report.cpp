#include "qw/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/core/error.h"
#include "report/axis.h"
#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const Json& object, const char* name) {
  if (!object.contains(name)) return "";
  return object.at(name).is_string() ? object.at(name).get<std::string>() : object.at(name).dump();
}

std::string who_predicts(const RunRecord& record) {
  if (record.fit) return "The ensemble of qw fit";
  const Json& config = record.summary.at("config");
  return fmt::format("{} ({})", value_of(config.at("request"), "model"),
                     value_of(config.at("learn"), "solver"));
}

// Data in memory, as Python's, may have no name.
std::string title_of(const RunRecord& record) {
  const std::string name = value_of(record.summary, "name");
  const std::string what = record.fit ? "the best of many" : who_predicts(record);
  return name.empty() ? what : name + ": " + what;
}

// Half the width of an interval: of shares in points.
std::string difference_text(const std::string& metric, double value) {
  const std::string text = metric_text(metric, value);
  return text.ends_with(" %") ? text.substr(0, text.size() - 2) + " points" : text;
}

// "Does the graph help? Yes (+12.0 ± 2.0 points)."
std::string sentence(const Json& verdict) {
  const auto begun = [&](const char* name) {
    std::string text = verdict.at(name).get<std::string>();
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
  };
  const bool points = verdict.at("measure") == "accuracy";
  const double scale = points ? 100 : 1;
  const std::string difference =
      fmt::format("{:+.{}f}", scale * verdict.at("difference").get<double>(), points ? 1 : 3);
  return fmt::format("{} {} ({} ± {:.{}f}{}).", begun("question"), begun("answer"),
                     with_true_minus(difference), scale * verdict.at("half_width").get<double>(),
                     points ? 1 : 3, points ? " points" : "");
}

}  // namespace

void add_answer(Page& page, const RunRecord& record) {
  const std::string metric = record.summary.value("metric", "");
  const auto& test = record.summary.at("test");
  std::string text = who_predicts(record);
  if (test.contains(metric) && test.at(metric).at("mean").is_number()) {
    const double mean = test.at(metric).at("mean").get<double>();
    text += metric == "accuracy"
                ? fmt::format(" predicts {:.0f} of 100 held-out labels", 100 * mean)
                : fmt::format(" has {} {} on held-out nodes", metric, metric_text(metric, mean));
    const size_t runs = test.at(metric).at("runs").size();
    const auto& half_width = test.at(metric).at("ci95");
    if (runs > 1 && half_width.is_number())
      text += fmt::format(" (mean of {} runs, 95 % interval ± {})", runs,
                          difference_text(metric, half_width.get<double>()));
    text += ".";
  } else {
    text += " was trained; no node was held out to test it.";
  }
  if (record.fit && record.fit->contains("verdicts")) {
    for (const Json& verdict : record.fit->at("verdicts")) text += " " + sentence(verdict);
  }
  page.lead(text);
  if (!record.summary.contains("warnings")) return;
  for (const Json& warning : record.summary.at("warnings")) page.warning(warning.get<std::string>());
}

std::string report_html(const std::filesystem::path& run, const ReportOptions& options) {
  const RunRecord record = read_run_record(run);
  Page page(options.title.empty() ? title_of(record) : options.title);
  add_answer(page, record);
  add_fit(page, record);
  add_quality(page, record);
  add_transport(page, record);
  add_explanations(page, record, options);
  add_training(page, record);
  add_data(page, record);
  add_reproducing(page, record);
  return page.html();
}

}  // namespace qw
