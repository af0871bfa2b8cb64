// Gloo, over TCP: c10d's backend for CPUs.
#include <chrono>
#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "comm/group_comm.h"

namespace qw {
namespace {

using c10d::ProcessGroupGloo;

// Who is slow is waited for: the watch says who is lost.
constexpr auto kLongest = std::chrono::hours(24 * 30);

constexpr double kToConnect = 6;  // seconds

c10::intrusive_ptr<ProcessGroupGloo::Options> group_options(const std::string& address) {
  auto options = ProcessGroupGloo::Options::create(std::chrono::milliseconds(kLongest));
  const char* chosen = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(chosen != nullptr && *chosen != '\0'
                                 ? ProcessGroupGloo::createDeviceForInterface(chosen)
                                 : ProcessGroupGloo::createDeviceForHostname(address));
  options->threads = 1;  // one thing at a time
  return options;
}

c10::intrusive_ptr<ProcessGroupGloo> connect(const Place& place, const std::string& address) {
  return c10::make_intrusive<ProcessGroupGloo>(connect_to_store(place, kToConnect), place.rank, place.size,
                                               group_options(address));
}

}  // namespace

std::unique_ptr<Comm> join(const Place& place, const Agreement& agreement, double patience) {
  if (place.size == 1) return alone();
  return std::make_unique<GroupComm<ProcessGroupGloo>>(place, agreement, patience, connect);
}

}  // namespace qw
