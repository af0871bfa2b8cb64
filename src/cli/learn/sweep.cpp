#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/data_at.h"
#include "cli/learn/options_text.h"
#include "cli/learn/work_report.h"
#include "cli/learn/write_report.h"
#include "cli/table.h"
#include "core/embedded.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "learn/device.h"
#include "qw/core/error.h"
#include "qw/study/presets.h"
#include "qw/study/sweep.h"
#include "study/postgres_url.h"
#include "study/swept.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kShipped = "sweeps/";
constexpr const char* kStoreHelp = "the results: a file (SQLite), or postgresql://host/database";

struct SweepArguments {
  std::string what;
  std::string store = "sweep.db";
  std::string device = "cpu";
  std::string presets;
  std::vector<std::string> data, model, data_at;
  int64_t samples = 0, first_runs = 0, runs = 0;  // 0: as the sweep says
  int64_t top = 3;
  std::string out;
  std::string page = "report.html";
  ReportOptions report;
  std::vector<std::string> stores;  // of presets
};

// A file of a person's, or one that came with qw, by its name.
Json description_of(const std::string& what) {
  if (is_postgres_url(what)) {
    check_postgres_url(what);
    fail_usage(fmt::format("qw sweep: {} is a store of results: qw sweep show reads it, and --store takes it",
                           shown_url(what)));
  }
  if (std::filesystem::exists(what)) return parse_sweep(read_file(what), what);
  std::vector<std::string> shipped;
  for (const auto& [path, text] : embedded_share()) {
    if (!path.starts_with(kShipped)) continue;
    const std::string name = std::filesystem::path(path).stem().string();
    if (name == what) return parse_sweep(std::string(text), path);
    shipped.push_back(name);
  }
  fail_usage(fmt::format("qw sweep: there is no file {}, nor a sweep of this name that came with qw: {}",
                         in_quotes(what), join(shipped, ", ")));
}

std::string each_name(const Json& value) {
  const Json name = value.is_object() ? value.value("what", value) : value;
  return name.is_string() ? name.get<std::string>() : json_text(name);
}

// Of "each", values that the sweep has not are refused.
void check_wanted(const Json& description, const char* what, const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (const Json& value : description.value("each", Json::object()).value(what, Json::array()))
    known.push_back(each_name(value));
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    fail_usage(fmt::format("qw sweep: --{} {} is not in this sweep, which has {}", what, in_quotes(name),
                           join(known, ", ")));
  }
}

bool is_wanted(const Json& each, const char* what, const std::vector<std::string>& wanted) {
  return wanted.empty() ||
         std::find(wanted.begin(), wanted.end(), each_name(each.value(what, Json()))) != wanted.end();
}

std::string spread_text(const std::vector<double>& values) {
  const Summary summary = summarise(values);
  return std::isnan(summary.mean) ? "failed" : fmt::format("{:.4f} +- {:.4f}", summary.mean, summary.ci95);
}

struct ShownConfig {
  RankedConfig ranked;
  Json options;
  std::vector<double> val, test;
  std::string error;  // of the first run that failed
};

// The options by which configs of a cell differ, and what they reached.
ShownConfig shown(ResultStore& store, const RankedConfig& ranked) {
  ShownConfig config{ranked, store.options_of(ranked.config), {}, {}, {}};
  for (int64_t run = 0; run < ranked.runs; ++run) {
    const std::optional<StoredResult> stored = store.find({ranked.config, run});
    if (!stored) fail(fmt::format("qw sweep: run {} of these options is gone from the store", run));
    const bool failed = !stored->error.empty();
    if (config.error.empty()) config.error = stored->error;
    config.val.push_back(failed ? std::nan("") : stored->result.val.front().second);
    config.test.push_back(failed ? std::nan("") : stored->result.test.front().second);
  }
  return config;
}

struct ShownCell {
  std::string study, name;
  bool begun = false, finished = false;
  std::vector<ShownConfig> best;
};

std::vector<ShownCell> best_cells(ResultStore& store, const std::string& study, const Sweep& sweep,
                                  int64_t top) {
  const TrialScores scores = store.scores();
  std::vector<ShownCell> cells;
  for (const Sweep::Cell& cell : sweep.cells()) {
    const bool begun = std::any_of(cell.configs.begin(), cell.configs.end(), [&](int64_t config) {
      return scores.contains({config, 0});
    });
    ShownCell row{study, cell.name, begun, sweep.finished(cell, scores), {}};
    for (const RankedConfig& ranked : sweep.ranking(cell, scores)) {
      if (static_cast<int64_t>(row.best.size()) == top) break;
      row.best.push_back(shown(store, ranked));
    }
    cells.push_back(std::move(row));
  }
  return cells;
}

// Of all sweeps that were asked for.
std::vector<ShownCell> best_cells(ResultStore& store, int64_t top) {
  std::vector<ShownCell> all;
  for (const auto& [study, description] : store.studies()) {
    const Sweep sweep(store, sweep_cells(description, study));
    for (ShownCell& cell : best_cells(store, study, sweep, top)) all.push_back(std::move(cell));
  }
  return all;
}

void print_cells(const std::vector<ShownCell>& cells, bool json) {
  if (json) {
    Json document = Json::array();
    for (const ShownCell& cell : cells) {
      Json best = Json::array();
      for (const ShownConfig& config : cell.best) {
        best.push_back({{"options", config.options},
                        {"runs", config.ranked.runs},
                        {"val", config.val},
                        {"test", config.test}});
        if (!config.error.empty()) best.back()["error"] = config.error;
      }
      document.push_back(
          {{"sweep", cell.study}, {"name", cell.name}, {"finished", cell.finished}, {"best", best}});
    }
    return print_json(document);
  }
  TextTable table({"search", "runs", "validation", "test", "options"});
  int64_t untouched = 0;
  for (const ShownCell& cell : cells) {
    if (!cell.begun) {
      ++untouched;
      continue;
    }
    if (cell.best.empty()) table.add({cell.name, "0", "-", "-", "not yet"});
    for (const ShownConfig& config : cell.best) {
      table.add({cell.name + (cell.finished ? "" : " (goes on)"), fmt::format("{}", config.ranked.runs),
                 spread_text(config.val), spread_text(config.test),
                 options_text(config.options, {"data", "model", "split"}) +
                     (config.error.empty() ? "" : ": " + config.error)});
    }
  }
  print_text(table.text());
  if (untouched > 0) print_text(fmt::format("{} of {} searches have not begun\n", untouched, cells.size()));
}

// Searches that take part need the presets they begin with.
void check_bases(const std::vector<SweepCell>& cells, const std::vector<MissingBase>& missing) {
  for (const SweepCell& cell : cells) {
    for (const MissingBase& base : missing) {
      if (base.each != cell.each) continue;
      fail_usage(
          fmt::format("qw sweep: {} begins with the preset {}, which there is not; sweep that first, and "
                      "give --presets what qw "
                      "sweep presets made of it",
                      cell.name, base.preset));
    }
  }
}

void run_sweep(SweepArguments& arguments, const GlobalOptions& global) {
  prepare_libtorch();
  Json description = description_of(arguments.what);
  const std::pair<const char*, int64_t> instead[] = {
      {"samples", arguments.samples}, {"first_runs", arguments.first_runs}, {"runs", arguments.runs}};
  const bool is_grid = description.value("strategy", "grid") == std::string("grid");
  for (const auto& [name, value] : instead) {
    if (value == 0) continue;
    if (is_grid && name != std::string("runs")) {
      fail_usage(fmt::format("qw sweep: {} is a grid, which has no {}", arguments.what, name));
    }
    description[name] = value;
  }
  std::vector<MissingBase> missing;
  description =
      with_base(description, arguments.presets.empty() ? presets() : read_presets(arguments.presets),
                arguments.what, missing);
  // The searches of other data sets and models are left to other commands.
  const std::vector<SweepCell> cells = sweep_cells(description, arguments.what, [&](const Json& each) {
    return is_wanted(each, "data", arguments.data) && is_wanted(each, "model", arguments.model);
  });
  check_wanted(description, "data", arguments.data);
  check_wanted(description, "model", arguments.model);
  check_bases(cells, missing);
  device_named(arguments.device);  // refused before anything is made
  const DataAt data_at("qw sweep", arguments.data_at);
  std::vector<Json> data;
  data.reserve(cells.size());
  for (const SweepCell& cell : cells) data.push_back(cell.configs.front().data);
  data_at.check(data);
  ResultStore store(arguments.store);
  const std::string name = std::filesystem::path(arguments.what).stem().string();
  store.set_study(name, description);
  const Sweep sweep(store, cells);
  {
    WorkReport report("sweep");
    StudyWork work;
    work.lacking = [&](const TrialScores& scores) { return sweep.lacking(scores); };
    work.load = [&](const Json& each) { return data_at.load(each); };
    work.device = arguments.device;
    work.progress = [&](const WorkProgress& progress) { report.show(progress); };
    do_work(store, work);
  }
  const std::vector<ShownCell> cells_now = best_cells(store, name, sweep, 1);
  print_cells(cells_now, global.json);
  for (const ShownCell& cell : cells_now) {
    if (!cell.best.empty() && !cell.best.front().error.empty())
      fail(fmt::format("qw sweep: {}: all its options failed, the first with: {}", cell.name,
                       cell.best.front().error));
  }
}

void export_csv(ResultStore& store, const std::string& out) {
  std::string text = "config,run,seed,val,test,epochs,best_epoch,seconds,device,error,options\n";
  for (const auto& [trial, score] : store.scores()) {
    const std::optional<StoredResult> stored = store.find(trial);
    const RunResult& result = stored->result;
    const bool failed = !stored->error.empty();
    text += fmt::format("{},{},{},{},{},{},{},{:.3f},{},{},{}\n", trial.config, trial.run, result.seed,
                        failed ? "" : fmt::format("{}", result.val.front().second),
                        failed ? "" : fmt::format("{}", result.test.front().second), result.epochs,
                        result.best_epoch, stored->seconds, csv_field(stored->device),
                        csv_field(stored->error), csv_field(json_text(store.options_of(trial.config))));
  }
  if (out.empty()) return print_text(text);
  write_file_atomically(out, text);
  say("written: " + out);
}

Preset preset_of(ResultStore& store, const ShownCell& cell) {
  const ShownConfig& best = cell.best.front();
  const TrainRequest request = store.request_of(best.ranked.config);
  Preset preset{cell.name, request.data, {{"model", request.model}, {"solver", request.learn.solver}}, ""};
  for (const auto& [name, value] : best.options.items()) {
    if (name != "data" && !(name == "split" && value == "auto")) preset.options[name] = value;
  }
  // Options are those that differ from a request's own default, which is not what `qw train` begins with.
  if (!best.options.contains("split")) preset.options["split"] = request.split;
  preset.found_by = fmt::format("sweep {}: validation {:.4f} over {} runs", cell.study,
                                summarise(best.val).mean, best.ranked.runs);
  return preset;
}

struct FoundPreset {
  Preset preset;
  double score = 0;  // the higher the better
};

// The best of every search that is finished; where several sweeps searched for the same, the better by
// validation.
void find_presets(ResultStore& store, std::map<std::string, FoundPreset>& found) {
  for (const ShownCell& cell : best_cells(store, 1)) {
    if (!cell.begun) continue;
    const double reached = cell.finished ? cell.best.front().ranked.score : std::nan("");
    if (std::isnan(reached)) {
      say(fmt::format("{}: {} gives no preset: {}", store.name(), cell.name,
                      cell.finished ? "all its options failed" : "it is not finished"));
    } else {
      const Preset preset = preset_of(store, cell);
      const double gain = higher_is_better(preset.options.value("metric", "auto")) ? reached : -reached;
      const auto known = found.find(cell.name);
      if (known != found.end() && known->second.preset.data != preset.data) {
        fail_usage(
            fmt::format("qw sweep: {} in {} is of other data than the {} before it: two presets "
                        "cannot bear one name; make those of each alone",
                        cell.name, store.name(), cell.name));
      }
      if (!found.contains(cell.name) || gain > found[cell.name].score) found[cell.name] = {preset, gain};
    }
  }
}

// A sweep must be there to be read: opening would make one.
ResultStore opened(const std::string& where) {
  if (has_results(where)) return ResultStore(where);
  fail_usage(!is_postgres_url(where) ? fmt::format("qw sweep: there is no file {}", in_quotes(where))
                                     : fmt::format("qw sweep: there are no results in {}", shown_url(where)));
}

// Beside those that the file has already.
void write_presets(const std::vector<std::string>& stores, const std::string& out) {
  std::map<std::string, FoundPreset> all;
  for (const std::string& path : stores) {
    ResultStore store(opened(path));
    find_presets(store, all);
  }
  if (std::filesystem::exists(out)) {
    for (const Preset& preset : read_presets(out)) all.try_emplace(preset.name, FoundPreset{preset, 0});
  }
  std::vector<Preset> sorted;
  sorted.reserve(all.size());
  for (const auto& [name, found] : all) sorted.push_back(found.preset);
  const std::string text = presets_text(sorted);
  if (out.empty()) return print_text(text);
  write_file_atomically(out, text);
}

template <class Store>
CLI::App* add_reader(CLI::App& sweep, const char* name, const char* summary, Store& store, const char* help) {
  CLI::App* command = sweep.add_subcommand(name, summary);
  command->add_option("store", store, help)->type_name("STORE")->required()->check(not_empty());
  return command;
}

// show, export and presets.
void add_readers(CLI::App& sweep, const std::shared_ptr<SweepArguments>& arguments,
                 const GlobalOptions& global) {
  CLI::App* show = add_reader(sweep, "show", "the best options so far", arguments->store, kStoreHelp);
  FieldTable show_table("qw sweep show");
  show_table.add("top", arguments->top, {1, 1e9}, "how many of each search");
  add_options(*show, show_table);
  show->callback([arguments, &global] {
    ResultStore store(opened(arguments->store));
    print_cells(best_cells(store, arguments->top), global.json);
  });
  CLI::App* csv =
      add_reader(sweep, "export", "every training as a line of CSV", arguments->store, kStoreHelp);
  CLI::App* preset =
      add_reader(sweep, "presets", "the best options as presets for qw train --preset", arguments->stores,
                 "stores of results; of what several searched for, the better by validation");
  const std::pair<CLI::App*, const char*> writers[] = {
      {csv, "write here instead of to standard output"},
      {preset, "write here instead of to standard output; presets of other searches that are there stay"}};
  for (const auto& [writer, help] : writers) {
    FieldTable out_table("qw sweep " + writer->get_name());
    out_table.add("out", arguments->out, "FILE", help);
    add_options(*writer, out_table);
  }
  csv->callback([arguments] {
    ResultStore store(opened(arguments->store));
    export_csv(store, arguments->out);
  });
  preset->callback([arguments] { write_presets(arguments->stores, arguments->out); });
}

void add_report(CLI::App& sweep, const std::shared_ptr<SweepArguments>& arguments,
                const GlobalOptions& global) {
  CLI::App* report =
      add_reader(sweep, "report", "what the sweeps found, as one HTML file", arguments->store, kStoreHelp);
  FieldTable table("qw sweep report");
  table.add("out", arguments->page, "FILE", "the page");
  table.add("title", arguments->report.title, "TEXT", "above it; default: the sweep's name");
  add_options(*report, table);
  report->callback([arguments, &global] {
    ResultStore store(opened(arguments->store));
    write_report(arguments->page, sweep_html(swept_searches(store), arguments->report), global);
  });
}

std::string footer() {
  std::string text = "Sweeps that came with qw:";
  for (const auto& [path, sweep] : embedded_share()) {
    if (!path.starts_with(kShipped)) continue;
    const Json description = parse_sweep(std::string(sweep), path);
    text += fmt::format("\n  {:<16}{}", std::filesystem::path(path).stem().string(),
                        description.value("about", ""));
  }
  return text + "\nRepeat a command that was interrupted, and it goes on; several may share a store.";
}

}  // namespace

void add_sweep_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand("sweep", "search for good options");
  command->add_option("sweep", arguments->what, "a JSON file (docs/sweeps.md), or a sweep that came with qw")
      ->type_name("FILE|NAME")
      ->check(not_empty());
  command->footer(footer());
  FieldTable table("qw sweep");
  table.add("store", arguments->store, "STORE",
            "where results are kept: a file (SQLite), or postgresql://host/database for many machines");
  table.add("data_at", arguments->data_at, "NAME=PATH", kDataAtHelp);
  table.add("presets", arguments->presets, "FILE",
            "presets to begin with, instead of qw's own, where a sweep has a base");
  table.add("device", arguments->device, "NAME", "where to learn: cpu, cuda or cuda:N");
  table.add("data", arguments->data, "NAMES", "only these data sets of the sweep: cora,texas");
  table.add("model", arguments->model, "NAMES", "only these models of the sweep: gcn,gat");
  table.add("samples", arguments->samples, {0, 1e9},
            "how many options to try at first; 0: as the sweep says");
  table.add("first_runs", arguments->first_runs, {0, 1e6}, "runs of each of them; 0: as the sweep says");
  table.add("runs", arguments->runs, {0, 1e6},
            "runs of those that are left in the end; 0: as the sweep says");
  add_options(*command, table);
  add_readers(*command, arguments, global);
  add_report(*command, arguments, global);
  command->callback([arguments, command, &global] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->what.empty())
      fail_usage("qw sweep: say which: a JSON file, or a name (see qw sweep --help)");
    run_sweep(*arguments, global);
  });
}

}  // namespace qw::cli
