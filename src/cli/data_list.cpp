#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/readers/reader.h"
#include "qw/data/card.h"
#include "qw/data/save.h"
#include "qw/graph/generators.h"

namespace qw::cli {
namespace {

nlohmann::ordered_json as_json() {
  nlohmann::ordered_json document;
  document["cache"] = cache_folder().string();
  for (const DatasetCard& card : dataset_cards()) {
    document["datasets"].push_back({{"name", card.name},
                                    {"title", card.title},
                                    {"source", card.source},
                                    {"nodes", card.nodes},
                                    {"edges", card.edges},
                                    {"features", card.features},
                                    {"classes", card.classes},
                                    {"directed", card.directed},
                                    {"cached", is_cached(card)},
                                    {"warning", card.warning}});
  }
  for (const Generator& generator : generators()) {
    document["generators"].push_back(
        {{"name", generator.name}, {"summary", generator.summary}, {"options", generator.options}});
  }
  for (const Reader& reader : readers()) {
    document["formats"].push_back({{"name", reader.name}, {"expects", reader.expects}});
  }
  return document;
}

std::string as_text() {
  TextTable datasets({"name", "nodes", "edges", "features", "classes", "cached", "what it is"});
  for (const DatasetCard& card : dataset_cards()) {
    datasets.add({card.name, with_thousands(card.nodes), with_thousands(card.edges),
                  with_thousands(card.features), card.classes == 0 ? "values" : std::to_string(card.classes),
                  is_cached(card) ? "yes" : "no", card.title});
  }
  std::string text = datasets.text() + "\nGenerators\n";
  for (const Generator& generator : generators()) {
    text += fmt::format("  {}{}{}: {}\n", generator.name, generator.options.empty() ? "" : ":",
                        generator.options, generator.summary);
  }
  text += "\nFormats\n";
  for (const Reader& reader : readers()) text += fmt::format("  {}: {}\n", reader.name, reader.expects);
  return text + fmt::format("\nCache: {}\n", cache_folder().string());
}

}  // namespace

void add_data_list(CLI::App& data, const GlobalOptions& global) {
  CLI::App* list = data.add_subcommand("list", "data sets known by name, generators and file formats");
  list->callback([&global] {
    if (global.json) {
      print_json(as_json());
    } else {
      print_text(as_text());
    }
  });
}

}  // namespace qw::cli
