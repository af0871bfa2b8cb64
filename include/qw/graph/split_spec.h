// Splits by name, as written after --split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// A way to split the nodes that has a name.
struct SplitMethod {
  std::string name;     // before the colon: "stratified"
  std::string summary;  // one line for --help
  std::string options;  // "train=0.6,val=0.2": the defaults, as they would be written
  Split (*make)(const Dataset& dataset, std::string_view options,
                uint32_t seed);  // `options`: what stands behind the colon
};

// stratified, kfold, published, per-class, random and stored.
const std::vector<SplitMethod>& split_methods();

// "stratified", "kfold:k=5,fold=0", "published", "per-class:train=20,val=500,test=1000",
// "random:train=0.5,val=0.25", "stored:index=3". Throws qw::UsageError on an unknown method or option, and
// when the data set has too few labels for what is asked.
Split make_split(const Dataset& dataset, std::string_view spec, uint32_t seed);

// What "auto" stands for: the data set's default_split if it has one; else the splits stored with it (masks,
// a split column, a split file); else "stratified". The paper's graphs without masks, loaded under their
// names, have the default "published".
std::string automatic_split(const Dataset& dataset);

// The split of one of several runs: "stored" takes turns, "kfold" goes fold by fold, the others have a seed
// for each run. `spec` may be "auto".
struct RunSplit {
  std::string spec;        // for make_split
  bool same_draw = false;  // it wants the seed of run 0 in every run
};
RunSplit split_of_run(const Dataset& dataset, std::string_view spec, int64_t run);

// How many nodes of each class (or label) are in each part, and in all.
struct SplitSizes {
  // Counts of one class, or of all nodes.
  struct Row {
    std::string name;                      // of the class; empty for all nodes
    int64_t train = 0, val = 0, test = 0;  // nodes in each part
  };
  Row all;                   // every node of the split
  std::vector<Row> classes;  // empty for values
};
SplitSizes split_sizes(const Targets& targets, const Split& split);
// What makes numbers on this split doubtful, one sentence each: parts without nodes, classes that are missing
// from a part.
std::vector<std::string> split_warnings(const SplitSizes& sizes);

}  // namespace qw
