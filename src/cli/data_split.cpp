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
  std::string split = "auto";
  int64_t run = 0;
  int64_t seed = -1;
  std::string out;
};

// The split of the run, and the seed it is drawn by.
struct Drawn {
  std::string spec;
  uint32_t seed = 0;
  Split split;

  bool is_stored() const { return spec.starts_with("stored"); }
};

Drawn draw(const Dataset& dataset, const SplitOptions& options) {
  const RunSplit chosen = split_of_run(dataset, options.split, options.run);
  const uint32_t seed = options.seed >= 0 ? static_cast<uint32_t>(options.seed)
                                          : kPublishedSeeds[chosen.same_draw ? 0 : options.run];
  return {chosen.spec, seed, make_split(dataset, chosen.spec, seed)};
}

nlohmann::ordered_json sizes_json(const SplitSizes& sizes) {
  const auto row = [](const SplitSizes::Row& each) {
    return nlohmann::ordered_json{
        {"class", each.name}, {"train", each.train}, {"val", each.val}, {"test", each.test}};
  };
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const SplitSizes::Row& each : sizes.classes) classes.push_back(row(each));
  return classes;
}

nlohmann::ordered_json as_json(const Dataset& dataset, const Drawn& drawn) {
  nlohmann::ordered_json document = {{"name", dataset.name}, {"split", drawn.spec}};
  if (!drawn.is_stored()) document["seed"] = drawn.seed;
  document["classes"] = sizes_json(split_sizes(dataset.targets, drawn.split));
  document["nodes"] = dataset.graph.num_nodes();
  document["train"] = drawn.split.train;
  document["val"] = drawn.split.val;
  document["test"] = drawn.split.test;
  if (dataset.node_ids.empty()) return document;
  const auto ids_of = [&](const std::vector<NodeId>& part) {
    nlohmann::ordered_json ids = nlohmann::ordered_json::array();
    for (const NodeId node : part) ids.push_back(dataset.node_id(node));
    return ids;
  };
  document["ids"] = {{"train", ids_of(drawn.split.train)},
                     {"val", ids_of(drawn.split.val)},
                     {"test", ids_of(drawn.split.test)}};
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
  refuse_two_splits("qw data split", options.data.load, options.split);
  const Dataset dataset = load(options.data);
  const Drawn drawn = draw(dataset, options);
  const Split& split = drawn.split;
  check_split(split, dataset.targets);
  for (const std::string& warning : split_warnings(split_sizes(dataset.targets, split))) say(warning);
  const nlohmann::ordered_json document = as_json(dataset, drawn);
  if (!options.out.empty()) {
    write_file_atomically(options.out,
                          options.out.ends_with(".csv") ? as_csv(dataset, split) : json_line(document));
  }
  if (global.json) {
    print_json(document);
    return;
  }
  print_text(fmt::format("{}, {}{}: {} train, {} val, {} test{}\n", dataset.name, drawn.spec,
                         drawn.is_stored() ? "" : fmt::format(", seed {}", drawn.seed), split.train.size(),
                         split.val.size(), split.test.size(),
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
  table.add(
      "split", options->split, "SPEC",
      "auto: the data's own, or as in the paper for its graphs, else stratified; or one of those below, "
      "with options after a colon");
  table.add("run", options->run, {0, kPublishedSeeds.size() - 1.0},
            "of this run: which of the ten published seeds, of the folds or of the stored splits");
  table.add("seed", options->seed, {0, 4294967295.0}, "use this seed instead");
  table.add("out", options->out, "FILE",
            "write the split here: id,split when FILE ends in .csv, JSON otherwise");
  add_options(*command, table);
  command->callback([options, &global] { make(*options, global); });
}

}  // namespace qw::cli
