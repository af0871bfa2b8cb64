// What every fuzz target does: hand the bytes to one reader as files, accept a dataset or a qw::Error,
// nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {

// Inputs for readers of several files hold them one after the other, divided by this.
inline constexpr std::string_view kFileDivider = "\n%%%%\n";

inline void fuzz_reader(const Reader& reader, std::string_view input, const std::vector<std::string>& names,
                        const std::string& entry, const LoadOptions& options = {}) {
  std::map<std::string, std::string> files;
  for (const std::string& name : names) {
    const size_t end = &name == &names.back() ? std::string_view::npos : input.find(kFileDivider);
    files[name] = std::string(input.substr(0, end));
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + kFileDivider.size());
  }
  try {
    check_consistent(reader.read(MemoryFiles(std::move(files)), entry, options));
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
}

}  // namespace qw
