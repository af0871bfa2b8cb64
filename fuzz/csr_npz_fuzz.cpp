#include "npz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> arrays = {
      "adj_indptr", "adj_indices", "adj_shape",   "adj_data",    "attr_indptr", "attr_indices", "attr_shape",
      "attr_data",  "labels",      "attr_matrix", "class_names", "attr_names",  "node_names"};
  qw::fuzz_npz_reader(qw::kCsrNpzReader, {reinterpret_cast<const char*>(data), size}, arrays);
  return 0;
}
