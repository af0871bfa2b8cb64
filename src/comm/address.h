// By which of its addresses this machine reaches the others.
#pragma once

#include <string>

namespace qw {

// The address by which it reaches that host, which is one by which it is reached from there.
std::string address_towards(const std::string& host, int port);

// Whether only this machine reaches it: Debian gives the loopback to a machine's own name.
bool is_loopback(const std::string& address);

// The network interface that has this address: "eth0"; empty when none has.
std::string interface_of(const std::string& address);

}  // namespace qw
