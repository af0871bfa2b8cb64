#include "qw/data/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/text.h"
#include "data/cache.h"
#include "data/formats/encoding.h"
#include "data/load_fields.h"
#include "data/load_steps.h"
#include "data/missing_features.h"
#include "data/readers/reader.h"
#include "data/split_file.h"
#include "data/verification.h"
#include "qw/core/error.h"
#include "qw/data/card.h"
#include "qw/data/check.h"
#include "qw/data/download.h"
#include "qw/data/partition.h"
#include "qw/graph/generators.h"
#include "qw/graph/statistics.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

// What the card says, overruled by what the user says.
LoadOptions merged(LoadOptions card, LoadOptions user) {
  LoadOptions defaults;
  const FieldTable result = load_fields(card, "");
  const FieldTable given = load_fields(user, "");
  const FieldTable untouched = load_fields(defaults, "");
  for (size_t k = 0; k < given.fields().size(); ++k) {
    const std::string text = given.fields()[k].text();
    if (text != untouched.fields()[k].text()) result.fields()[k].set(text, "", "");
  }
  card.as_trained = user.as_trained;
  return card;
}

bool heeds(std::string_view reader, std::string_view option) {
  for (const char* any : {"directed", "one_hot", "missing_features", "split_file"}) {
    if (option == any) return true;
  }
  if (option == "self_loops" || option == "duplicate_edges") return !reader.empty();
  return reader == kCsvReader.name || (reader == kOgbReader.name && option == "target");
}

}  // namespace

void refuse_unheeded(const LoadOptions& options, std::string_view reader, const std::string& what) {
  LoadOptions given = options;
  LoadOptions defaults;
  const FieldTable table = load_fields(given, "");
  const FieldTable untouched = load_fields(defaults, "");
  for (size_t k = 0; k < table.fields().size(); ++k) {
    const Field& field = table.fields()[k];
    if (heeds(reader, field.name) || field.text() == untouched.fields()[k].text()) continue;
    std::string option = "--" + field.name;
    std::replace(option.begin(), option.end(), '_', '-');
    const bool of_files = heeds(kCsrNpzReader.name, field.name);
    fail_usage(fmt::format("{} is for {}; {} has no use for it", option, of_files ? "files" : "your own CSV",
                           in_quotes(what)));
  }
}

std::string given_option(const LoadOptions& options) {
  LoadOptions given = options, defaults;
  const FieldTable table = load_fields(given, ""), untouched = load_fields(defaults, "");
  for (size_t k = 0; k < table.fields().size(); ++k) {
    if (table.fields()[k].text() == untouched.fields()[k].text()) continue;
    std::string option = "--" + table.fields()[k].name;
    std::replace(option.begin(), option.end(), '_', '-');
    return option;
  }
  return "";
}

namespace {

Dataset read_card(const DatasetCard& card, const fs::path& folder, const LoadOptions& options) {
  refuse_unheeded(options, card.reader, card.name);
  const LoadOptions all = merged(card.options, options);
  Dataset dataset = reader_named(card.reader).read(FolderFiles(folder), card.entry, all);
  dataset.name = card.name;
  dataset.of_paper = card.of_paper;
  // Planetoid's files have no masks: their one split is a convention of the format.
  const bool has_masks = !dataset.splits.empty() && card.reader != kPlanetoidReader.name;
  if (card.of_paper && !has_masks) dataset.default_split = "published";
  if (!card.warning.empty()) dataset.notes.push_back(card.warning);
  check_consistent(dataset);
  return dataset;
}

Dataset load_card(const DatasetCard& card, const LoadOptions& options) {
  if (!is_cached(card)) {
    const char* mirror = std::getenv("QW_DATA_MIRROR");
    if (mirror == nullptr || *mirror == '\0') {
      fail(fmt::format("{} is not in the cache, {}; get it with: qw data get {}", card.name,
                       dataset_folder(card).string(), card.name));
    }
    DownloadOptions download;
    download.check_contents = check_downloaded_file;
    fetch_dataset(card, download);
  }
  verify_cached(card);
  return read_card(card, dataset_folder(card), options);
}

}  // namespace

const DatasetCard* card_of_folder(const fs::path& folder) {
  const fs::path name = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  const DatasetCard* card = find_card(name.string());
  if (card == nullptr) return nullptr;
  const bool complete = std::all_of(card->files.begin(), card->files.end(), [&](const FileCard& file) {
    std::error_code ignored;
    return fs::is_regular_file(folder / file.name, ignored);
  });
  return complete ? card : nullptr;
}

namespace {

// A partition is the data that was cut.
Dataset read_partition(const fs::path& folder, const LoadOptions& options) {
  refuse_unheeded(options, "", folder.string());
  if (options.directed) {
    fail_usage(fmt::format("{} keeps the edges as they were when it was cut; leave --directed out",
                           in_quotes(folder.string())));
  }
  return join_partition(open_partition(folder));
}

Dataset read_path(const fs::path& path, const LoadOptions& options) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (is_folder && is_partition(path)) return read_partition(path, options);
  if (is_folder) {
    if (const DatasetCard* card = card_of_folder(path)) return read_card(*card, path, options);
  }
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const FolderFiles files(is_folder ? path : parent);
  const std::string entry = is_folder ? "" : path.filename().string();
  std::vector<std::string> tried;
  for (const Reader& reader : readers()) {
    if (reader.recognises(files, entry)) {
      refuse_unheeded(options, reader.name, path.string());
      Dataset dataset = reader.read(files, entry, options);
      check_consistent(dataset);
      return dataset;
    }
    tried.push_back(fmt::format("{} ({})", reader.name, reader.expects));
  }
  fail(fmt::format("{}: is in no format known here; tried {}", path.string(), join(tried, ", ")));
}

}  // namespace

bool is_csv_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return false;
  const FolderFiles files(path.has_parent_path() ? path.parent_path() : fs::path("."));
  const std::string entry = path.filename().string();
  if (!kCsvReader.recognises(files, entry)) return false;
  const auto claims = [&](const Reader& reader) { return reader.recognises(files, entry); };
  const auto first = std::find_if(readers().begin(), readers().end(), claims);
  return first->name == kCsvReader.name;
}

namespace {

[[noreturn]] void fail_unknown(const std::string& what) {
  const bool looks_like_a_path = what.find_first_of("/.") != std::string::npos;
  if (looks_like_a_path)
    fail_usage(fmt::format("--data {}: there is no such file or folder", in_quotes(what)));
  std::vector<std::string> names;
  for (const DatasetCard& card : dataset_cards()) names.push_back(card.name);
  for (const Generator& generator : generators()) names.push_back(generator.name);
  fail_usage(fmt::format("--data {}; it is no file or folder either", unknown_name(what, names)));
}

}  // namespace

FieldTable load_fields(LoadOptions& options, std::string context) {
  FieldTable table(std::move(context));
  table.add("directed", options.directed, "keep edges directed, as given, instead of once per pair of nodes");
  const std::vector<std::string> policies = {"drop", "keep", "error"};
  table.add_choice("self_loops", options.self_loops, policies, "edges from a node to itself");
  table.add_choice("duplicate_edges", options.duplicate_edges, policies,
                   "edges given more than once; dropping keeps the lowest cost and the first weight. The two "
                   "directions of an undirected edge are one edge");
  table.add(
      "edges", options.edges, "FILE",
      "your own graph: CSV or list of edges, from the first column to the second, or an adjacency matrix "
      "with names");
  table.add("nodes", options.nodes, "FILE", "CSV of nodes; without it the nodes are the ends of the edges");
  table.add("id", options.id, "COL",
            "node CSV: column of node ids, or row-number: row i (from 0) is node i; without it the column "
            "that holds the ends of the edges, else row-number");
  table.add(
      "target", options.target, "COL,...",
      "node CSV: column to learn; missing cells are what you want to know; a,b,c are several 0/1 labels. "
      "OGB folder: 'year'");
  table.add_choice(
      "task", options.task, {"auto", "classification", "regression"},
      "what the target is; auto: classes when it is text or few whole numbers, labels when it is "
      "several columns");
  table.add("one_hot", options.one_hot, "learn classes as values, 1 for a node's class and 0 for the others");
  table.add("features", options.features, "COL,...", "node CSV: use only these columns as features");
  table.add("drop", options.drop, "COL,...", "node CSV: leave these columns out");
  table.add("missing", options.missing, "TEXT,...",
            "node CSV: cells that stand for no value, beside empty ones");
  table.add_choice(
      "decimal", options.decimal, {"auto", ".", ","},
      "CSV: the decimal mark; auto: a comma where a semicolon or tab separates fields and a whole "
      "column reads so");
  table.add_choice(
      "missing_features", options.missing_features, {"auto", "degree", "constant", "none"},
      "for data without features: degree, clustering, core number and the neighbours' degree, or "
      "the same 1 for every node; auto: degree");
  table.add("split_column", options.split_column, "COL", "node CSV: column of train, val, test (else found)");
  table.add(
      "split_file", options.split_file, "FILE",
      "CSV of node ids and parts (train, val, test), one column for each run; or JSON of qw data split");
  table.add("source", options.source, "COL",
            "edge CSV: column that edges come from; columns without a header are called 1, 2, 3, ...");
  table.add("destination", options.destination, "COL", "edge CSV: column that edges go to");
  table.add("edge_cost", options.edge_cost, "COL", "edge CSV: column of transport costs, at least 0");
  table.add("edge_weight", options.edge_weight, "COL", "edge CSV: column of adjacency weights");
  table.add_choice("header", options.header, {"auto", "yes", "no"},
                   "edge CSV: whether its first line names the columns");
  table.add_choice("comments", options.comments, {"skip", "keep"},
                   "edge CSV: lines that begin with # or %; keep reads them as edges");
  table.add_choice(
      "bipartite", options.bipartite, {"auto", "yes", "no"},
      "edge CSV: the two columns count their nodes apart; auto: if KONECT's first line says bip");
  table.add_choice("unknown_nodes", options.unknown_nodes, {"error", "drop", "add"},
                   "edges to nodes that the node CSV has not: drop the edges, or add nodes without features");
  table.add("exact_ids", options.exact_ids, "node ids match letter by letter only: 1.0 is not 1");
  table.add_choice("encoding", options.encoding, kEncodings,
                   "of your own CSV; auto: UTF-8, UTF-16 with its mark, else windows-1252");
  return table;
}

namespace {

// Results on a class that cannot be in all parts of a split are not to be trusted.
void say_small_classes(Dataset& dataset) {
  constexpr int64_t kParts = 3;  // train, validation and test
  const Targets& targets = dataset.targets;
  const std::vector<int64_t> counts = class_counts(targets);
  const auto name = [&](size_t c) {
    return in_quotes(targets.names.empty() ? std::to_string(c) : targets.names[c]);
  };
  std::vector<size_t> small;
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] < kParts) small.push_back(c);
  }
  if (counts.size() == 1) {
    dataset.notes.push_back(
        fmt::format("there is one class only, {}: nothing can be learned; is --target right?", name(0)));
  } else if (small.size() == 1) {
    dataset.notes.push_back(fmt::format(
        "class {} has {} node{}, too few to train, validate and test on; --split decides where they go",
        name(small[0]), counts[small[0]], counts[small[0]] == 1 ? "" : "s"));
  } else if (!small.empty()) {
    dataset.notes.push_back(
        fmt::format("{} of {} classes, such as {}, have fewer than {} nodes, too few to train, "
                    "validate and test on; --split decides where they go",
                    small.size(), counts.size(), name(small[0]), kParts));
  }
}

void say_constant_values(Dataset& dataset) {
  const Targets& targets = dataset.targets;
  if (targets.task != Task::kRegression) return;
  const auto name = [&](int64_t column) {
    return in_quotes(targets.names.empty() ? std::to_string(column) : targets.names[column]);
  };
  for (int64_t column = 0; column < targets.width; ++column) {
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    for (int64_t node = 0; node < targets.size(); ++node) {
      const double value = targets.values[node * targets.width + column];
      if (std::isnan(value)) continue;
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
    if (lowest != highest) continue;
    dataset.notes.push_back(
        fmt::format("the target{} is {} everywhere: nothing can be learned; --target names another",
                    targets.width == 1 ? "" : " " + name(column), lowest));
  }
}

Dataset read_dataset(const std::string& what, const LoadOptions& options) {
  if (!options.edges.empty()) {
    if (!what.empty())
      fail_usage(fmt::format("--edges names your own graph, so {} cannot be loaded too", in_quotes(what)));
    Dataset dataset = kCsvReader.read(FolderFiles("."), "", options);
    check_consistent(dataset);
    return dataset;
  }
  if (what.empty())
    fail_usage("no data: give a name, a file, a folder or a generator, or your own CSV with --edges");
  if (is_generator_spec(what)) {
    refuse_unheeded(options, "", what);
    if (options.directed)
      fail_usage(fmt::format("{} makes an undirected graph; leave --directed out", in_quotes(what)));
    return generate(what);
  }
  if (const DatasetCard* card = find_card(what)) return load_card(*card, options);
  std::error_code ignored;
  if (!fs::exists(what, ignored)) fail_unknown(what);
  if (is_csv_file(what)) {
    LoadOptions own = options;
    own.edges = what;
    return read_dataset("", own);
  }
  return read_path(what, options);
}

// File names and names inside archives may hold any bytes; what writes JSON and CSV needs text.
void make_text_valid(Dataset& dataset) {
  dataset.name = with_valid_utf8(dataset.name);
  for (auto* names : {&dataset.node_ids, &dataset.notes, &dataset.targets.names, &dataset.features.names}) {
    for (std::string& name : *names) {
      if (!is_valid_utf8(name)) name = with_valid_utf8(name);
    }
  }
}

}  // namespace

void finish_dataset(Dataset& dataset, const LoadOptions& options) {
  if (!options.split_file.empty()) {
    dataset.splits = read_split_file(options.split_file, dataset);
    dataset.default_split = "stored";
  }
  add_missing_features(dataset, options.missing_features);
  say_small_classes(dataset);
  say_constant_values(dataset);
  make_text_valid(dataset);
  if (options.one_hot) dataset.targets = one_hot(dataset.targets);
}

Dataset load_dataset(const std::string& what, const LoadOptions& options) {
  if (!options.split_column.empty() && !options.split_file.empty())
    fail_usage("--split-column and --split-file both say who trains: give one of them");
  Dataset dataset = read_dataset(what, options);
  if (options.as_trained) {
    conform(dataset, *options.as_trained);
    make_text_valid(dataset);
    return dataset;
  }
  finish_dataset(dataset, options);
  return dataset;
}

}  // namespace qw
