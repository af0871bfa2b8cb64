// Who races: kinds of models with a small space of good options each.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "qw/graph/dataset.h"

namespace qw {

// Beyond the network and plain cross-entropy (or squared error).
enum class Variant { kPlain, kQw, kEdgeWeights, kCorrectAndSmooth };

// One who races.
struct Candidate {
  std::string family;  // linear, mlp, label-propagation, or a network's name
  Variant variant = Variant::kPlain;
  nlohmann::ordered_json options;  // of qw train, that differ from its defaults; model and solver always
  int64_t repeat = 0;              // the same options with other initial values

  std::string name() const;
  bool uses_edges() const { return variant != Variant::kPlain || (family != "linear" && family != "mlp"); }
  bool uses_features() const { return family != "label-propagation"; }
  bool operator==(const Candidate&) const = default;
};

// Whether two differ in their variant at most.
bool is_same_network(const Candidate& one, const Candidate& other);

// Without its name.
nlohmann::ordered_json to_json(const Candidate& candidate);

// Learning rates of networks: of features that are about 1, and of small ones, which are learned slowly.
inline constexpr double kUsualRate = 0.01, kHighRate = 0.05;

// What a graph's race may try.
class Portfolio {
 public:
  // What is known of the graph, by the labels of these nodes alone, orders the first candidates. `rate` is
  // the learning rate that networks start with.
  Portfolio(const Dataset& dataset, const std::vector<NodeId>& labelled, uint64_t seed,
            double rate = kUsualRate);

  // Each family as it stands, cheap and different ones first.
  std::vector<Candidate> first() const;
  // The `number`-th variation of a family, from 0: the same every time; nothing when a family has no more.
  std::optional<Candidate> sample(const std::string& family, int64_t number) const;
  // Options that won on public graphs of this kind (share/presets.json).
  std::vector<Candidate> proven() const;
  // The same network with a variant as it stands; nothing where there is none.
  std::optional<Candidate> with(const Candidate& candidate, Variant variant) const;
  // The same plain network with every variant, and other options of it.
  std::vector<Candidate> variants_of(const Candidate& candidate) const;
  // The network of a variant without it.
  Candidate plain_of(const Candidate& candidate) const;

 private:
  Candidate make(const std::string& family, nlohmann::ordered_json options) const;
  // GIN adds up neighbours, so that its numbers are not small.
  double rate_of(const std::string& family) const { return family == "gin" ? kUsualRate : rate_; }
  const char* plain_solver() const { return task_ == Task::kRegression ? "mse" : "ce"; }

  Task task_;
  bool alike_;  // neighbours mostly have the same label
  uint64_t seed_;
  double rate_;
};

}  // namespace qw
