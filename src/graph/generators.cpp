#include "qw/graph/generators.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/field_table.h"
#include "core/text.h"
#include "graph/csbm_parts.h"
#include "qw/core/error.h"

namespace qw {
namespace {

FieldTable csbm_fields(CsbmOptions& options) {
  FieldTable table("csbm");
  table.add("nodes", options.nodes, {1, static_cast<double>(kMaxNodes)}, "number of nodes");
  table.add("degree", options.degree, {0, 1e6}, "mean degree");
  table.add("homophily", options.homophily, {0, 1}, "share of edges within a class");
  table.add("features", options.features, {0, 1e6}, "feature columns");
  table.add("classes", options.classes, {1, 1e6}, "number of classes");
  table.add("signal", options.signal, {0, 1e6}, "length of the class means; the noise has length 1");
  table.add("seed", options.seed, {0, 9007199254740992.0}, "names the random graph");
  return table;
}

std::string csbm_defaults() {
  CsbmOptions options;
  return csbm_fields(options).to_spec();
}

Dataset csbm_from_spec(std::string_view spec) { return make_csbm(csbm_options(spec)); }

Dataset karate_from_spec(std::string_view spec) {
  if (!spec.empty()) fail_usage(fmt::format("karate: takes no options, but {} was given", in_quotes(spec)));
  return make_karate();
}

}  // namespace

CsbmOptions csbm_options(std::string_view spec) {
  CsbmOptions options;
  csbm_fields(options).parse_spec(spec);
  return options;
}

const std::vector<Generator>& generators() {
  static const std::vector<Generator> all = {
      {"csbm", "contextual stochastic block model of any size", csbm_defaults(), csbm_from_spec},
      {"karate", "Zachary's karate club, 34 nodes, four communities", "", karate_from_spec}};
  return all;
}

bool is_generator_spec(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  return std::any_of(generators().begin(), generators().end(),
                     [&](const Generator& g) { return g.name == name; });
}

Dataset generate(std::string_view spec) {
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  std::vector<std::string> known;
  for (const Generator& generator : generators()) {
    if (generator.name == name) {
      return generator.make(colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1));
    }
    known.push_back(generator.name);
  }
  fail_usage("generator " + unknown_name(name, known));
}

}  // namespace qw
