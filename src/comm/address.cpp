#include "comm/address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace qw {
namespace {

// As numbers; empty when there is none.
std::string text_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  const bool done = getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return done ? text.data() : "";
}

}  // namespace

std::string address_towards(const std::string& host, int port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "127.0.0.1";
  std::string address;
  const int probe = socket(found->ai_family, SOCK_DGRAM, 0);  // sends nothing
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  auto* name = reinterpret_cast<sockaddr*>(&own);
  if (probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(probe, name, &length) == 0) {
    address = text_of(name, length);
  }
  if (probe >= 0) close(probe);
  freeaddrinfo(found);
  return address.empty() ? "127.0.0.1" : address;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

std::string interface_of(const std::string& address) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string name;
  for (const ifaddrs* each = all; each != nullptr && name.empty(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto length =
        static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (text_of(each->ifa_addr, length) == address) name = each->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

}  // namespace qw
