// Which columns of a node table become which features.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/formats/column_summary.h"
#include "qw/graph/features.h"

namespace qw {

// One table column and the feature columns it becomes.
struct FeatureColumn {
  size_t source = 0;
  int64_t first = 0;
  double fill = 0;  // what a missing number is
  bool is_text = false;
  std::map<std::string, int64_t, std::less<>> category{};  // feature column of each value
};

struct FeaturePlan {
  std::vector<FeatureColumn> columns;
  std::vector<std::string> names;  // of the feature columns

  void add_number(size_t source, const std::string& name, double fill);
  template <class Values>
  void add_text(size_t source, const std::string& name, const Values& values) {
    FeatureColumn column{source, static_cast<int64_t>(names.size()), 0, true};
    for (const std::string& value : values) {
      column.category.emplace(value, static_cast<int64_t>(names.size()));
      names.push_back(name + "=");
      names.back() += value;
    }
    columns.push_back(std::move(column));
  }
};

struct PlannedCells {
  // The number in a cell that is not missing.
  std::function<double(const FeatureColumn&, std::string_view cell, int64_t line)> number;
  // A text that is none of the categories: it counts as none of them.
  std::function<void(const FeatureColumn&, std::string_view cell)> unseen;
};

// The features of all rows. Throws qw::Error, with the line, on numbers too large for a feature.
Features read_planned(const NodeTableText& text, const FeaturePlan& plan, const PlannedCells& cells);

}  // namespace qw
