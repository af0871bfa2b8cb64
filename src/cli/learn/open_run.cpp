#include "cli/learn/open_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data/formats/node_ids.h"
#include "data/load_fields.h"
#include "learn/run_files.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a training has settled, for all data that it is used on.
bool is_settled(const std::string& field) {
  return is_one_of(field,
                   {"task", "one_hot", "features", "drop", "missing_features", "split_column", "split_file"});
}

FieldTable open_fields(LoadOptions& load, const std::string& context) {
  const FieldTable all = load_fields(load, context);
  FieldTable table(context);
  for (const Field& field : all.fields()) {
    if (!is_settled(field.name)) table.add(field);
  }
  return table;
}

bool names_data(const DataArguments& data) { return !data.what.empty() || !data.load.edges.empty(); }

// Calls visit(field of options, the same of untouched ones).
template <class Visit>
void for_written(LoadOptions& options, const Visit& visit) {
  LoadOptions untouched;
  const FieldTable table = load_fields(options, ""), defaults = load_fields(untouched, "");
  for (size_t k = 0; k < table.fields().size(); ++k) {
    if (table.fields()[k].text() != defaults.fields()[k].text()) visit(table.fields()[k]);
  }
}

void refuse_without_data(const RunArguments& arguments) {
  LoadOptions given = arguments.data.load;
  for_written(given, [](const Field& field) {
    std::string option = "--" + field.name;
    std::replace(option.begin(), option.end(), '_', '-');
    fail_usage(fmt::format("qw: {} is about other data than the training's: name that with --edges or --data",
                           option));
  });
}

// The training's options hold for other data, too, where it is read by the same reader.
void inherit(LoadOptions trained, bool same_reader, LoadOptions& load) {
  LoadOptions written = load;
  std::vector<std::string> own;
  for_written(written, [&](const Field& field) { own.push_back(field.name); });
  const FieldTable table = load_fields(load, "qw");
  for_written(trained, [&](const Field& field) {
    const bool everywhere = is_one_of(field.name, {"directed", "self_loops", "duplicate_edges"});
    if (is_one_of(field.name, {"edges", "nodes"}) || !(same_reader || everywhere)) return;
    if (std::find(own.begin(), own.end(), field.name) != own.end()) return;
    const auto here = std::find_if(table.fields().begin(), table.fields().end(),
                                   [&](const Field& each) { return each.name == field.name; });
    here->set(field.text(), "qw", field.name);
  });
}

// Its folder keeps nothing of the data: that must still be what it was.
TrainingMemory memory_of_old_layout(const RunArguments& arguments, const TrainRequest& request,
                                    const std::string& config) {
  say(fmt::format("{} was made by an older qw, which kept nothing of its data: that is taken as it is now",
                  arguments.folder));
  return make_memory(load(data_from_json(request.data, config)), request);
}

Dataset load_again(const RunArguments& arguments, const DataArguments& data) {
  if (names_data(arguments.data)) return load(data);
  try {
    return load(data);
  } catch (const Error& error) {
    fail(fmt::format(
        "{}; this is the training's data as it is now: --edges and --nodes, or --data, name other",
        error.what()));
  }
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, const std::string& name, const std::string& summary,
                          RunArguments& arguments) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->add_option("run_folder", arguments.folder, "a folder that qw train --out made")
      ->required()
      ->type_name("RUN")
      ->check(not_empty());
  FieldTable table("qw " + name);
  table.add("run", arguments.run, {0, 1e6}, "which of its runs");
  table.add("data", arguments.data.what, "DATA",
            "other data than the training's: columns and classes are matched by name, nodes by id");
  add_options(*command, table);
  add_options(*command, open_fields(arguments.data.load, "qw " + name));
  return command;
}

std::filesystem::path finished_run(const std::string& folder, int64_t run) {
  std::filesystem::path one = run_folder(folder, run);
  if (!std::filesystem::exists(one / "summary.json")) {
    fail(fmt::format("{} is not finished; go on with: qw train --resume {}", one.string(), folder));
  }
  return one;
}

DataArguments data_as_trained(const DataArguments& given, const TrainRequest& request,
                              const TrainingMemory& memory, const std::string& config_file) {
  const bool of_a_program = request.data.is_null() && names_data(given);  // it had its data in memory
  const DataArguments trained = of_a_program ? DataArguments() : data_from_json(request.data, config_file);
  DataArguments data = names_data(given) ? given : trained;
  const bool is_csv = memory.trained_on.schema.format == "csv";
  if (names_data(given)) inherit(trained.load, is_csv, data.load);
  if (is_csv && given.load.id.empty()) data.load.id.clear();
  if (is_csv && given.load.target.empty()) data.load.target.clear();
  const LoadOptions untouched;
  data.load.task = untouched.task;
  data.load.one_hot = untouched.one_hot;
  data.load.features = untouched.features;
  data.load.drop = untouched.drop;
  data.load.missing_features = untouched.missing_features;
  data.load.split_column = untouched.split_column;
  data.load.split_file = untouched.split_file;
  data.load.as_trained = std::make_shared<DataSchema>(memory.trained_on.schema);
  return data;
}

NodeId find_node(const Dataset& dataset, const std::string& id, const std::string& command) {
  if (dataset.node_ids.empty()) {
    const auto number = plain_number(id);
    if (number && *number < dataset.graph.num_nodes()) return *number;
    fail_usage(fmt::format("{}: --node {} is no node of {}; its nodes are 0 to {}", command, in_quotes(id),
                           dataset.name, dataset.graph.num_nodes() - 1));
  }
  const auto found = std::find(dataset.node_ids.begin(), dataset.node_ids.end(), id);
  if (found != dataset.node_ids.end()) return static_cast<NodeId>(found - dataset.node_ids.begin());
  const auto near = closest(id, dataset.node_ids);
  fail_usage(fmt::format("{}: --node {} is no node of {}{}", command, in_quotes(id), dataset.name,
                         near ? fmt::format("; did you mean {}?", in_quotes(*near)) : ""));
}

OpenedRun open_run(const RunArguments& arguments) {
  prepare_libtorch();
  if (!names_data(arguments.data)) refuse_without_data(arguments);
  const std::filesystem::path folder = arguments.folder;
  const std::string config = (folder / "config.json").string();
  if (std::filesystem::exists(folder / "search") && !std::filesystem::exists(config))
    fail(fmt::format("{} is not finished; the same qw fit goes on", arguments.folder));
  OpenedRun opened;
  opened.request = read_request(arguments.folder);
  if (arguments.run >= opened.request.runs) {
    fail_usage(
        opened.request.runs == 1
            ? fmt::format("{} has one run, run 0, so there is no run {}", arguments.folder, arguments.run)
            : fmt::format("{} has the runs 0 to {}, so there is no run {}", arguments.folder,
                          opened.request.runs - 1, arguments.run));
  }
  opened.folder = finished_run(arguments.folder, arguments.run);
  opened.memory = is_of_older_qw(arguments.folder) ? memory_of_old_layout(arguments, opened.request, config)
                                                   : read_memory(arguments.folder);
  opened.dataset =
      load_again(arguments, data_as_trained(arguments.data, opened.request, opened.memory, config));
  const DataChanges changes = changes_since(opened.memory.trained_on, opened.dataset);
  if (!changes.none()) {
    const bool one =
        changes.features == 0 && changes.nodes + changes.edges + changes.labels + changes.directions == 1;
    say(fmt::format("{}: {} {} from the training's", opened.dataset.name, changes.text(),
                    one ? "differs" : "differ"));
  }
  return opened;
}

}  // namespace qw::cli
