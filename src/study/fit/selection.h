// Who speaks in an ensemble: greedy selection with replacement (Caruana et al., 2004).
#pragma once

#include <vector>

#include "study/fit/judge.h"

namespace qw {

// Weights of the candidates, which sum to 1. It begins with the best three, since the best one was lucky,
// without those whose loss is far above its own; then each turn adds the one whose vote makes the mean best,
// until no vote makes it better. Equal scores are decided by the loss.
std::vector<double> select_ensemble(const Judge& judge, const std::vector<std::vector<double>>& predicted);

// The best alone: by score, then by loss; the first of equal ones.
size_t best_alone(const Judge& judge, const std::vector<std::vector<double>>& predicted);

}  // namespace qw
