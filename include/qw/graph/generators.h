// Graphs that need no files: random ones of any size, and a small real one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// A contextual stochastic block model: `classes` groups of equal size (to one node); nodes * degree / 2
// distinct edges, a share `homophily` of them within groups and the others between two, their ends uniform;
// node features are the group's mean, a random direction of length `signal`, plus standard normal noise
// divided by sqrt(features). The same bits on every platform and for any number of threads. O(N * features +
// E).
struct CsbmOptions {
  int64_t nodes = 3000;    // of all groups together
  double degree = 10;      // mean number of neighbours
  double homophily = 0.2;  // share of the edges that are within a group
  int64_t features = 64;   // columns
  int64_t classes = 5;     // groups
  double signal = 1.0;     // distance of a group's mean from 0
  int64_t seed = 1;        // of all random choices
};
Dataset make_csbm(const CsbmOptions& options);

// Zachary's karate club (1977): 34 people, 78 friendships, the four communities that the field
// uses as classes, the identity matrix as features.
Dataset make_karate();

// A way to make a graph from a line of text.
struct Generator {
  std::string name;     // before the colon: "csbm"
  std::string summary;  // one line for --help
  std::string options;  // "nodes=3000,degree=10,...": the defaults, as they would be written
  Dataset (*make)(std::string_view spec);  // takes what stands behind the colon
};
// Every generator.
const std::vector<Generator>& generators();

// "karate", "csbm" or "csbm:nodes=3000,degree=10": is the part before ':' a generator's name?
bool is_generator_spec(std::string_view spec);

// Throws qw::UsageError on an unknown generator or option.
Dataset generate(std::string_view spec);

}  // namespace qw
