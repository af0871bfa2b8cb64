#include "data/partition/fingerprint.h"

#include <fmt/format.h>

#include <span>
#include <vector>

namespace qw {
namespace {

template <class T>
void add_items(Sha256& hash, std::span<const T> items) {
  const auto bytes = std::as_bytes(items);
  hash.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
template <class T>
void add_items(Sha256& hash, const std::vector<T>& items) {
  add_items(hash, std::span<const T>(items));
}

void add_names(Sha256& hash, const std::vector<std::string>& names) {
  for (const std::string& name : names) hash.add(fmt::format("{}:{}", name.size(), name));
  hash.add("\n");
}

}  // namespace

void DataHash::add(const EdgeBlock& block) {
  add_items(heads_, block.heads);
  add_items(tails_, block.tails);
  add_items(costs_, block.costs);
  add_items(weights_, block.weights);
}

void DataHash::add(const Features& block) {
  add_items(dense_, block.dense);
  add_items(indices_, block.indices);
  add_items(values_, block.values);
  for (size_t row = 1; row < block.offsets.size(); ++row) {
    const int64_t length[] = {block.offsets[row] - block.offsets[row - 1]};
    add_items(row_lengths_, std::span<const int64_t>(length));
  }
}

std::string DataHash::hex(const PartitionSource& source) {
  const Dataset& about = source.about();
  const EdgeForm form = source.edge_form();
  Sha256 all;
  all.add(fmt::format("{} nodes, {} {} {} edges, {} {} features, {} {} targets\n", source.nodes(),
                      form.directed ? "directed" : "undirected", form.has_costs ? "costly" : "free",
                      form.has_weights ? "weighted" : "equal", source.feature_columns(),
                      source.sparse_features() ? "sparse" : "dense", about.targets.width,
                      task_name(about.targets.task)));
  for (Sha256* part : {&heads_, &tails_, &costs_, &weights_, &dense_, &row_lengths_, &indices_, &values_})
    all.add(part->hex() + "\n");
  add_names(all, about.features.names);
  add_names(all, about.targets.names);
  add_items(all, about.targets.classes);
  add_items(all, about.targets.values);
  for (const Split& split : about.splits) {
    for (const auto* part : {&split.train, &split.val, &split.test}) {
      all.add(fmt::format("{} nodes\n", part->size()));
      add_items(all, *part);
    }
  }
  for (NodeId node = 0; source.has_ids() && node < source.nodes(); ++node) {
    const std::string id = source.id(node);
    all.add(fmt::format("{}:{}", id.size(), id));
  }
  return all.hex();
}

std::string partition_id(const std::string& fingerprint, const std::string& method, const Cut& cut) {
  Sha256 hash;
  hash.add(fingerprint + "\n" + method + "\n");
  add_items(hash, cut.begins);
  add_items(hash, cut.original);
  return hash.hex();
}

}  // namespace qw
