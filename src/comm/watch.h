// Who is lost. Every process counts in the store once a second, and looks whether the next one still does;
// who sees that it does not writes that down for all. So each makes a few small requests a second, however
// many processes there are. A process that does not wait for others at that time is ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "comm/meeting.h"

namespace qw {

class Watch {
 public:
  // The meeting must outlive it.
  explicit Watch(Meeting& meeting);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // Work that others must take part in. `start` gets what to call, from any thread, once the work is over:
  // with nothing, or with what went wrong. Returns then, and throws LostProcess as soon as one is lost; the
  // work may then never be over.
  using Done = std::function<void(std::exception_ptr)>;
  void await(const std::function<void(Done done)>& start);

  void say_also(const std::string& advice);  // behind who is lost

 private:
  // Outlives the watch where work is never over.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::string loss;      // who is lost
    std::string advice;    // what a person can do
    bool over = false;     // the watch
    bool noticed = false;  // who waits has thrown the loss

    // With a line for a person; "" before a loss.
    std::string words() const { return loss.empty() || advice.empty() ? loss : loss + "; " + advice; }
  };

  void run();
  std::string look(c10d::Store& store);

  Meeting& meeting_;
  int next_;  // the process that this one looks after
  int64_t count_ = -1;
  int unchanged_ = 0;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace qw
