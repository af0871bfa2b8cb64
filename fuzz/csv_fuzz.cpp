#include "support.h"

// Two files, edges and nodes; the first byte chooses the options, and a second one further options when the
// first has its highest bit.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const bool has_more = (data[0] & 128) != 0;
  const uint8_t more = has_more ? data[1] : 0;
  const size_t start = has_more ? 2 : 1;
  const std::string_view input(reinterpret_cast<const char*>(data) + start, size - start);
  qw::LoadOptions options;
  options.edges = "edges.csv";
  if ((data[0] & 1) != 0) options.nodes = "nodes.csv";
  if ((data[0] & 3) == 3) options.id = "id";
  if ((data[0] & 5) == 5) options.target = "label";
  if ((data[0] & 9) == 9) options.split_column = "split";
  if ((data[0] & 16) != 0) options.edge_cost = "cost";
  if ((data[0] & 32) != 0) options.task = "regression";
  options.directed = (data[0] & 64) != 0;
  if ((more & 1) != 0 && !options.nodes.empty()) options.unknown_nodes = (more & 2) != 0 ? "add" : "drop";
  if ((more & 3) == 2) options.decimal = ",";
  if ((more & 4) != 0) options.edge_weight = "3";
  if ((more & 8) != 0) options.header = "no";
  if ((more & 16) != 0) options.encoding = (more & 32) != 0 ? "utf-16" : "windows-1252";
  if ((more & 64) != 0) options.duplicate_edges = "keep";
  options.exact_ids = (more & 128) != 0;
  qw::fuzz_reader(qw::kCsvReader, input, {"edges.csv", "nodes.csv"}, "", options);
  return 0;
}
