// By which of its addresses this machine reaches the others.
#pragma once

#include <string>

#include "comm/place.h"

namespace qw {

// The address by which it reaches the meeting, which is one by which it is reached. Its own name need not be:
// Debian gives it to the loopback.
std::string address_towards(const Place& place);

// The network interface that has this address: "eth0"; empty when none has.
std::string interface_of(const std::string& address);

}  // namespace qw
