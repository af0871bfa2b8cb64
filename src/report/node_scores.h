// What a metric is the mean of: a number for each node, from a run's predictions.csv.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qw {

struct NodeScores {
  std::vector<std::string> ids;
  std::vector<double> scores;  // of each; their mean is the metric
};

// Whether the metric is such a mean: accuracy, mse, mae, r2.
bool is_mean_over_nodes(const std::string& metric);

// Of the nodes of a part ("test") that have a label. Throws qw::Error when the file is none of qw's, or has
// several values for each node.
NodeScores read_node_scores(const std::filesystem::path& predictions, const std::string& part,
                            const std::string& metric);

}  // namespace qw
