#include "cli/w1_pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

constexpr const char* kAbsentOptions =
    "--absent zero makes missing values 0, --absent free lets such nodes give and take freely";

// Those of `names` that `others` lacks, for a message.
std::string names_lacking(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> lacking;
  for (const std::string& name : names) {
    if (std::ranges::find(others, name) == others.end()) lacking.push_back(in_quotes(name));
  }
  if (lacking.size() > kMostNamed) {
    const size_t more = lacking.size() - kMostNamed;
    lacking.resize(kMostNamed);
    lacking.push_back(fmt::format("{} more", more));
  }
  return join(lacking, ", ");
}

// For each column of mu the one of gamma; by name.
std::vector<size_t> pairs_by_name(const ValueTable& mu, const ValueTable& gamma) {
  std::string problem;
  for (const auto& [table, other] : {std::pair{&mu, &gamma}, std::pair{&gamma, &mu}}) {
    const std::string lacking = names_lacking(table->columns, other->columns);
    if (lacking.empty()) continue;
    problem += fmt::format("{}{} has the columns {}, which {} has not", problem.empty() ? "" : ", and ",
                           table->file, lacking, other->file);
  }
  if (!problem.empty()) fail(problem + "; columns are paired by name: rename them or leave them out");
  std::vector<size_t> partner;
  for (const std::string& name : mu.columns) {
    partner.push_back(std::ranges::find(gamma.columns, name) - gamma.columns.begin());
  }
  return partner;
}

void pair_columns(ValueTable& mu, ValueTable& gamma, std::vector<std::string>& notes) {
  const size_t width = mu.columns.size();
  const bool single = width == 1 && gamma.columns.size() == 1;
  if (mu.has_header && gamma.has_header && !single) {
    const std::vector<size_t> partner = pairs_by_name(mu, gamma);
    std::vector<double> values(gamma.values.size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = gamma.values[i / width * width + partner[i % width]];
    gamma.values = std::move(values);
    gamma.columns = mu.columns;
    return;
  }
  if (width != gamma.columns.size()) {
    fail(fmt::format("{} has {}, {} has {}; without headers in both files columns are paired by position",
                     mu.file, counted(static_cast<int64_t>(width), "value column"), gamma.file,
                     counted(static_cast<int64_t>(gamma.columns.size()), "value column")));
  }
  if (mu.has_header != gamma.has_header) {
    const ValueTable& named = mu.has_header ? mu : gamma;
    const ValueTable& nameless = mu.has_header ? gamma : mu;
    if (!single) {
      notes.push_back(
          fmt::format("{} has no header: its columns are taken in the order of {} (--mu, --gamma); give it a "
                      "header to pair them by name",
                      nameless.file, named.file));
    }
    mu.columns = named.columns;
  } else if (mu.columns != gamma.columns) {
    notes.push_back(
        fmt::format("column {} of {} (--mu) is compared with column {} of {} (--gamma): each file has one",
                    in_quotes(mu.columns[0]), mu.file, in_quotes(gamma.columns[0]), gamma.file));
  }
}

void normalize(ValueTable& table) {
  const size_t width = table.columns.size();
  std::vector<double> sums(width, 0.0);
  for (size_t i = 0; i < table.values.size(); ++i) {
    if (table.values[i] < 0) {
      fail_at_line(table.file, table.lines[i / width],
                   fmt::format("{} in column {} is negative; --normalize is for masses, which are at least 0",
                               table.values[i], in_quotes(table.columns[i % width])));
    }
    sums[i % width] += table.values[i];
  }
  for (size_t c = 0; c < width; ++c) {
    if (sums[c] > 0 && std::isfinite(sums[c])) continue;
    fail(fmt::format("{}: column {} sums to {}; --normalize needs a positive, finite sum", table.file,
                     in_quotes(table.columns[c]), sums[c]));
  }
  for (size_t i = 0; i < table.values.size(); ++i) table.values[i] /= sums[i % width];
}

// The rows of the nodes in a table, -1 where there is none.
std::vector<int64_t> rows_of_nodes(const ValueTable& table, int64_t num_nodes) {
  std::vector<int64_t> rows(num_nodes, -1);
  for (size_t row = 0; row < table.nodes.size(); ++row) rows[table.nodes[row]] = static_cast<int64_t>(row);
  return rows;
}

struct RowPair {
  const ValueTable& mu;
  const ValueTable& gamma;
  std::vector<int64_t> mu_row;     // [N]
  std::vector<int64_t> gamma_row;  // [N]
};

// `wanted` are the nodes that should be in both tables; `why_in_mu` says who asks for them there.
void require_rows(const RowPair& rows, const std::vector<NodeId>& wanted, const NodeIds& ids,
                  const std::string& why_in_mu, const std::string& why_in_gamma, const char* advice) {
  const auto require = [&](const ValueTable& table, const std::vector<int64_t>& row, const std::string& why) {
    int64_t lacking = 0;
    NodeId first = -1;
    for (const NodeId node : wanted) {
      if (row[node] >= 0) continue;
      if (lacking++ == 0) first = node;
    }
    if (lacking == 0) return;
    const std::string others = lacking == 1 ? "" : fmt::format(" and {}", counted(lacking - 1, "other"));
    fail(fmt::format("{}: has no row for node {}{}, {}; {}", table.file, in_quotes(id_of(ids, first)), others,
                     why, advice));
  };
  require(rows.gamma, rows.gamma_row, why_in_gamma);
  require(rows.mu, rows.mu_row, why_in_mu);
}

void require_all_rows(const RowPair& rows, const NodeIds& ids) {
  std::vector<NodeId> listed;
  int64_t in_neither = 0;
  NodeId first = -1;
  for (NodeId node = 0; node < ids.size(); ++node) {
    if (rows.mu_row[node] >= 0 || rows.gamma_row[node] >= 0) {
      listed.push_back(node);
    } else if (in_neither++ == 0) {
      first = node;
    }
  }
  require_rows(rows, listed, ids, "listed in " + rows.gamma.file, "listed in " + rows.mu.file,
               kAbsentOptions);
  if (in_neither == 0) return;
  fail(
      fmt::format("{} of the {} nodes of the graph are in neither {} nor {}, the first is {}: --absent zero "
                  "makes their values 0, --absent free or --labelled lets them give and take freely",
                  with_thousands(in_neither), with_thousands(ids.size()), rows.mu.file, rows.gamma.file,
                  in_quotes(id_of(ids, first))));
}

std::vector<NodeId> nodes_in_both(const RowPair& rows, const NodeIds& ids) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < ids.size(); ++node) {
    if (rows.mu_row[node] >= 0 && rows.gamma_row[node] >= 0) nodes.push_back(node);
  }
  if (nodes.empty()) {
    fail(fmt::format("no node is in both {} and {}, so that --absent free binds none and all distances are 0",
                     rows.mu.file, rows.gamma.file));
  }
  return nodes;
}

// Rows that are not used were left out on purpose, or by a mistake in the ids.
void note_unused_rows(const RowPair& rows, const std::vector<NodeId>& labelled, const char* option,
                      std::vector<std::string>& notes) {
  for (const ValueTable* table : {&rows.mu, &rows.gamma}) {
    const std::vector<int64_t>& row = table == &rows.mu ? rows.mu_row : rows.gamma_row;
    const auto used = std::ranges::count_if(labelled, [&](NodeId node) { return row[node] >= 0; });
    const int64_t unused = static_cast<int64_t>(table->nodes.size()) - used;
    if (unused == 0) continue;
    notes.push_back(fmt::format("{}: {} not used, of nodes that {} leaves free", table->file,
                                counted(unused, "row") + (unused == 1 ? " is" : " are"), option));
  }
}

std::vector<NodeId> labelled_nodes(const RowPair& rows, const ValueQuestion& question, const NodeIds& ids,
                                   std::vector<std::string>& notes) {
  if (!question.labelled.empty()) {
    if (question.absent != Absent::kZero) {
      const std::string why = "named by --labelled";
      require_rows(rows, question.labelled, ids, why, why, "--absent zero makes missing values 0");
    }
    note_unused_rows(rows, question.labelled, "--labelled", notes);
    return question.labelled;
  }
  if (question.absent == Absent::kFree) {
    std::vector<NodeId> labelled = nodes_in_both(rows, ids);
    note_unused_rows(rows, labelled, "--absent free", notes);
    return labelled;
  }
  if (question.absent == Absent::kError) require_all_rows(rows, ids);
  std::vector<NodeId> all(ids.size());
  std::iota(all.begin(), all.end(), NodeId{0});
  return all;
}

std::vector<double> values_of(const ValueTable& table, const std::vector<int64_t>& row_of,
                              const std::vector<NodeId>& labelled) {
  const size_t width = table.columns.size();
  std::vector<double> values(labelled.size() * width, 0.0);
  for (size_t i = 0; i < labelled.size(); ++i) {
    const int64_t row = row_of[labelled[i]];
    if (row >= 0) std::copy_n(table.values.begin() + row * width, width, values.begin() + i * width);
  }
  return values;
}

}  // namespace

ValueProblem pose_problem(ValueTable mu, ValueTable gamma, const ValueQuestion& question,
                          const NodeIds& ids) {
  ValueProblem problem;
  pair_columns(mu, gamma, problem.notes);
  const RowPair rows{mu, gamma, rows_of_nodes(mu, ids.size()), rows_of_nodes(gamma, ids.size())};
  problem.labelled = labelled_nodes(rows, question, ids, problem.notes);
  if (question.normalize) {
    normalize(mu);
    normalize(gamma);
  }
  problem.mu = values_of(mu, rows.mu_row, problem.labelled);
  problem.gamma = values_of(gamma, rows.gamma_row, problem.labelled);
  problem.columns = std::move(mu.columns);
  return problem;
}

bool ColumnSums::balanced(double tolerance) const { return std::fabs(gamma - mu) <= tolerance * magnitude; }

ColumnSums sums_of_column(const ValueProblem& problem, size_t column) {
  ColumnSums sums;
  for (size_t i = column; i < problem.mu.size(); i += problem.columns.size()) {
    sums.mu += problem.mu[i];
    sums.gamma += problem.gamma[i];
    sums.magnitude += std::fabs(problem.mu[i]) + std::fabs(problem.gamma[i]);
    sums.has_negative = sums.has_negative || problem.mu[i] < 0 || problem.gamma[i] < 0;
  }
  return sums;
}

std::string explain_sums(const ColumnSums& sums) {
  constexpr double kRounding = 1e-3;  // relative; what a few printed digits lose
  const std::string what =
      fmt::format("mu sums to {:.12g} and gamma to {:.12g}, and every node is bound", sums.mu, sums.gamma);
  if (sums.has_negative || !(sums.mu > 0) || !(sums.gamma > 0)) {
    return what + "; make the sums equal, or let --labelled leave nodes free";
  }
  if (std::fabs(sums.gamma - sums.mu) < kRounding * std::max(sums.mu, sums.gamma)) {
    return what + "; so small a difference is often rounding: --normalize divides both by their sums";
  }
  return what + "; --normalize divides both by their sums, --labelled leaves nodes free";
}

}  // namespace qw::cli
