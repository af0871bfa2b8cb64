// The folds of a race: the same test nodes, and every other labelled node validates in one fold and trains in
// the others.
#pragma once

#include <cstdint>
#include <vector>

#include "qw/graph/dataset.h"
#include "qw/graph/split.h"

namespace qw {

// Of nodes that train or validate in `given`: as many folds as keep its share of validation nodes, from 3
// to 5. Where labels are many one fold is enough: the given split itself.
std::vector<Split> make_folds(const Targets& targets, const Split& given, uint32_t seed);

// The nodes that train or validate, in order.
std::vector<NodeId> pool_of(const Split& split);

// The same fold with a share of its training nodes, of every class at least one; a smaller share of the same
// seed is a part of a larger one.
Split thinned(const Targets& targets, const Split& fold, double share, uint32_t seed);

}  // namespace qw
