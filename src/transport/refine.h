// A second solution, in 128-bit integers, for intervals that the first one left open.
//
// 64-bit integers hold some 15 digits of costs and of supplies, and the certificate of doubles as many. Where
// the distance is made of small costs beside large ones, or of small amounts beside large ones, that is not
// enough.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/deadline.h"
#include "transport/certificate.h"
#include "transport/network.h"
#include "transport/supply.h"

namespace qw::transport {

bool is_closed(const Certified& certified, double gap);  // relative

// Replaces what `certified` has by something better, until it is closed or nothing helps. `used` are the
// edges of a flow that is about optimal. Returns false when the deadline came first.
bool refine(const Network& network, const Arcs& arcs, const Supply& supply, std::vector<int64_t> used,
            double gap, const Deadline& deadline, Certified& certified);

}  // namespace qw::transport
