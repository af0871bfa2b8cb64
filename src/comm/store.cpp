#include "comm/store.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "core/deadline.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr double kLongestCall = 6;  // seconds

std::chrono::milliseconds in_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(1e3 * seconds));
}

bool listens(const std::string& host, int port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  bool answered = false;
  for (const addrinfo* each = found; each != nullptr && !answered; each = each->ai_next) {
    const int probe = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    const timeval limit{static_cast<time_t>(kLongestCall), 0};
    setsockopt(probe, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));  // also of connect
    answered = probe >= 0 && connect(probe, each->ai_addr, each->ai_addrlen) == 0;
    if (probe >= 0) close(probe);
  }
  freeaddrinfo(found);
  return answered;
}

// c10d waits, too, but logs every attempt that fails.
void wait_for_listener(const std::string& host, int port, double patience) {
  constexpr auto kLook = std::chrono::milliseconds(50);
  const Deadline deadline = Deadline::after_seconds(patience);
  while (!listens(host, port)) {
    if (deadline.passed()) {
      fail(
          fmt::format("nobody listens at {}:{} after {:.0f} s: is process 0 started there, and may this "
                      "machine reach it?",
                      host, port, patience));
    }
    std::this_thread::sleep_for(kLook);
  }
}

[[noreturn]] void refuse_port(int port) {
  fail(
      fmt::format("cannot listen at port {} of this machine, where processes are to meet: it is in use, or "
                  "not for this user; choose another (MASTER_PORT)",
                  port));
}

}  // namespace

c10::intrusive_ptr<c10d::TCPStore> serve_store(int port) {
  if (port != 0 && listens("127.0.0.1", port)) refuse_port(port);  // c10d says it in four lines of its own
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.isServer = true;
  options.waitWorkers = false;
  try {
    return c10::make_intrusive<c10d::TCPStore>("localhost", options);
  } catch (const std::exception&) {
    refuse_port(port);
  }
}

Store connect_to_store(const Place& place, double patience) {
  // Who keeps the store reaches it when the network is gone.
  const std::string host = place.rank == 0 && !place.has_keeper ? "127.0.0.1" : place.host;
  wait_for_listener(host, place.port, patience);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.waitWorkers = false;
  options.timeout = in_milliseconds(kLongestCall);
  try {
    Store store = c10::make_intrusive<c10d::TCPStore>(host, options);
    write_text(*store, "qw", "");
    read_text(*store, "qw");  // with the first read the limit is that of all calls
    if (place.key_prefix.empty()) return store;
    return c10::make_intrusive<c10d::PrefixStore>(place.key_prefix, std::move(store));
  } catch (const std::exception&) {
    fail(
        fmt::format("who listens at {}:{} does not answer as a store of c10d does: is MASTER_PORT that of "
                    "another program, or of another version of torch?",
                    host, place.port));
  }
}

std::string read_text(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void write_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

}  // namespace qw
