// An HTTP server inside the test program, for tests of downloading.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace qw::testing_support {

struct Request {
  std::string path;
  std::string range;  // "bytes=100-", or empty
  int number = 0;     // from 0, since the server was started
};

struct Reply {
  int status = 200;
  std::string body{};
  std::string headers{};               // whole lines, each with its CRLF
  size_t cut_after = SIZE_MAX;         // close the connection after so many bytes of the body
  bool announce_length = true;         // send Content-Length
  std::chrono::milliseconds stall{0};  // after the body, before closing
};

// HTTP/1.1 on a loopback port, one connection after the other, each for one request.
class LoopbackServer {
 public:
  using Handler = std::function<Reply(const Request&)>;

  explicit LoopbackServer(Handler handler)
      : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, length) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, generic, &length) != 0) {
      throw std::runtime_error("cannot open a loopback port");
    }
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer() {
    stopping_ = true;
    thread_.join();
    ::close(listener_);
  }

  const std::string& url() const { return url_; }
  int64_t body_bytes_sent() const { return body_bytes_sent_; }
  std::vector<Request> requests() const {
    const std::lock_guard guard(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!stopping_) {
      pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 10) <= 0) continue;
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      const timeval patience{.tv_sec = 2, .tv_usec = 0};
      ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      answer(connection);
      ::close(connection);
    }
  }

  void answer(int connection) {
    std::string text;
    char bytes[1024];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(connection, bytes, sizeof bytes, 0);
      if (got <= 0 || text.size() > 65536) return;
      text.append(bytes, static_cast<size_t>(got));
    }
    Request request;
    request.path = text.substr(4, text.find(' ', 4) - 4);
    if (const size_t range = text.find("Range: "); range != std::string::npos) {
      request.range = text.substr(range + 7, text.find('\r', range) - range - 7);
    }
    {
      const std::lock_guard guard(mutex_);
      request.number = static_cast<int>(requests_.size());
      requests_.push_back(request);
    }
    send(connection, handler_(request));
  }

  void send(int connection, const Reply& reply) {
    std::string head =
        fmt::format("HTTP/1.1 {} Test\r\nConnection: close\r\n{}", reply.status, reply.headers);
    if (reply.announce_length) head += fmt::format("Content-Length: {}\r\n", reply.body.size());
    const std::string body = reply.body.substr(0, reply.cut_after);
    const std::string all = head + "\r\n" + body;
    for (size_t sent = 0; sent < all.size();) {
      const ssize_t count = ::send(connection, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
    body_bytes_sent_ += static_cast<int64_t>(body.size());
    const auto end = std::chrono::steady_clock::now() + reply.stall;
    while (!stopping_ && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  Handler handler_;
  int listener_;
  std::string url_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> body_bytes_sent_{0};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

// What a server with ranges answers for `bytes`.
inline Reply ranged(const Request& request, const std::string& bytes) {
  if (request.range.empty()) return {.body = bytes};
  const size_t first = std::stoul(request.range.substr(std::string("bytes=").size()));
  if (first >= bytes.size()) return {.status = 416};
  return {.status = 206,
          .body = bytes.substr(first),
          .headers = fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, bytes.size() - 1, bytes.size())};
}

}  // namespace qw::testing_support
