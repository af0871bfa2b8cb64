#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "data/partition/part_format.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Reads one part and looks at whether its pieces fit together.
class PartReader {
 public:
  PartReader(const SafetensorsFile& file, const std::string& name) : file_(file), name_(name) {}

  Part read() {
    read_range();
    read_nodes();
    read_edges();
    read_features();
    read_targets();
    return std::move(part_);
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    fail(fmt::format("{}: {} of this part {} not what a part has", name_, what,
                     std::string_view(what).ends_with('s') ? "are" : "is"));
  }
  void require(bool holds, const char* what) const {
    if (!holds) refuse(what);
  }

  int64_t number(const char* field, int64_t most = std::numeric_limits<int64_t>::max()) const {
    const auto found = file_.metadata().find(field);
    const auto value = found == file_.metadata().end() ? std::nullopt : parse_integer(found->second);
    if (!value || *value < 0 || *value > most) fail(fmt::format("{}: does not say its {}", name_, field));
    return *value;
  }

  template <class T>
  std::span<const T> optional(const char* name) const {
    return file_.find(name) == nullptr ? std::span<const T>() : file_.items<T>(name);
  }

  template <class T>
  static bool all_in(std::span<const T> items, int64_t first, int64_t last) {
    return std::all_of(items.begin(), items.end(), [&](T item) { return item >= first && item <= last; });
  }

  // Offsets of lists, one for each of `lists`, of `entries` together.
  static bool are_offsets(std::span<const int64_t> offsets, int64_t lists, int64_t entries) {
    return std::ssize(offsets) == lists + 1 && offsets.front() == 0 && offsets.back() == entries &&
           std::is_sorted(offsets.begin(), offsets.end());
  }

  void read_range() {
    require(number("schema") == kPartitionSchema, "the schema");
    part_.begins = file_.items<int64_t>("begins");
    const int64_t nodes = part_.begins.empty() ? -1 : part_.begins.back();
    require(part_.begins.size() >= 2 && nodes <= kMaxNodes &&
                are_offsets(part_.begins, std::ssize(part_.begins) - 1, nodes),
            "the ranges");
    part_.number = number("part", std::ssize(part_.begins) - 2);
    part_.begin = part_.begins[part_.number];
    part_.end = part_.begins[part_.number + 1];
    part_.directed = number("directed", 1) == 1;
  }

  void read_nodes() {
    const int64_t own = part_.own(), nodes = part_.begins.back(), parts = std::ssize(part_.begins) - 1;
    part_.original = file_.items<NodeId>("original");
    part_.halo = file_.items<NodeId>("halo");
    part_.halo_original = file_.items<NodeId>("halo_original");
    require(std::ssize(part_.original) == own && all_in(part_.original, 0, nodes - 1), "original numbers");
    const auto is_own = [&](NodeId node) { return node >= part_.begin && node < part_.end; };
    require(all_in(part_.halo, 0, nodes - 1) && std::none_of(part_.halo.begin(), part_.halo.end(), is_own) &&
                std::adjacent_find(part_.halo.begin(), part_.halo.end(), std::greater_equal<>()) ==
                    part_.halo.end() &&
                part_.halo_original.size() == part_.halo.size() && all_in(part_.halo_original, 0, nodes - 1),
            "the halo");
    part_.receive_offsets = file_.items<int64_t>("receive_offsets");
    require(are_offsets(part_.receive_offsets, parts, std::ssize(part_.halo)), "receive lists");
    for (int64_t other = 0; other < parts; ++other) {
      const auto [first, last] = part_.received_from(other);
      for (int64_t row = first; row < last; ++row) {
        const NodeId node = part_.halo[row - own];
        require(node >= part_.begins[other] && node < part_.begins[other + 1], "receive lists");
      }
    }
    part_.send_rows = file_.items<NodeId>("send_rows");
    part_.send_offsets = file_.items<int64_t>("send_offsets");
    require(are_offsets(part_.send_offsets, parts, std::ssize(part_.send_rows)) &&
                all_in(part_.send_rows, 0, own - 1) && part_.sent_to(part_.number).empty(),
            "send lists");
    for (int64_t other = 0; other < parts; ++other) {
      const auto rows = part_.sent_to(other);
      require(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end(),
              "send lists");
    }
    part_.id_ends = optional<int64_t>("id_ends");
    part_.id_text = optional<uint8_t>("ids");
    require(part_.id_ends.empty() ? part_.id_text.empty() && (own == 0 || file_.find("id_ends") == nullptr)
                                  : std::ssize(part_.id_ends) == own && part_.id_ends.front() >= 0 &&
                                        part_.id_ends.back() == std::ssize(part_.id_text) &&
                                        std::is_sorted(part_.id_ends.begin(), part_.id_ends.end()),
            "ids");
  }

  void read_edges() {
    part_.heads = file_.items<NodeId>("heads");
    part_.tails = file_.items<NodeId>("tails");
    part_.edges = file_.items<EdgeId>("edges");
    part_.costs = optional<double>("costs");
    part_.weights = optional<double>("weights");
    const int64_t rows = part_.own() + std::ssize(part_.halo);
    const auto fits = [&](std::span<const double> values) {
      return values.empty() || values.size() == part_.heads.size();
    };
    require(part_.tails.size() == part_.heads.size() && part_.edges.size() == part_.heads.size() &&
                fits(part_.costs) && fits(part_.weights) && all_in(part_.heads, 0, rows - 1) &&
                all_in(part_.tails, 0, rows - 1) && all_in(part_.edges, 0, number("edges") - 1),
            "edges");
    const auto is_cost = [](double cost) { return cost >= 0 && std::isfinite(cost); };
    require(std::all_of(part_.costs.begin(), part_.costs.end(), is_cost), "costs");
    require(
        std::all_of(part_.weights.begin(), part_.weights.end(), [](double w) { return std::isfinite(w); }),
        "weights");
    const auto ends = [&](size_t e) {
      return std::pair(part_.new_number(part_.heads[e]), part_.new_number(part_.tails[e]));
    };
    for (size_t e = 0; e < part_.heads.size(); ++e) {
      const auto [head, tail] = ends(e);
      const bool touches = part_.heads[e] < part_.own() || part_.tails[e] < part_.own();
      const bool follows = e == 0 || (part_.edges[e - 1] < part_.edges[e] && ends(e - 1) <= ends(e));
      require(touches && follows && (part_.directed || head <= tail), "edges");
    }
  }

  void read_features() {
    FeatureRows& features = part_.features;
    features.rows = part_.own();
    features.columns = number("features", std::numeric_limits<int32_t>::max());
    if (features.columns == 0) return;
    features.sparse = file_.find("features") == nullptr;
    if (!features.sparse) {
      features.dense = file_.items<float>("features");
      require(features.rows == 0 ? features.dense.empty()
                                 : std::ssize(features.dense) % features.rows == 0 &&
                                       std::ssize(features.dense) / features.rows == features.columns,
              "features");
      return;
    }
    features.offsets = file_.items<int64_t>("feature_offsets");
    features.indices = file_.items<int32_t>("feature_indices");
    features.values = file_.items<float>("feature_values");
    require(are_offsets(features.offsets, features.rows, std::ssize(features.indices)) &&
                features.values.size() == features.indices.size() &&
                all_in(features.indices, 0, features.columns - 1),
            "features");
    for (int64_t row = 0; row < features.rows; ++row) {
      for (int64_t at = features.offsets[row] + 1; at < features.offsets[row + 1]; ++at)
        require(features.indices[at - 1] < features.indices[at], "features");
    }
  }

  void read_targets() {
    constexpr int64_t kMostTargets = 1'000'000;
    const int64_t own = part_.own();
    part_.width = number("width", kMostTargets);
    part_.classes = optional<int32_t>("classes");
    part_.values = optional<double>("values");
    part_.splits = optional<uint8_t>("splits");
    require(part_.classes.empty() ||
                (std::ssize(part_.classes) == own && all_in(part_.classes, -1, part_.width - 1)),
            "classes");
    require(part_.values.empty() || std::ssize(part_.values) == own * part_.width, "values");
    require((own == 0 ? part_.splits.empty() : std::ssize(part_.splits) % own == 0) &&
                all_in(part_.splits, 0, static_cast<int64_t>(SplitMark::kTest)),
            "splits");
  }

  const SafetensorsFile& file_;
  const std::string& name_;
  Part part_;
};

}  // namespace

std::string Part::node_id(NodeId row) const {
  if (id_ends.empty()) return std::to_string(original[row]);
  const int64_t first = row == 0 ? 0 : id_ends[row - 1];
  return {id_text.begin() + first, id_text.begin() + id_ends[row]};
}

std::span<const NodeId> Part::sent_to(int64_t part) const {
  return send_rows.subspan(send_offsets[part], send_offsets[part + 1] - send_offsets[part]);
}

Part::Rows Part::received_from(int64_t part) const {
  return {own() + receive_offsets[part], own() + receive_offsets[part + 1]};
}

Part part_from(const SafetensorsFile& file, const std::string& name) { return PartReader(file, name).read(); }

std::string part_file_name(int64_t number) { return fmt::format("part-{:05}.safetensors", number); }

}  // namespace qw
