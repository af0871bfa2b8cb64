// Gloo, over TCP: c10d's backend for CPUs.
#include <ATen/Functions.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <thread>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "comm/comm.h"
#include "comm/meeting.h"
#include "comm/watch.h"

namespace qw {
namespace {

using c10d::ProcessGroupGloo;

// Who is slow is waited for: the watch says who is lost.
constexpr auto kLongest = std::chrono::hours(24 * 30);

constexpr double kToConnect = 6;  // seconds

// The address by which this machine reaches the meeting is one by which it is reached. Its own name need not
// be: Debian gives it to the loopback.
std::string address_towards(const Place& place) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found) != 0)
    return "127.0.0.1";
  std::string address = "127.0.0.1";
  const int probe = socket(found->ai_family, SOCK_DGRAM, 0);  // sends nothing
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  auto* name = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(probe, name, &length) == 0 &&
      getnameinfo(name, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
    address = text.data();
  }
  if (probe >= 0) close(probe);
  freeaddrinfo(found);
  return address;
}

c10::intrusive_ptr<ProcessGroupGloo::Options> group_options(const Place& place) {
  auto options = ProcessGroupGloo::Options::create(std::chrono::milliseconds(kLongest));
  const char* chosen = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(chosen != nullptr && *chosen != '\0'
                                 ? ProcessGroupGloo::createDeviceForInterface(chosen)
                                 : ProcessGroupGloo::createDeviceForHostname(address_towards(place)));
  options->threads = 1;  // one thing at a time
  return options;
}

class Gloo : public Comm {
 public:
  Gloo(const Place& place, const Agreement& agreement, double patience)
      : meeting_(place, agreement, patience), watch_(meeting_), exceptions_(std::uncaught_exceptions()) {
    connect();
  }

  ~Gloo() override {
    const bool failing = std::uncaught_exceptions() > exceptions_;
    if (!failing) return;
    meeting_.failed(fmt::format("{} has ended with an error", meeting_.name_of(rank())));
    abandon();
  }

  int rank() const override { return meeting_.place().rank; }
  int size() const override { return meeting_.place().size; }

  void exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                at::IntArrayRef sent_rows) override {
    at::Tensor in = received, out = sent.contiguous();
    std::vector<int64_t> in_rows = received_rows.vec(), out_rows = sent_rows.vec();
    finish(group_->alltoall_base(in, out, in_rows, out_rows));
  }

  // Gloo gathers tensors of one size.
  at::Tensor gather(const at::Tensor& mine, at::IntArrayRef rows) override {
    const int64_t most = *std::max_element(rows.begin(), rows.end());
    std::vector<int64_t> shape = mine.sizes().vec();
    shape[0] = most;
    at::Tensor padded = mine.contiguous();
    if (mine.size(0) < most) {
      padded = at::zeros(shape, mine.options());
      padded.narrow(0, 0, mine.size(0)).copy_(mine);
    }
    if (padded.numel() == 0) {  // which Gloo divides by
      shape[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
      return at::empty(shape, mine.options());
    }
    std::vector<at::Tensor> inputs{padded};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int r = 0; r < size(); ++r) outputs[0].push_back(at::empty(shape, mine.options()));
    finish(group_->allgather(outputs, inputs));
    for (int r = 0; r < size(); ++r) outputs[0][r] = outputs[0][r].narrow(0, 0, rows[r]);
    return at::cat(outputs[0]);
  }

  void broadcast(const at::Tensor& values, int from) override {
    if (values.numel() == 0) return;
    std::vector<at::Tensor> tensors{values};
    c10d::BroadcastOptions options;
    options.rootRank = from;
    finish(group_->broadcast(tensors, options));
  }

  void barrier() override { finish(group_->barrier()); }

 private:
  // Every process connects to every other, which cannot be interrupted where one is lost meanwhile.
  void connect() {
    struct Result {
      c10::intrusive_ptr<ProcessGroupGloo> group;
    };
    const auto result = std::make_shared<Result>();
    watch_.await([&](const Watch::Done& done) {
      std::thread([result, done, place = meeting_.place()] {
        std::exception_ptr error;
        try {
          result->group = c10::make_intrusive<ProcessGroupGloo>(connect_to_store(place, kToConnect),
                                                                place.rank, place.size, group_options(place));
        } catch (const std::exception&) {
          error = std::current_exception();
        }
        done(error);
      }).detach();
    });
    group_ = result->group;
  }

  template <class Work>
  void finish(const Work& work) {
    try {
      watch_.await([&](const Watch::Done& done) {
        work->getFuture()->addCallback([done](c10::ivalue::Future& future) {
          done(future.hasError() ? future.exception_ptr() : nullptr);
        });
      });
    } catch (const LostProcess&) {
      abandon();
      throw;
    }
  }

  // Its destructor would wait for work that never ends; the process does.
  void abandon() { static_cast<void>(group_.release()); }

  Meeting meeting_;
  Watch watch_;
  int exceptions_;
  c10::intrusive_ptr<ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Comm> join(const Place& place, const Agreement& agreement, double patience) {
  if (place.size == 1) return alone();
  return std::make_unique<Gloo>(place, agreement, patience);
}

}  // namespace qw
