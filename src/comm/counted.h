// What a process says to others, counted.
#pragma once

#include "comm/comm.h"

namespace qw {

// Of one process since it began.
struct Traffic {
  int64_t calls = 0;      // each waits for the others once
  int64_t bytes = 0;      // that it sent to others
  int64_t exchanged = 0;  // of these, rows of exchanges
  int64_t widest = 0;     // bytes of the widest such row
  double seconds = 0;     // that calls took, waiting included
};

// Does what `of` does, which must outlive it.
class CountedComm : public Comm {
 public:
  explicit CountedComm(Comm& of) : of_(of) {}

  const Traffic& traffic() const { return traffic_; }
  void forget_widest() { traffic_.widest = 0; }

  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  void exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                at::IntArrayRef sent_rows) override;
  at::Tensor gather(const at::Tensor& mine, at::IntArrayRef rows) override;
  void broadcast(const at::Tensor& values, int from) override;
  void barrier() override;

 private:
  template <class Call>
  void count(int64_t bytes, const Call& call);

  Comm& of_;
  Traffic traffic_;
};

}  // namespace qw
