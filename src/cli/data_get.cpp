#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/data/card.h"
#include "qw/data/check.h"
#include "qw/data/download.h"

namespace qw::cli {
namespace {

struct GetOptions {
  std::vector<std::string> names;
  std::string mirror;
};

std::vector<const DatasetCard*> chosen_cards(const std::vector<std::string>& names) {
  std::vector<const DatasetCard*> cards;
  std::vector<std::string> known;
  for (const DatasetCard& card : dataset_cards()) known.push_back(card.name);
  for (const std::string& name : names) {
    if (name == "all") {
      for (const DatasetCard& card : dataset_cards()) cards.push_back(&card);
    } else if (const DatasetCard* card = find_card(name)) {
      cards.push_back(card);
    } else {
      known.emplace_back("all");
      fail_usage("qw data get: " + unknown_name(name, known));
    }
  }
  return cards;
}

void get(const GetOptions& options, const GlobalOptions& global) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const DatasetCard* card : chosen_cards(options.names)) {
    DownloadOptions download;
    download.mirror = options.mirror;
    download.quiet = global.quiet;
    download.check_contents = check_downloaded_file;
    const DownloadReport report = fetch_dataset(*card, download);
    int64_t bytes = 0;
    for (const FetchedFile& file : report.fetched) bytes += file.received_bytes;
    if (global.json) {
      document.push_back({{"name", card->name},
                          {"folder", report.folder.string()},
                          {"fetched", report.fetched.size()},
                          {"already_cached", report.already_cached},
                          {"received_bytes", bytes}});
    } else if (report.fetched.empty()) {
      print_text(fmt::format("{}: already in {}\n", card->name, report.folder.string()));
    } else {
      print_text(fmt::format("{}: {} files, {}, now in {}\n", card->name, report.fetched.size(),
                             human_bytes(static_cast<double>(bytes)), report.folder.string()));
    }
  }
  if (global.json) print_json(document);
}

}  // namespace

void add_data_get(CLI::App& data, const GlobalOptions& global) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* command = data.add_subcommand("get", "fetch data sets into the cache; resumes, checks sha256");
  command->add_option("names", options->names, "data sets by name, or 'all'")
      ->required()
      ->type_name("NAME...")
      ->check(not_empty());
  FieldTable table("qw data get");
  table.add("mirror", options->mirror, "DIR|URL",
            "take the files from here instead of their published addresses (also: QW_DATA_MIRROR)");
  add_options(*command, table);
  command->callback([options, &global] { get(*options, global); });
}

}  // namespace qw::cli
