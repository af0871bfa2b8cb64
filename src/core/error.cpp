#include "qw/core/error.h"

#include <fmt/format.h>

namespace qw {

void fail(const std::string& message) { throw Error(message); }

void fail_usage(const std::string& message) { throw UsageError(message); }

void fail_at_line(std::string_view file, int64_t line, std::string_view problem) {
  throw Error(fmt::format("{}:{}: {}", file, line, problem));
}

void fail_at_byte(std::string_view file, uint64_t offset, std::string_view problem) {
  throw Error(fmt::format("{}: byte {}: {}", file, offset, problem));
}

namespace detail {
void assertion_failed(const char* condition, const char* file, int line) {
  throw InternalError(
      fmt::format("internal error at {}:{}: {} does not hold; please report this", file, line, condition));
}
}  // namespace detail

}  // namespace qw
