#include "cli/learn/report_nodes.h"

#include "cli/learn/node_layout.h"
#include "cli/learn/open_run.h"
#include "qw/learn/explain.h"

namespace qw::cli {
namespace {

std::vector<NodeExplanation> explain_nodes_of(const std::string& folder,
                                              const std::vector<std::string>& ids) {
  RunArguments run;
  run.folder = folder;
  const OpenedRun opened = open_run(run);
  std::vector<NodeId> nodes;
  nodes.reserve(ids.size());
  for (const std::string& id : ids) nodes.push_back(find_node(opened.dataset, id, "qw report"));
  ExplainOptions options;
  options.top = 8;
  std::vector<NodeExplanation> explanations =
      explain_nodes(opened.folder, opened.request, opened.memory, opened.dataset, nodes, options);
  for (NodeExplanation& each : explanations) lay_out(each.around);
  return explanations;
}

}  // namespace

std::string explained_report(const std::string& folder, ReportOptions options) {
  options.explain = [&](const std::vector<std::string>& ids) { return explain_nodes_of(folder, ids); };
  return report_html(folder, options);
}

}  // namespace qw::cli
