// Threads of the test, each with a rank, as processes would be.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/comm.h"
#include "comm/store.h"

namespace qw::test {

inline constexpr double kPatience = 20;  // seconds

class Group {
 public:
  Group() : store_(serve_store(0)) {}

  Place place(int rank, int size) const {
    Place place;
    place.rank = rank;
    place.size = size;
    place.port = store_->getPort();
    place.has_keeper = true;
    return place;
  }

  void run(int size, const std::function<void(Comm&)>& body) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([this, rank, size, &body] {
        const std::unique_ptr<Comm> comm = join(place(rank, size), {{"qw", "1"}}, kPatience);
        body(*comm);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

}  // namespace qw::test
