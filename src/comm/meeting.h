// All processes find each other and see that they agree, before anything else; and end together.
#pragma once

#include <string>
#include <vector>

#include "comm/comm.h"
#include "comm/store.h"

namespace qw {

class Meeting {
 public:
  // Throws qw::Error with one line on what keeps the processes from working together; all then know it.
  Meeting(const Place& place, const Agreement& agreement, double patience);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  // Who keeps the store waits until all others have left, or long enough for them to learn why this failed.
  ~Meeting();

  const Place& place() const { return place_; }
  // By which others reach this process.
  const std::string& address() const { return address_; }
  // "process 1 (machine host, id 4711)"
  const std::string& name_of(int rank) const { return names_[rank]; }

  // The end of this process is no good end, and all others learn why.
  void failed(const std::string& why);
  // The same, and the others know why.
  void lost() { failed_ = true; }

 private:
  void greet(const Agreement& agreement, double patience);
  void compare(int rank, const std::string& theirs, const std::string& own);

  Place place_;
  std::string address_;
  c10::intrusive_ptr<c10d::TCPStore> served_;  // of process 0, unless there is a keeper
  Store store_;
  std::vector<std::string> names_;
  bool failed_ = false;
};

// The key under which a process says that it has left in good order.
std::string left_key(int rank);

}  // namespace qw
