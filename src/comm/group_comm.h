// Processes by a group of c10d, whoever made it.
#pragma once

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>

#include "comm/comm.h"
#include "comm/meeting.h"
#include "comm/watch.h"

namespace qw {

template <class Group>
class GroupComm : public Comm {
 public:
  // Every process connects to every other, which reach it by `address`. Not to be interrupted where one is
  // lost meanwhile.
  using Connect = std::function<c10::intrusive_ptr<Group>(const Place&, const std::string& address)>;
  // What the group takes as it is; the rest goes over the host.
  enum Takes { kHostRows, kAllRows };

  GroupComm(const Place& place, const Agreement& agreement, double patience, const Connect& connect,
            Takes takes = kHostRows)
      : meeting_(place, agreement, patience),
        watch_(meeting_),
        exceptions_(std::uncaught_exceptions()),
        takes_(takes) {
    const auto result = std::make_shared<c10::intrusive_ptr<Group>>();
    watch_.await([&](const Watch::Done& done) {
      std::thread([result, done, connect, place, address = meeting_.address()] {
        std::exception_ptr error;
        try {
          *result = connect(place, address);
        } catch (const std::exception&) {
          error = std::current_exception();
        }
        done(error);
      }).detach();
    });
    group_ = *result;
  }

  ~GroupComm() override {
    const bool failing = std::uncaught_exceptions() > exceptions_;
    if (!failing) return;
    meeting_.failed(fmt::format("{} has ended with an error", meeting_.name_of(rank())));
    abandon();
  }

  int rank() const override { return meeting_.place().rank; }
  int size() const override { return meeting_.place().size; }
  void say_when_lost(const std::string& advice) override { watch_.say_also(advice); }

  void exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                at::IntArrayRef sent_rows) override {
    at::Tensor in = goes_over_host(received) ? empty_on_host(received) : received;
    at::Tensor out = for_group(sent.contiguous());
    std::vector<int64_t> in_rows = received_rows.vec(), out_rows = sent_rows.vec();
    if constexpr (requires { group_->all_to_all_single(in, out, in_rows, out_rows); }) {
      finish(group_->all_to_all_single(in, out, in_rows, out_rows), out);
    } else {  // its name up to some torch 2
      finish(group_->alltoall_base(in, out, in_rows, out_rows), out);
    }
    if (!in.is_same(received)) received.copy_(in);
  }

  // Groups gather tensors of one size.
  at::Tensor gather(const at::Tensor& mine, at::IntArrayRef rows) override {
    const int64_t most = *std::max_element(rows.begin(), rows.end());
    std::vector<int64_t> shape = mine.sizes().vec();
    shape[0] = most;
    at::Tensor padded = for_group(mine.contiguous());
    if (mine.size(0) < most) {
      const at::Tensor filled = at::zeros(shape, padded.options());
      filled.narrow(0, 0, mine.size(0)).copy_(padded);
      padded = filled;
    }
    if (padded.numel() == 0) {  // which Gloo divides by
      shape[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
      return at::empty(shape, mine.options());
    }
    std::vector<at::Tensor> inputs{padded};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int r = 0; r < size(); ++r) outputs[0].push_back(at::empty(shape, padded.options()));
    finish(group_->allgather(outputs, inputs), padded);
    for (int r = 0; r < size(); ++r) outputs[0][r] = outputs[0][r].narrow(0, 0, rows[r]);
    return at::cat(outputs[0]).to(mine.device());
  }

  void broadcast(const at::Tensor& values, int from) override {
    if (values.numel() == 0) return;
    std::vector<at::Tensor> tensors{for_group(values)};
    c10d::BroadcastOptions options;
    options.rootRank = from;
    finish(group_->broadcast(tensors, options), tensors[0]);
    if (!tensors[0].is_same(values)) values.copy_(tensors[0]);
  }

  void barrier() override { finish(group_->barrier(), {}); }

 private:
  bool goes_over_host(const at::Tensor& rows) const { return takes_ == kHostRows && !rows.device().is_cpu(); }
  at::Tensor for_group(const at::Tensor& rows) const { return goes_over_host(rows) ? rows.cpu() : rows; }
  static at::Tensor empty_on_host(const at::Tensor& like) {
    return at::empty(like.sizes(), like.options().device(at::kCPU));
  }

  // Work on a GPU is over for the host when it is queued there: what comes after it waits in the queue.
  template <class Work>
  void finish(const Work& work, const at::Tensor& rows) {
    try {
      watch_.await([&](const Watch::Done& done) {
        work->getFuture()->addCallback([done](c10::ivalue::Future& future) {
          done(future.hasError() ? future.exception_ptr() : nullptr);
        });
      });
      if (rows.defined() && !rows.device().is_cpu()) work->wait();
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
  Takes takes_;
  c10::intrusive_ptr<Group> group_;
};

}  // namespace qw
