#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  qw::fuzz_reader(qw::kGeomGcnReader, input, {"out1_node_feature_label.txt", "out1_graph_edges.txt"}, "");
  return 0;
}
