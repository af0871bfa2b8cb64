#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  qw::fuzz_reader(
      qw::kOgbReader, input,
      {"raw/num-node-list.csv", "raw/num-edge-list.csv", "raw/edge.csv", "raw/node-label.csv",
       "raw/node-feat.csv", "split/time/train.csv", "split/time/valid.csv", "split/time/test.csv"},
      "");
  return 0;
}
