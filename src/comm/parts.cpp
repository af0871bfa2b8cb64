#include "comm/parts.h"

#include <ATen/Functions.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "qw/core/error.h"

namespace qw {
namespace {

// What one part asks for, while it waits.
struct Request {
  at::Tensor received, sent;
  at::IntArrayRef received_rows, sent_rows;  // by part
};

// Rows begin .. begin + count of a tensor.
struct Slice {
  int64_t begin = 0, count = 0;

  at::Tensor of(const at::Tensor& rows) const { return rows.narrow(0, begin, count); }
};

Slice slice_of(at::IntArrayRef rows, int which) {
  Slice slice;
  for (int k = 0; k < which; ++k) slice.begin += rows[k];
  slice.count = rows[which];
  return slice;
}

// The parts of this process. Each function is called by all of them, and the last one does it for all.
class Local {
 public:
  Local(Comm& processes, int parts)
      : processes_(processes),
        parts_(parts),
        own_(parts_of(processes.rank(), processes.size(), parts)),
        requests_(own_.count()) {}

  int parts() const { return parts_; }
  const PartRange& own() const { return own_; }

  void exchange(int part, const Request& request) {
    meet(part, request, [this] { exchange_all(); });
  }

  at::Tensor gather(int part, const at::Tensor& mine, at::IntArrayRef rows) {
    meet(part, {{}, mine, {}, {}}, [&] {
      std::vector<at::Tensor> all;
      for (const Request& each : requests_) all.push_back(each.sent);
      std::vector<int64_t> of_process(processes_.size(), 0);
      for (int process = 0; process < processes_.size(); ++process) {
        const PartRange range = parts_of(process, processes_.size(), parts_);
        for (int k = range.begin; k < range.end; ++k) of_process[process] += rows[k];
      }
      gathered_ = processes_.gather(at::cat(all), of_process);
    });
    return gathered_;
  }

  void broadcast(int part, const at::Tensor& values, int from) {
    meet(part, {values, {}, {}, {}}, [&] {
      int process = 0;
      while (parts_of(process, processes_.size(), parts_).end <= from) ++process;
      const int source = process == processes_.rank() ? from - own_.begin : 0;
      const at::Tensor& whole = requests_[source].received;
      processes_.broadcast(whole, process);
      for (const Request& each : requests_) {
        if (!each.received.is_same(whole)) each.received.copy_(whole);
      }
    });
  }

  void barrier(int part) {
    meet(part, {}, [this] { processes_.barrier(); });
  }

  // Nobody waits any longer: the first error is everybody's.
  void stop(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
    changed_.notify_all();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void meet(int part, const Request& request, const std::function<void()>& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    rethrow();
    requests_[part - own_.begin] = request;
    const int64_t round = round_;
    if (++arrived_ < own_.count()) {
      changed_.wait(lock, [&] { return round_ != round || error_; });
      if (round_ == round || failed_round_ == round) rethrow();
      return;  // what was waited for has happened, whatever another part does by now
    }
    try {
      work();
    } catch (const std::exception&) {
      error_ = std::current_exception();
      failed_round_ = round;
    }
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
    rethrow();
  }

  // A message has the rows for each part of its receiver in order, and of these those of each part of its
  // sender in order.
  void exchange_all() {
    for (int to = own_.begin; to < own_.end; ++to) {
      for (int from = own_.begin; from < own_.end; ++from) received(to, from).copy_(sent(from, to));
    }
    if (processes_.size() == 1) return;
    std::vector<at::Tensor> out;
    std::vector<int64_t> out_rows(processes_.size(), 0), in_rows(processes_.size(), 0);
    for_remote([&](int process, int other, int mine) {
      out.push_back(sent(mine, other));
      out_rows[process] += out.back().size(0);
      in_rows[process] += received(mine, other).size(0);
    });
    int64_t total = 0;
    for (const int64_t rows : in_rows) total += rows;
    std::vector<int64_t> shape = requests_[0].received.sizes().vec();
    shape[0] = total;
    const at::Tensor in = at::empty(shape, requests_[0].received.options());
    processes_.exchange(in, in_rows, at::cat(out), out_rows);
    int64_t at = 0;
    for (int process = 0; process < processes_.size(); ++process) {
      if (process == processes_.rank()) continue;
      const PartRange range = parts_of(process, processes_.size(), parts_);
      for (int to = own_.begin; to < own_.end; ++to) {
        for (int from = range.begin; from < range.end; ++from) {
          const at::Tensor rows = received(to, from);
          rows.copy_(in.narrow(0, at, rows.size(0)));
          at += rows.size(0);
        }
      }
    }
  }

  template <class Body>
  void for_remote(const Body& body) {
    for (int process = 0; process < processes_.size(); ++process) {
      if (process == processes_.rank()) continue;
      const PartRange range = parts_of(process, processes_.size(), parts_);
      for (int other = range.begin; other < range.end; ++other) {
        for (int mine = own_.begin; mine < own_.end; ++mine) body(process, other, mine);
      }
    }
  }

  at::Tensor sent(int from, int to) const {
    const Request& request = requests_[from - own_.begin];
    return slice_of(request.sent_rows, to).of(request.sent);
  }
  at::Tensor received(int to, int from) const {
    const Request& request = requests_[to - own_.begin];
    return slice_of(request.received_rows, from).of(request.received);
  }

  Comm& processes_;
  int parts_;
  PartRange own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;  // by part of this process
  at::Tensor gathered_;
  int arrived_ = 0;
  int64_t round_ = 0, failed_round_ = -1;
  std::exception_ptr error_;
};

class OnePart : public Comm {
 public:
  OnePart(Local& local, int part) : local_(local), part_(part) {}

  int rank() const override { return part_; }
  int size() const override { return local_.parts(); }
  void exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                at::IntArrayRef sent_rows) override {
    local_.exchange(part_, {received, sent, received_rows, sent_rows});
  }
  at::Tensor gather(const at::Tensor& mine, at::IntArrayRef rows) override {
    return local_.gather(part_, mine, rows);
  }
  void broadcast(const at::Tensor& values, int from) override { local_.broadcast(part_, values, from); }
  void barrier() override { local_.barrier(part_); }

 private:
  Local& local_;
  int part_;
};

}  // namespace

PartRange parts_of(int process, int processes, int parts) {
  const auto first = [&](int64_t which) { return static_cast<int>(which * parts / processes); };
  return {first(process), first(int64_t{process} + 1)};
}

at::Tensor sum_in_order(Comm& parts, const at::Tensor& mine) {
  const at::Tensor all = parts.gather(mine.unsqueeze(0).contiguous(), std::vector<int64_t>(parts.size(), 1));
  at::Tensor total = all[0].clone();
  for (int64_t part = 1; part < all.size(0); ++part) total.add_(all[part]);
  return total;
}

void run_parts(Comm& processes, int parts, const std::function<void(Comm& part)>& body) {
  QW_ASSERT(parts >= processes.size());
  if (parts == processes.size()) return body(processes);
  Local local(processes, parts);
  const auto run = [&](int part) {
    try {
      OnePart comm(local, part);
      body(comm);
    } catch (const std::exception&) {
      local.stop(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  for (int part = local.own().begin; part < local.own().end; ++part) threads.emplace_back(run, part);
  for (std::thread& thread : threads) thread.join();
  local.rethrow();
}

}  // namespace qw
