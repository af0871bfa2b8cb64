// The parts of a report; each adds a section to the page, or nothing where there is nothing to say.
#pragma once

#include <string>
#include <vector>

#include "qw/report/report.h"
#include "report/page.h"
#include "report/run_record.h"

namespace qw {

// The answer in a sentence or two, and what makes it doubtful.
void add_answer(Page& page, const RunRecord& record);
// Sizes, classes by part, degrees, who is linked with whom.
void add_data(Page& page, const RunRecord& record);
// Loss and metric by epoch.
void add_training(Page& page, const RunRecord& record);
// Metrics beside the baselines, what is taken for what, how sure predictions are.
void add_quality(Page& page, const RunRecord& record);
// What the flow carries, whom it moved, its largest paths.
void add_transport(Page& page, const RunRecord& record);
// The race, who speaks, the verdicts, the learning curve.
void add_fit(Page& page, const RunRecord& record);
// Of the nodes that options name, or of some that are remarkable: a drawing of the neighbourhood, and what
// moved the prediction.
void add_explanations(Page& page, const RunRecord& record, const ReportOptions& options);
// Command, versions, machine, seeds, fingerprints.
void add_reproducing(Page& page, const RunRecord& record);

// Four digits that count, without an exponent where that can be read: "0.7211", "12,510".
std::string number_text(double value);
// "83.5 %" of shares, "0.835" of others.
std::string metric_text(const std::string& metric, double value);
// "83.5 ± 1.2 %", "0.835 ± 0.012": as many decimals as the half width has meaning.
std::string interval_text(const std::string& metric, double value, double half_width);

}  // namespace qw
