#include "support.h"

// Once with the input as the matrix alone, and once divided into matrix, features and labels.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  qw::LoadOptions directed;
  directed.directed = true;
  qw::fuzz_reader(qw::kMatrixMarketReader, input, {"g.mtx"}, "g.mtx", directed);
  qw::fuzz_reader(qw::kMatrixMarketReader, input, {"g.mtx", "g_features.mtx", "g_labels.mtx"}, "g.mtx");
  return 0;
}
