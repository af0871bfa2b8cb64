// Errors of the library.
//
// The caller's fault (a bad file, a bad option) throws qw::Error with one line that says where, what was
// expected, what was found and what to do. Our own fault is an internal assertion, QW_ASSERT, which throws
// qw::InternalError. The library never calls exit() and never continues with bad data.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// A run that cannot go on: the command-line program exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A request that makes no sense as it was written (unknown name, value out of range): exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A broken promise of this library: please report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

// Throw qw::Error and qw::UsageError with this text.
[[noreturn]] void fail(const std::string& message);
[[noreturn]] void fail_usage(const std::string& message);

// "edges.csv:17: node id '12x' is not an integer". Lines count from 1.
[[noreturn]] void fail_at_line(std::string_view file, int64_t line, std::string_view problem);

// "pubmed.npz: byte 1042: the central directory ends early". Offsets count from 0.
[[noreturn]] void fail_at_byte(std::string_view file, uint64_t offset, std::string_view problem);

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}

}  // namespace qw

// Throws qw::InternalError with the condition, file and line unless the condition holds, in every build.
#define QW_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::qw::detail::assertion_failed(#condition, __FILE__, __LINE__))
