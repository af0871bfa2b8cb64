#include "comm/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace qw {
namespace {

constexpr auto kTick = std::chrono::seconds(1);
// Ticks of our own without a count of the other: a process that was suspended itself, with all others, does
// not take them for lost.
constexpr int kPatience = 6;
constexpr double kStorePatience = 6;  // seconds, to connect
// Until a loss that breaks a connection at once is seen by the watch, too: then it has a name.
constexpr auto kUntilNamed = std::chrono::seconds(11);
// Until a process that computes is ended.
constexpr auto kUntilNoticed = std::chrono::seconds(5);

std::string count_key(int rank) { return fmt::format("count/{}", rank); }

}  // namespace

Watch::Watch(Meeting& meeting)
    : meeting_(meeting),
      next_((meeting.place().rank + 1) % meeting.place().size),
      thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->over = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

void Watch::run() {
  Store store;
  const auto loss_now = [&]() -> std::string {
    try {
      if (!store) store = connect_to_store(meeting_.place(), kStorePatience);  // of its own: calls may wait
      return look(*store);
    } catch (const std::exception&) {
      const Place& place = meeting_.place();
      return place.has_keeper
                 ? fmt::format("who started the processes no longer listens at {}:{}", place.host, place.port)
                 : fmt::format("{} has ended or cannot be reached", meeting_.name_of(0));
    }
  };
  std::unique_lock<std::mutex> lock(shared_->mutex);
  while (!shared_->over && shared_->loss.empty()) {
    lock.unlock();
    const std::string loss = loss_now();
    lock.lock();
    shared_->loss = loss;
    shared_->changed.notify_all();
    if (loss.empty()) shared_->changed.wait_for(lock, kTick, [this] { return shared_->over; });
  }
  const auto is_known = [this] { return shared_->over || shared_->noticed; };
  if (shared_->changed.wait_for(lock, kUntilNoticed, is_known)) return;
  fmt::print(stderr, "qw: {}\n", shared_->words());
  _exit(1);  // what computes cannot be interrupted otherwise
}

std::string Watch::look(c10d::Store& store) {
  store.add(count_key(meeting_.place().rank), 1);
  if (store.check({kFailure})) return read_text(store, kFailure);
  const int64_t count = store.add(count_key(next_), 0);
  unchanged_ = count == count_ ? unchanged_ + 1 : 0;
  count_ = count;
  if (unchanged_ < kPatience || store.check({left_key(next_)})) return {};
  std::string loss = fmt::format("{} has ended or no longer answers", meeting_.name_of(next_));
  write_text(store, kFailure, loss);
  return loss;
}

void Watch::await(const std::function<void(Done done)>& start) {
  struct Work {
    bool over = false;
    std::exception_ptr error;
  };
  const auto work = std::make_shared<Work>();
  start([work, shared = shared_](std::exception_ptr error) {
    {
      const std::lock_guard<std::mutex> lock(shared->mutex);
      work->over = true;
      work->error = std::move(error);
    }
    shared->changed.notify_all();
  });
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return work->over || !shared_->loss.empty(); });
  if (work->over && !work->error) return;
  shared_->changed.wait_for(lock, kUntilNamed, [this] { return !shared_->loss.empty(); });
  if (shared_->loss.empty()) shared_->loss = "a process has ended or cannot be reached";
  shared_->noticed = true;
  shared_->changed.notify_all();
  meeting_.lost();
  throw LostProcess(shared_->words());
}

void Watch::say_also(const std::string& advice) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->advice = advice;
}

}  // namespace qw
