// ROC and precision-recall curves of a class against the rest, or of a label.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/parts.h"

namespace qw {

struct RankingCurves {
  int64_t positives = 0, negatives = 0;
  double roc_auc = 0, average_precision = 0;              // as metrics have them; NaN unless both kinds occur
  std::vector<double> false_positive{}, true_positive{};  // the ROC curve, from (0, 0) to (1, 1)
  std::vector<double> recall{}, precision{};  // as steps: the area below them is the average precision
};

// Of nodes of weight 1, none of whose scores is NaN. Areas are of all nodes; points that lie closer than
// about 1 / `most` are left out.
RankingCurves ranking_curves(std::vector<Ranked> nodes, double most);

// The mean over those curves that there are, at 0, 1/100, ..., 1.
struct MeanCurves {
  std::vector<double> at, true_positive, precision;  // by false positive rate, and by recall
};
MeanCurves mean_curves(const std::vector<RankingCurves>& curves);

}  // namespace qw
