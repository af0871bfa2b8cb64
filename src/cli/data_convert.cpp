#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/data/save.h"

namespace qw::cli {
namespace {

struct ConvertOptions {
  DataArguments data;
  std::string to;
  std::string out;
};

void convert(const ConvertOptions& options, const GlobalOptions& global) {
  if (options.out.empty()) fail_usage("qw data convert: --out PATH is missing");
  const std::string to = format_for(options.out, options.to);
  const Dataset dataset = load(options.data);
  for (const std::string& note : save_dataset(dataset, to, options.out)) {
    say(fmt::format("{}: {}", options.out, note));
  }
  if (global.json) {
    print_json({{"name", dataset.name},
                {"to", to},
                {"out", options.out},
                {"nodes", dataset.graph.num_nodes()},
                {"edges", dataset.graph.num_edges()}});
  } else {
    print_text(fmt::format("{}: {} nodes and {} edges written to {} ({})\n", dataset.name,
                           dataset.graph.num_nodes(), dataset.graph.num_edges(), options.out, to));
  }
}

}  // namespace

void add_data_convert(CLI::App& data, const GlobalOptions& global) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = data.add_subcommand("convert", "write a graph in another format");
  options->data.load.missing_features = "none";  // a copy has what the original has
  add_data_options(*command, options->data);
  std::vector<std::string> formats;
  for (const Writer& writer : writers()) formats.push_back(writer.name);
  FieldTable table("qw data convert");
  table.add("to", options->to, join(formats, "|"),
            "format to write; without it the ending of --out says: .npz or .mtx, else csv");
  table.add("out", options->out, "PATH", "file, or folder for csv, to write");
  add_options(*command, table);
  command->callback([options, &global] { convert(*options, global); });
}

}  // namespace qw::cli
