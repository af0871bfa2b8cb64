#include "core/manifest.h"

#include <fmt/format.h>

#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kSchema = 1;

[[noreturn]] void fail_changed(const std::filesystem::path& file) {
  fail(fmt::format(
      "{}: is not the file that was written here, by its checksum in {}; restore it, or train again",
      file.string(), kManifestFile));
}

}  // namespace

bool Manifest::exists_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kManifestFile, ignored);
}

Manifest Manifest::read(const std::filesystem::path& folder) {
  return parse(read_file(folder / kManifestFile), folder);
}

Manifest Manifest::parse(std::string_view text, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kManifestFile;
  const nlohmann::ordered_json document = parse_json(text, file.string());
  Manifest manifest(folder);
  const bool is_manifest = document.is_object() &&
                           document.value("schema", nlohmann::ordered_json()) == kSchema &&
                           document.contains("files") && document.at("files").is_object();
  if (!is_manifest) fail(fmt::format("{}: is no list of checksums of schema {}", file.string(), kSchema));
  for (const auto& [name, checksum] : document.at("files").items()) {
    if (!checksum.is_string()) fail(fmt::format("{}: the checksum of {} is no text", file.string(), name));
    manifest.files_[name] = checksum.get<std::string>();
  }
  return manifest;
}

void Manifest::add(const std::string& name) { files_[name] = sha256_hex_of_file(folder_ / name); }

void Manifest::add(const std::string& name, std::string_view contents) {
  files_[name] = sha256_hex(contents);
}

void Manifest::write() const {
  nlohmann::ordered_json document{{"schema", kSchema}, {"files", nlohmann::ordered_json::object()}};
  for (const auto& [name, checksum] : files_) document["files"][name] = checksum;
  write_file_atomically(folder_ / kManifestFile, json_text(document, 2) + "\n");
}

const std::string& Manifest::checksum(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end())
    fail(fmt::format("{}: {} does not list it", (folder_ / name).string(), kManifestFile));
  return found->second;
}

void Manifest::check(const std::string& name) const {
  if (sha256_hex_of_file(folder_ / name) != checksum(name)) fail_changed(folder_ / name);
}

std::string Manifest::contents(const std::string& name) const {
  std::string text = read_file(folder_ / name);
  if (sha256_hex(text) != checksum(name)) fail_changed(folder_ / name);
  return text;
}

}  // namespace qw
