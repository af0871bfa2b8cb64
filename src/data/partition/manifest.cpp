#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/sha256.h"
#include "data/partition/part_format.h"
#include "data/schema/schema_json.h"
#include "qw/core/error.h"
#include "qw/core/version.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHash = "sha256";

Json part_json(const PartSummary& part) {
  return {{"file", part.file}, {"sha256", part.sha256}, {"bytes", part.bytes},        {"nodes", part.nodes},
          {"halo", part.halo}, {"edges", part.edges},   {"cut_edges", part.cut_edges}};
}

PartSummary part_from_json(const Json& json) {
  PartSummary part;
  json.at("file").get_to(part.file);
  json.at("sha256").get_to(part.sha256);
  json.at("bytes").get_to(part.bytes);
  json.at("nodes").get_to(part.nodes);
  json.at("halo").get_to(part.halo);
  json.at("edges").get_to(part.edges);
  json.at("cut_edges").get_to(part.cut_edges);
  return part;
}

void read_graph(const Json& json, PartitionManifest& manifest) {
  json.at("nodes").get_to(manifest.nodes);
  json.at("edges").get_to(manifest.edges);
  json.at("cut_edges").get_to(manifest.cut_edges);
  json.at("directed").get_to(manifest.directed);
  json.at("costs").get_to(manifest.has_costs);
  json.at("weights").get_to(manifest.has_weights);
  json.at("ids").get_to(manifest.has_ids);
  json.at("sparse_features").get_to(manifest.sparse_features);
}

void read_about(const Json& json, const std::string& name, PartitionManifest& manifest) {
  Dataset& about = manifest.about;
  json.at("name").get_to(about.name);
  json.at("notes").get_to(about.notes);
  json.at("default_split").get_to(about.default_split);
  json.at("of_paper").get_to(about.of_paper);
  manifest.schema = schema_from_json(json.at("schema"), name);
  about.format = manifest.schema.format;
  about.columns = manifest.schema.columns;
  about.made_features = manifest.schema.made_features;
  const auto missing = json.at("missing").get<std::vector<int64_t>>();
  if (missing.size() != about.columns.size()) fail(fmt::format("{}: does not fit its schema", name));
  for (size_t k = 0; k < missing.size(); ++k) about.columns[k].missing = missing[k];
}

// What can be told without the parts.
bool fits(const PartitionManifest& manifest) {
  const std::vector<int64_t>& begins = manifest.begins;
  if (manifest.parts.empty() || begins.size() != manifest.parts.size() + 1) return false;
  bool good = begins.front() == 0 && begins.back() == manifest.nodes && manifest.nodes <= kMaxNodes;
  for (size_t p = 0; p < manifest.parts.size(); ++p) {
    const PartSummary& part = manifest.parts[p];
    good = good && part.nodes >= 0 && begins[p + 1] - begins[p] == part.nodes && part.halo >= 0 &&
           part.edges >= 0 && part.file == part_file_name(static_cast<int64_t>(p));
  }
  return good && manifest.edges >= 0;
}

// Of all that the document says but for its own hash.
std::string hash_of(Json json) {
  json.erase(kHash);
  Sha256 hash;
  hash.add(json_text(json));
  return hash.hex();
}

}  // namespace

std::string manifest_text(const PartitionManifest& manifest) {
  Json parts = Json::array(), missing = Json::array();
  for (const PartSummary& part : manifest.parts) parts.push_back(part_json(part));
  for (const TableColumn& column : manifest.about.columns) missing.push_back(column.missing);
  Json json = {{"schema", kPartitionSchema},
               {"qw", manifest.version},
               {"id", manifest.id},
               {"fingerprint", manifest.fingerprint},
               {"method", manifest.method},
               {"align", manifest.align},
               {"graph",
                {{"nodes", manifest.nodes},
                 {"edges", manifest.edges},
                 {"cut_edges", manifest.cut_edges},
                 {"directed", manifest.directed},
                 {"costs", manifest.has_costs},
                 {"weights", manifest.has_weights},
                 {"ids", manifest.has_ids},
                 {"sparse_features", manifest.sparse_features}}},
               {"data",
                {{"name", manifest.about.name},
                 {"notes", manifest.about.notes},
                 {"default_split", manifest.about.default_split},
                 {"of_paper", manifest.about.of_paper},
                 {"missing", missing},
                 {"schema", to_json(manifest.schema)}}},
               {"labels", {{"file", kLabelsFile}, {"sha256", manifest.labels_sha256}}},
               {"begins", manifest.begins},
               {"parts", parts}};
  json[kHash] = hash_of(json);
  return json_text(json, 1) + "\n";
}

PartitionManifest manifest_from(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  if (!json.is_object() || !json.contains("schema") || !json.at("schema").is_number_integer())
    fail(fmt::format("{}: is no manifest of a partition", name));
  const auto schema = json.at("schema").get<int64_t>();
  if (schema != kPartitionSchema) {
    fail(fmt::format("{}: the partition is of schema {}, but qw {} reads schema {}: {}", name, schema,
                     build_info().version, kPartitionSchema,
                     schema > kPartitionSchema ? "update qw" : "make it again with qw data partition"));
  }
  PartitionManifest manifest;
  try {
    json.at("qw").get_to(manifest.version);
    json.at("id").get_to(manifest.id);
    json.at("fingerprint").get_to(manifest.fingerprint);
    json.at("method").get_to(manifest.method);
    json.at("align").get_to(manifest.align);
    read_graph(json.at("graph"), manifest);
    read_about(json.at("data"), name, manifest);
    json.at("labels").at("sha256").get_to(manifest.labels_sha256);
    json.at("begins").get_to(manifest.begins);
    for (const Json& part : json.at("parts")) manifest.parts.push_back(part_from_json(part));
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: is no whole manifest of a partition", name));
  }
  if (!fits(manifest)) fail(fmt::format("{}: its parts do not make up its graph", name));
  if (!json.contains(kHash) || json.at(kHash) != hash_of(json))
    fail(fmt::format("{}: is not as it was written; restore it, or make the partition again", name));
  return manifest;
}

}  // namespace qw
