// What a finished training has to say, as one HTML file that needs nothing else.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/node_explanation.h"

namespace QW_PUBLIC qw {

// What a page shows beside what the folder has.
struct ReportOptions {
  std::string title{};  // above the page; empty: what was learned
  // Explains nodes by their ids: explain_nodes() of qw/learn/explain.h does, for the first run. Empty: the
  // page explains none. What it throws becomes a sentence of the page, unless `nodes` names some.
  std::function<std::vector<NodeExplanation>(const std::vector<std::string>& ids)> explain{};
  // Ids of nodes to explain. Empty: test nodes that are wrong and most sure of it and the least sure, or
  // those whose values are most wrong; none of graphs with over 100,000 nodes.
  std::vector<std::string> nodes{};
};

// Of a folder that `qw train --out` or `qw fit --out` made. Throws qw::Error when the folder is no finished
// training, or is damaged.
std::string report_html(const std::filesystem::path& run, const ReportOptions& options = {});

// Of several such folders, the others beside the first: paired differences with their intervals, as `qw
// compare` finds them. Throws qw::Error as above, and when two cannot be paired.
std::string comparison_html(const std::vector<std::filesystem::path>& runs,
                            const ReportOptions& options = {});

}  // namespace qw
