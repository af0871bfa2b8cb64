// From fuzzer bytes to an .npz: no fuzzer gets past a checksum by chance, so most inputs are arrays that are
// packed here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/zip.h"
#include "support.h"

namespace qw {

// The first byte chooses: bit 0 set, the rest is the archive itself; clear, it holds .npy files for `arrays`
// in this order, divided by kFileDivider, an empty one standing for none. Bit 1 asks for a directed graph.
inline void fuzz_npz_reader(const Reader& reader, std::string_view input,
                            const std::vector<std::string>& arrays) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  LoadOptions options;
  options.directed = (choice & 2) != 0;
  std::string packed;
  if ((choice & 1) == 0) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& name : arrays) {
      const size_t end = input.find(kFileDivider);
      if (const std::string_view array = input.substr(0, end); !array.empty()) {
        entries.emplace_back(name + ".npy", std::string(array));
      }
      input = end == std::string_view::npos ? std::string_view() : input.substr(end + kFileDivider.size());
    }
    packed = write_zip(entries);
    input = packed;
  }
  fuzz_reader(reader, input, {"fuzz.npz"}, "fuzz.npz", options);
}

}  // namespace qw
