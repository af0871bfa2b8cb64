#include "data/formats/edge_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

bool is_node(const EdgeTable& table, const std::string& name) {
  return std::find(table.names.begin(), table.names.end(), name) != table.names.end();
}

bool nodes_are_numbers(const EdgeTable& table) {
  return std::all_of(table.names.begin(), table.names.end(),
                     [](const std::string& name) { return parse_number(name).has_value(); });
}

ColumnFacts facts_of(const EdgeTable& table) {
  const EdgeList& edges = table.edges;
  ColumnFacts facts;
  facts.rows = static_cast<int64_t>(edges.heads.size());
  std::vector<char> is_tail(edges.num_nodes, 0), is_head(edges.num_nodes, 0);
  for (size_t e = 0; e < edges.heads.size(); ++e) {
    is_tail[edges.tails[e]] = 1;
    is_head[edges.heads[e]] = 1;
    facts.heads_ascend &= e == 0 || edges.heads[e] >= edges.heads[e - 1];
    facts.tails_count_up &= e == 0 || edges.tails[e] == edges.tails[e - 1] + 1;
  }
  for (NodeId node = 0; node < edges.num_nodes; ++node) {
    facts.tails += is_tail[node];
    facts.heads += is_head[node];
    facts.disjoint &= !(is_tail[node] && is_head[node]);
    if (!is_head[node] || table.names.empty()) continue;
    const auto number = parse_number(table.names[node]);
    facts.fractions += number && table.names[node].find('.') != std::string::npos;
  }
  return facts;
}

bool looks_like_labels(const EdgeLayout& layout, const ColumnFacts& facts) {
  if (facts.rows < 3 || facts.tails < facts.rows) return false;
  const bool few = 2 * facts.heads <= facts.rows;
  const bool header_says_id =
      layout.has_header && is_id_name(layout.names[layout.tail]) && !is_id_name(layout.names[layout.head]);
  if (header_says_id && (few || layout.width > 3 || 2 * facts.fractions > facts.heads)) return true;
  if (facts.rows >= 6 && facts.disjoint && facts.heads >= 2 && few) return true;
  // Numbers of nodes and of classes are the same numbers; parents in a tree are, too, but they ascend.
  return facts.rows >= 12 && facts.tails_count_up && !facts.heads_ascend && 8 * facts.heads <= facts.rows;
}

}  // namespace

bool header_is_an_edge(const EdgeTable& table) {
  const EdgeLayout& layout = table.layout;
  return layout.has_header && layout.header_is_guess &&
         (is_node(table, layout.names[layout.tail]) || is_node(table, layout.names[layout.head]));
}

bool header_is_an_edge(const EdgeTable& table, const NodeIds& ids) {
  const EdgeLayout& layout = table.layout;
  return layout.has_header && layout.header_is_guess && ids.find(layout.names[layout.tail]) &&
         ids.find(layout.names[layout.head]);
}

bool first_line_counts(const EdgeTable& table) {
  const EdgeList& edges = table.edges;
  const auto rows = static_cast<int64_t>(edges.heads.size());
  if (table.layout.has_header || table.layout.width != 2 || rows < 3) return false;
  const auto nodes = plain_number(table.name(edges.tails[0]));
  if (!nodes || parse_integer(table.name(edges.heads[0])) != rows - 1) return false;
  std::vector<char> used(edges.num_nodes, 0);
  int64_t others = 0, largest = 0;
  for (const auto* ends : {&edges.tails, &edges.heads}) {
    for (int64_t e = 1; e < rows; ++e) {
      const NodeId node = (*ends)[e];
      others += !used[node];
      used[node] = 1;
    }
  }
  for (NodeId node = 0; node < edges.num_nodes; ++node) {
    if (used[node]) largest = std::max(largest, parse_integer(table.name(node)).value_or(kMaxNodes));
  }
  return *nodes == others || *nodes == largest || *nodes == largest + 1;
}

void say_doubtful_header(EdgeTable& table) {
  const EdgeLayout& layout = table.layout;
  const EdgeList& edges = table.edges;
  if (!layout.header_is_guess || nodes_are_numbers(table) || edges.heads.size() < 2) return;
  if (layout.has_header) {
    table.notes.emplace_back("the first line was taken for a header; --header no makes it an edge");
    return;
  }
  const auto occurs_once = [&](NodeId node) {
    return std::count(edges.heads.begin(), edges.heads.end(), node) +
               std::count(edges.tails.begin(), edges.tails.end(), node) ==
           1;
  };
  if (!occurs_once(edges.tails[0]) || !occurs_once(edges.heads[0])) return;
  table.notes.emplace_back("the first line was read as an edge; --header yes makes it a header");
}

namespace {

bool says_its_ends(const EdgeLayout& layout, const LoadOptions& options) {
  return !options.source.empty() || !options.destination.empty() || layout.names_are_ends || layout.bipartite;
}

}  // namespace

void refuse_node_table(const EdgeTable& table, const LoadOptions& options) {
  if (!says_its_ends(table.layout, options)) refuse_node_table(table.layout, facts_of(table), options);
}

void refuse_node_table(const EdgeLayout& layout, const ColumnFacts& facts, const LoadOptions& options) {
  if (says_its_ends(layout, options) || !looks_like_labels(layout, facts)) return;
  fail_usage(fmt::format(
      "{}: looks like a table of nodes, not of edges: every id in column {} stands once, and column {} has "
      "{} "
      "different values; give it with --nodes, or name the ends of its edges with --source and --destination",
      layout.label, in_quotes(layout.names[layout.tail]), in_quotes(layout.names[layout.head]), facts.heads));
}

std::string negative_weights_note(int64_t negative, int64_t all) {
  if (negative == 0) return "";
  return fmt::format(
      "{} of {} edge weights are negative, but networks expect weights of at least 0; "
      "--edge-weight names another column",
      negative, all);
}

}  // namespace qw
