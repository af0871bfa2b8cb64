// What the program qw-learn is made of, for whoever runs it in a process of its own: the Python package does.
#pragma once

#include <exception>
#include <string>

#include "cli/command.h"

namespace qw::cli {

// The commands that need LibTorch.
void add_learn_commands(CLI::App& app, const GlobalOptions& global);

// LibTorch gives every tensor back to the C library, which by default unmaps large blocks at once: each epoch
// would fault all its memory in again. From now on it is kept instead; but what is larger than a few pages of
// 2 MB is a tensor, which is kept elsewhere (ops/kept_memory.h), or an array of a large graph on its way to
// one.
void keep_freed_memory();

// LibTorch's errors carry a backtrace, which is for us and not for a person.
std::string without_backtrace(const std::exception& error);

}  // namespace qw::cli
