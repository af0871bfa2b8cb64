// Several processes that work on one thing together, or one process alone: what is above knows not which.
//
// All processes call the same functions in the same order, one at a time. There is no sum over processes on
// purpose: numbers are gathered, and whoever adds them does so in one order.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/place.h"
#include "qw/core/error.h"

namespace qw {

// A process has died, stopped answering or cannot be reached: says which one.
class LostProcess : public Error {
 public:
  using Error::Error;
};

// Tensors are dense, of numbers, and have at least one dimension, the rows. Those on a GPU go over the host,
// unless every process has a GPU of its own (Place::gpu) and c10d has NCCL. Every function throws
// LostProcess within 15 seconds after a process is lost; a process that is in none of them by then, since it
// computes, is ended with the same words and exit code 1.
class Comm {
 public:
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  virtual ~Comm() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Rows of `sent` go to process 0, then 1, and so on, so many to each; `received` is filled in the same way.
  virtual void exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                        at::IntArrayRef sent_rows) = 0;
  // The rows of all processes, in the order of their ranks; process r has rows[r] of them. Not to be written
  // to: it may be `mine` itself.
  virtual at::Tensor gather(const at::Tensor& mine, at::IntArrayRef rows) = 0;
  // `values` of process `from`, on all.
  virtual void broadcast(const at::Tensor& values, int from) = 0;
  // Returns when all have called it.
  virtual void barrier() = 0;

  // What a person can do when a process is lost; said behind which one it is.
  virtual void say_when_lost(const std::string&) {}
};

// What all processes must have in common, by its name: {"qw", "0.2.0"}.
using Agreement = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<Comm> alone();

// All processes of `place` together. Waits so many seconds for others to start. Throws qw::Error with one
// line when they do not come, disagree, or two have one rank.
std::unique_ptr<Comm> join(const Place& place, const Agreement& agreement, double patience);

}  // namespace qw
