#include "data/schema/trained_on_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/safetensors.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "data/split_file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kSchema = 1;

// Tensors that point into arrays which live as long as the call.
class TensorList {
 public:
  template <class T>
  void add(const char* name, std::span<const T> items) {
    tensors_.push_back({name, tensor_type<T>(), {static_cast<int64_t>(items.size())}, std::as_bytes(items)});
  }
  const std::vector<StoredTensor>& all() const { return tensors_; }

 private:
  std::vector<StoredTensor> tensors_;
};

std::vector<std::string> ids_from(const SafetensorsFile& file, int64_t nodes, const std::string& name) {
  if (file.find("ids") == nullptr) return {};
  const std::vector<uint8_t> text = file.values<uint8_t>("ids");
  const std::vector<int64_t> ends = file.values<int64_t>("id_ends");
  const bool fits = static_cast<int64_t>(ends.size()) == nodes && std::is_sorted(ends.begin(), ends.end()) &&
                    (ends.empty() || (ends.front() >= 0 && ends.back() <= static_cast<int64_t>(text.size())));
  if (!fits) fail(fmt::format("{}: its ids are not those of {} nodes", name, nodes));
  std::vector<std::string> ids;
  ids.reserve(ends.size());
  int64_t begin = 0;
  for (const int64_t end : ends) {
    ids.emplace_back(text.begin() + begin, text.begin() + end);
    begin = end;
  }
  return ids;
}

Targets targets_from(const SafetensorsFile& file, const DataSchema& schema, int64_t nodes,
                     const std::string& name) {
  Targets targets{schema.task, schema.width, {}, {}, schema.target_names};
  if (file.find("classes") != nullptr) targets.classes = file.values<int32_t>("classes");
  if (file.find("values") != nullptr) targets.values = file.values<double>("values");
  const auto is_class = [&](int32_t c) { return c >= -1 && c < schema.width; };
  const bool wants_values = schema.task == Task::kMultiLabel || schema.task == Task::kRegression;
  const bool fits = static_cast<int64_t>(targets.classes.size()) == (schema.has_classes ? nodes : 0) &&
                    std::all_of(targets.classes.begin(), targets.classes.end(), is_class) &&
                    (wants_values ? schema.width > 0 &&
                                        nodes <= static_cast<int64_t>(targets.values.size()) / schema.width &&
                                        static_cast<int64_t>(targets.values.size()) == nodes * schema.width
                                  : targets.values.empty());
  if (!fits) fail(fmt::format("{}: its labels are not those of {} nodes", name, nodes));
  return targets;
}

int64_t number_from(const SafetensorsFile& file, const std::string& field, const std::string& name) {
  const auto found = file.metadata().find(field);
  const auto number = found == file.metadata().end() ? std::nullopt : parse_integer(found->second);
  if (!number || *number < 0 || *number > kMaxNodes)
    fail(fmt::format("{}: does not say its {}", name, field));
  return *number;
}

const char* name_of_part(char part) {
  return part == 0 ? "" : part == 1 ? "train" : part == 2 ? "val" : "test";
}

}  // namespace

std::string trained_on_bytes(const TrainedOn& trained_on) {
  TensorList tensors;
  std::string ids;
  std::vector<int64_t> id_ends;
  for (const std::string& id : trained_on.node_ids) {
    ids += id;
    id_ends.push_back(static_cast<int64_t>(ids.size()));
  }
  const std::vector<int64_t> rows(trained_on.feature_rows.begin(), trained_on.feature_rows.end());
  tensors.add("heads", trained_on.graph.heads());
  tensors.add("tails", trained_on.graph.tails());
  if (!trained_on.graph.weights().empty()) tensors.add("weights", trained_on.graph.weights());
  if (!trained_on.graph.costs().empty()) tensors.add("costs", trained_on.graph.costs());
  if (!trained_on.node_ids.empty()) {
    tensors.add("ids", std::span(reinterpret_cast<const uint8_t*>(ids.data()), ids.size()));
    tensors.add("id_ends", std::span<const int64_t>(id_ends));
  }
  if (!trained_on.targets.classes.empty())
    tensors.add("classes", std::span<const int32_t>(trained_on.targets.classes));
  if (!trained_on.targets.values.empty())
    tensors.add("values", std::span<const double>(trained_on.targets.values));
  tensors.add("feature_rows", std::span<const int64_t>(rows));
  return safetensors_bytes(tensors.all(),
                           {{"schema", std::to_string(kSchema)},
                            {"nodes", std::to_string(trained_on.graph.num_nodes())},
                            {"directed", trained_on.graph.directed() ? "1" : "0"}},
                           kTrainedOnFile);
}

std::string split_csv(const TrainedOn& trained_on) {
  const auto nodes = static_cast<size_t>(trained_on.graph.num_nodes());
  std::vector<std::vector<char>> parts;
  std::string text = "id";
  for (size_t run = 0; run < trained_on.splits.size(); ++run) {
    const Split& split = trained_on.splits[run];
    std::vector<char>& part = parts.emplace_back(nodes, 0);
    for (const NodeId node : split.train) part[node] = 1;
    for (const NodeId node : split.val) part[node] = 2;
    for (const NodeId node : split.test) part[node] = 3;
    text += fmt::format(",run_{}", run);
  }
  text += '\n';
  for (size_t node = 0; node < nodes; ++node) {
    text += csv_field(trained_on.node_id(static_cast<NodeId>(node)));
    for (const std::vector<char>& part : parts) text += std::string(",") + name_of_part(part[node]);
    text += '\n';
  }
  return text;
}

TrainedOn trained_on_from(const DataSchema& schema, std::string bytes, const std::string& trained_on_file,
                          const std::string& csv, const std::string& split_file) {
  const SafetensorsFile file = SafetensorsFile::parse(std::move(bytes), trained_on_file);
  if (number_from(file, "schema", trained_on_file) != kSchema)
    fail(fmt::format("{}: is not of schema {}, which this qw reads", trained_on_file, kSchema));
  const int64_t nodes = number_from(file, "nodes", trained_on_file);
  const std::vector<int64_t> rows = file.values<int64_t>("feature_rows");
  if (static_cast<int64_t>(rows.size()) != nodes)
    fail(fmt::format("{}: has features of {} nodes instead of {}", trained_on_file, rows.size(), nodes));
  EdgeList edges{nodes, file.values<int32_t>("heads"), file.values<int32_t>("tails"), {}, {}};
  if (file.find("weights") != nullptr) edges.weights = file.values<double>("weights");
  if (file.find("costs") != nullptr) edges.costs = file.values<double>("costs");
  TrainedOn trained_on;
  trained_on.schema = schema;
  trained_on.node_ids = ids_from(file, nodes, trained_on_file);
  trained_on.targets = targets_from(file, schema, nodes, trained_on_file);
  trained_on.feature_rows.assign(rows.begin(), rows.end());
  try {
    trained_on.graph = Graph::build(std::move(edges), {number_from(file, "directed", trained_on_file) == 1,
                                                       EdgePolicy::kKeep, EdgePolicy::kKeep, false});
  } catch (const Error& error) {
    fail(fmt::format("{}: {}", trained_on_file, error.what()));
  }
  Dataset known;  // what the reader of splits asks
  known.graph = trained_on.graph;
  known.node_ids = trained_on.node_ids;
  known.targets = trained_on.targets;
  trained_on.splits = splits_from_csv(csv, split_file, known);
  for (const Split& split : trained_on.splits) {
    try {
      check_split(split, trained_on.targets);
    } catch (const Error& error) {
      fail(fmt::format("{}: {}", split_file, error.what()));
    }
  }
  return trained_on;
}

}  // namespace qw
