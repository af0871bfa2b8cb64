// The transport problem that two tables of values pose: which columns and rows belong together, and what a
// node is that has no row.
#pragma once

#include <string>
#include <vector>

#include "cli/w1_values.h"

namespace qw::cli {

// What a node is whose row one of the tables lacks, or both.
enum class Absent {
  kError,
  kZero,  // its value there is 0, and it is bound to it
  kFree,  // it is not bound, and gives and takes freely
};

struct ValueQuestion {
  std::vector<NodeId> labelled;  // empty: by the rows of the tables and `absent`
  Absent absent = Absent::kError;
  bool normalize = false;  // divide each column of each table by its sum
};

struct ValueProblem {
  std::vector<std::string> columns;
  std::vector<NodeId> labelled;
  std::vector<double> mu;          // [labelled, columns]
  std::vector<double> gamma;       // [labelled, columns]
  std::vector<std::string> notes;  // what a person should know, one sentence each
};

// Columns are paired by name where both tables have headers, otherwise by position. Throws qw::Error on
// columns without a partner, on rows that are missing and not explained by the question, and on values that
// cannot be normalized.
ValueProblem pose_problem(ValueTable mu, ValueTable gamma, const ValueQuestion& question, const NodeIds& ids);

struct ColumnSums {
  double mu = 0;
  double gamma = 0;
  double magnitude = 0;  // sum of |mu| + |gamma|
  bool has_negative = false;

  // As TransportPlan judges a connected part that is wholly labelled.
  bool balanced(double tolerance) const;
};
ColumnSums sums_of_column(const ValueProblem& problem, size_t column);

// "mu sums to 1 and gamma to 1.5, and every node is bound; --normalize divides both by their sums".
std::string explain_sums(const ColumnSums& sums);

}  // namespace qw::cli
