// Loads any graph that `qw data info` loads and says how it is split by the published protocol.
#include <iostream>

#include "qw/core.h"
#include "qw/data.h"
#include "qw/graph.h"

int main(int argc, char** argv) {
  try {
    const qw::Dataset dataset = qw::load_dataset(argc > 1 ? argv[1] : "karate");
    std::cout << dataset.graph.num_nodes() << " nodes, " << dataset.graph.num_edges() << " edges\n";
    if (const auto rate = qw::intra_edge_rate(dataset.graph, dataset.targets)) {
      std::cout << 100 * *rate << " % of the edges stay within a class\n";
    }
    const qw::Split split = qw::make_split(dataset, "published", qw::kPublishedSeeds[0]);
    std::cout << split.train.size() << " train, " << split.val.size() << " val, " << split.test.size()
              << " test\n";
  } catch (const qw::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
