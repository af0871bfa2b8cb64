// Ctrl-C while C++ works: signals are for Python's main thread to look at, and only with the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <utility>

namespace qw::python {

namespace py = pybind11;

// Runs work(stop) in a thread of its own, without the GIL, and waits. A signal that raises sets `stop`, which
// the work should heed soon; then, once it has ended, the exception of the signal goes on.
template <class Work>
auto interruptibly(const Work& work) {
  using Result = decltype(work(std::declval<const std::atomic<bool>&>()));
  std::atomic<bool> stop{false};
  std::future<Result> done = std::async(std::launch::async, [&] { return work(stop); });
  bool raised = false;
  while (true) {
    {
      const py::gil_scoped_release others_may_run;
      if (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (!raised && PyErr_CheckSignals() != 0) {
      raised = true;
      stop = true;
    }
  }
  if (!raised) return done.get();
  try {
    done.get();
  } catch (const std::exception&) {  // that it was stopped; the signal says more
  }
  throw py::error_already_set();
}

}  // namespace qw::python
