#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "core/file.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/graph/split_spec.h"

namespace qw::cli {
namespace {

struct SplitOptions {
  DataArguments data;
  std::string split = "published";
  int64_t run = 0;
  int64_t seed = -1;
  std::string out;
};

uint32_t seed_of(const SplitOptions& options) {
  return options.seed >= 0 ? static_cast<uint32_t>(options.seed) : kPublishedSeeds[options.run];
}

bool is_stored(const SplitOptions& options) { return options.split.starts_with("stored"); }

nlohmann::ordered_json as_json(const Dataset& dataset, const SplitOptions& options, const Split& split) {
  nlohmann::ordered_json document = {{"name", dataset.name}, {"split", options.split}};
  if (!is_stored(options)) document["seed"] = seed_of(options);
  document["train"] = split.train;
  document["val"] = split.val;
  document["test"] = split.test;
  return document;
}

std::string as_csv(const Dataset& dataset, const Split& split) {
  std::vector<const char*> part(dataset.graph.num_nodes(), "");
  for (const NodeId node : split.train) part[node] = "train";
  for (const NodeId node : split.val) part[node] = "val";
  for (const NodeId node : split.test) part[node] = "test";
  std::string text = "id,split\n";
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node) {
    text += fmt::format("{},{}\n", csv_field(dataset.node_id(node)), part[node]);
  }
  return text;
}

void make(const SplitOptions& options, const GlobalOptions& global) {
  const Dataset dataset = load(options.data);
  const Split split = make_split(dataset, options.split, seed_of(options));
  check_split(split, dataset.targets);
  const nlohmann::ordered_json document = as_json(dataset, options, split);
  if (!options.out.empty()) {
    write_file_atomically(options.out,
                          options.out.ends_with(".csv") ? as_csv(dataset, split) : json_line(document));
  }
  if (global.json) {
    print_json(document);
    return;
  }
  print_text(fmt::format("{}, {}{}: {} train, {} val, {} test{}\n", dataset.name, options.split,
                         is_stored(options) ? "" : fmt::format(", seed {}", seed_of(options)),
                         split.train.size(), split.val.size(), split.test.size(),
                         options.out.empty() ? "" : ", written to " + options.out));
}

}  // namespace

void add_data_split(CLI::App& data, const GlobalOptions& global) {
  auto options = std::make_shared<SplitOptions>();
  CLI::App* command = data.add_subcommand("split", "who trains, who validates, who tests");
  options->data.load.missing_features = "none";
  add_data_options(*command, options->data);
  std::string methods;
  for (const SplitMethod& method : split_methods()) {
    methods += fmt::format("\n  {}:{}  {}", method.name, method.options, method.summary);
  }
  command->footer("Splits, with their defaults:" + methods);
  FieldTable table("qw data split");
  table.add("split", options->split, "SPEC",
            "published, per-class, random or stored, with options after a colon");
  table.add("run", options->run, {0, kPublishedSeeds.size() - 1.0},
            "use this one of the ten published seeds");
  table.add("seed", options->seed, {0, 4294967295.0}, "use this seed instead");
  table.add("out", options->out, "FILE",
            "write the split here: id,split when FILE ends in .csv, JSON otherwise");
  add_options(*command, table);
  command->callback([options, &global] { make(*options, global); });
}

}  // namespace qw::cli
