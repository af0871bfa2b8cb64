#include "cli/learn/node_layout.h"

#if QW_GRAPHVIZ
#include <gvc.h>

#include <memory>
#include <string>
#endif

namespace qw::cli {

#if QW_GRAPHVIZ
namespace {

// Graphviz takes its texts as they are, but not as constants.
void set_default(Agraph_t* graph, int kind, std::string name, std::string value) {
  agattr(graph, kind, name.data(), value.data());
}

}  // namespace

void lay_out(Neighbourhood& around) {
  const std::unique_ptr<GVC_t, int (*)(GVC_t*)> context(gvContext(), gvFreeContext);
  std::string name = "around";
  const std::unique_ptr<Agraph_t, int (*)(Agraph_t*)> graph(agopen(name.data(), Agundirected, nullptr),
                                                            agclose);
  set_default(graph.get(), AGRAPH, "start", "1");  // of its random numbers
  set_default(graph.get(), AGRAPH, "overlap", "scalexy");
  set_default(graph.get(), AGNODE, "label", "");
  set_default(graph.get(), AGNODE, "shape", "box");
  set_default(graph.get(), AGNODE, "fixedsize", "true");
  set_default(graph.get(), AGNODE, "width", "1.2");  // inches: room for the name below
  set_default(graph.get(), AGNODE, "height", "0.5");
  std::vector<Agnode_t*> nodes;
  for (size_t k = 0; k < around.nodes.size(); ++k) {
    std::string place = std::to_string(k);
    nodes.push_back(agnode(graph.get(), place.data(), 1));
  }
  for (const DrawnEdge& edge : around.edges)
    agedge(graph.get(), nodes[edge.from], nodes[edge.to], nullptr, 1);
  if (gvLayout(context.get(), graph.get(), "neato") != 0) return;
  for (size_t k = 0; k < around.nodes.size(); ++k) {
    around.nodes[k].x = ND_coord(nodes[k]).x;
    around.nodes[k].y = ND_coord(nodes[k]).y;
  }
  around.has_positions = true;
  gvFreeLayout(context.get(), graph.get());
}
#else
void lay_out(Neighbourhood&) {}
#endif

}  // namespace qw::cli
