#include "support.h"

// Two files, edges and nodes; the first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  qw::LoadOptions options;
  options.edges = "edges.csv";
  if ((data[0] & 1) != 0) options.nodes = "nodes.csv";
  if ((data[0] & 3) == 3) options.id = "id";
  if ((data[0] & 5) == 5) options.target = "label";
  if ((data[0] & 9) == 9) options.split_column = "split";
  if ((data[0] & 16) != 0) options.edge_cost = "cost";
  if ((data[0] & 32) != 0) options.task = "regression";
  options.directed = (data[0] & 64) != 0;
  if ((data[0] & 128) != 0) options.decimal = ",";
  qw::fuzz_reader(qw::kCsvReader, input, {"edges.csv", "nodes.csv"}, "", options);
  return 0;
}
