#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> files = {"ind.fuzz.allx",  "ind.fuzz.ally",      "ind.fuzz.tx",
                                                 "ind.fuzz.ty",    "ind.fuzz.x",         "ind.fuzz.y",
                                                 "ind.fuzz.graph", "ind.fuzz.test.index"};
  qw::fuzz_reader(qw::kPlanetoidReader, {reinterpret_cast<const char*>(data), size}, files, "");
  return 0;
}
