#include "npz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> arrays = {"node_features", "node_labels", "edges",
                                                  "train_masks",   "val_masks",   "test_masks"};
  qw::fuzz_npz_reader(qw::kHeterophilousNpzReader, {reinterpret_cast<const char*>(data), size}, arrays);
  return 0;
}
