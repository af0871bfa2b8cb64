// What the section on quality is made of; each adds something, or nothing where there is nothing to show.
#pragma once

#include <span>
#include <string>

#include "report/page.h"
#include "report/run_record.h"

namespace qw {

// Classes: what is taken for what, and the wrong nodes that were most sure.
void add_confusion(Page& page, const RunRecord& record);
void add_wrong_nodes(Page& page, const RunRecord& record);
// Labels: how well each is found.
void add_labels(Page& page, const RunRecord& record);
// Whether probabilities are right as often as they say, of classes and labels.
void add_reliability(Page& page, const RunRecord& record);
// ROC and precision-recall curves, of classes and labels.
void add_curves(Page& page, const RunRecord& record);
// How large the sets are that hold the truth.
void add_sets(Page& page, const RunRecord& record);
// Values: predicted against true, errors, intervals.
void add_values(Page& page, const RunRecord& record);
// How good predictions are by degree, by the neighbours' classes, by distance to training labels.
void add_groups(Page& page, const RunRecord& record);

// "83.5 %"; nothing of what is not finite.
std::string percent(double share);

}  // namespace qw
