#include <fmt/format.h>

#include "core/text.h"
#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;
using Facts = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const Json& object, const char* name) {
  if (!object.contains(name)) return "";
  return object.at(name).is_string() ? object.at(name).get<std::string>() : object.at(name).dump();
}

void add_unless_empty(Facts& facts, const char* name, const std::string& value) {
  if (!value.empty()) facts.emplace_back(name, value);
}

}  // namespace

void add_reproducing(Page& page, const RunRecord& record) {
  page.section("Reproducing it");
  if (const std::string command = text_of(record.schema, "command"); !command.empty()) page.code(command);
  std::vector<std::string> seeds;
  for (const Json& seed : record.summary.at("seeds")) seeds.push_back(seed.dump());
  const Json machine = record.summary.value("machine", Json::object());
  Facts facts{{"qw", text_of(record.schema, "qw")}};
  add_unless_empty(facts, "LibTorch", text_of(machine, "libtorch"));
  add_unless_empty(facts, "compiler", text_of(machine, "compiler"));
  add_unless_empty(facts, "processor", text_of(machine, "processor"));
  add_unless_empty(facts, "cores", text_of(machine, "cores"));
  add_unless_empty(facts, "GPU", text_of(machine, "gpu"));
  facts.emplace_back("device", text_of(record.summary.at("config").at("request"), "device"));
  facts.emplace_back("folder", record.folder.string());
  facts.emplace_back("split", text_of(record.schema, "split"));
  facts.emplace_back(seeds.size() == 1 ? "seed" : "seeds", join(seeds, ", "));
  page.facts(facts);
  const Json& print = record.schema.at("fingerprint");
  PageTable table{"Fingerprint of the data (SHA-256)", {{"of", false}, {"is", false}}, {}};
  for (const char* name : {"graph", "features", "labels"}) table.rows.push_back({name, text_of(print, name)});
  page.table(table);
}

}  // namespace qw
