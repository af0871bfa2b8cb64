// The program qw in a process of Python: `python -m qw`. Under torchrun Python makes the group of processes.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cli/program.h"
#if QW_WITH_TORCH
#include "cli/learn/learn_program.h"
#endif
#if QW_HAS_NAMED_GROUPS
#include "comm/named_group.h"
#endif

namespace py = pybind11;

namespace {

void add_commands(CLI::App& app, const qw::cli::GlobalOptions& global) {
  qw::cli::add_plain_commands(app, global);
#if QW_WITH_TORCH
  qw::cli::add_learn_commands(app, global);
#endif
}

int run(std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const py::gil_scoped_release others_may_run;
#if QW_WITH_TORCH
  qw::cli::keep_freed_memory();
  return qw::cli::run_program(static_cast<int>(words.size()), pointers.data(), add_commands,
                              qw::cli::without_backtrace);
#else
  return qw::cli::run_program(static_cast<int>(words.size()), pointers.data(), add_commands);
#endif
}

}  // namespace

PYBIND11_MODULE(_cli, module) {
  module.def("run", &run, py::arg("words"));
#if QW_HAS_NAMED_GROUPS
  using Make = std::function<std::string(int rank, int size, int gpu, const std::string& host, int port,
                                         const std::string& prefix, const std::string& interface)>;
  module.def("set_group_maker", [](const Make& make) {
    qw::set_group_maker([make](const qw::Place& place, const std::string& interface) {
      return make(place.rank, place.size, place.gpu, place.host, place.port, place.key_prefix, interface);
    });
  });
#endif
}
