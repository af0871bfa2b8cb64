// How qw fit scales features, and the learning rate that suits them.
#pragma once

#include <string>

#include "qw/learn/scaling.h"

namespace qw {

// "auto" is that of anybody's data for the paper's graphs, too: their published preprocessing, rows that add
// up to 1, is for comparisons with the paper, and makes networks learn slowly.
FeatureScaling scaling_for_fit(const Dataset& dataset, const std::string& kind);

// The learning rate that networks start with: a high one where most numbers are small.
double rate_for(const Dataset& dataset, const FeatureScaling& scaling);

}  // namespace qw
