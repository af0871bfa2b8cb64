#include "data/verification.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "data/cache.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

fs::path record_file(const DatasetCard& card) {
  return dataset_folder(card).parent_path() / fmt::format(".{}.verified.json", card.name);
}

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// Nothing when it is no regular file.
std::optional<FileState> state_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileState{status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace

Verification::Verification(const DatasetCard& card) : card_(card) {
  std::error_code ignored;
  if (!fs::exists(record_file(card), ignored)) return;
  try {
    const nlohmann::ordered_json record = read_json(record_file(card));
    for (const auto& [name, entry] : record.items()) {
      record_[name] = {{entry.at("size"), entry.at("modified"), entry.at("changed")}, entry.at("sha256")};
    }
  } catch (const Error&) {
    record_.clear();
  } catch (const nlohmann::json::exception&) {
    record_.clear();
  }
}

// Of a file whose published bytes are not those of the card, those that came count.
std::string Verification::expected_sha256(const FileCard& file, const std::string& found) const {
  if (!file.published_bytes_differ || found == file.sha256) return file.sha256;
  const auto recorded = record_.find(file.name);
  return recorded == record_.end() ? found : recorded->second.sha256;
}

std::string Verification::problem(const FileCard& file) {
  const fs::path path = dataset_folder(card_) / file.name;
  const std::optional<FileState> state =
      state_of(path);  // before reading: a write meanwhile is noticed later
  if (!state) return path.string() + ": there is no such file";
  const std::string found = sha256_hex_of_file(path);
  const std::string expected = expected_sha256(file, found);
  if (found != expected)
    return fmt::format("{}: is damaged: sha256 is {}, expected {}", path.string(), found, expected);
  record_[file.name] = {*state, found};
  has_news_ = true;
  return {};
}

std::string Verification::problem_since(const FileCard& file) {
  const auto recorded = record_.find(file.name);
  if (recorded == record_.end()) return problem(file);
  const bool is_right = file.published_bytes_differ || recorded->second.sha256 == file.sha256;
  const bool unchanged = state_of(dataset_folder(card_) / file.name) == recorded->second.state;
  return is_right && unchanged ? "" : problem(file);
}

void Verification::accept(const FileCard& file) {
  record_.erase(file.name);
  problem(file);
}

void Verification::save() const {
  if (!has_news_) return;
  nlohmann::ordered_json record;
  for (const auto& [name, file] : record_) {
    record[name] = {{"sha256", file.sha256},
                    {"size", file.state.size},
                    {"modified", file.state.modified},
                    {"changed", file.state.changed}};
  }
  try {
    write_file_atomically(record_file(card_), json_text(record, 2) + "\n");
  } catch (const Error&) {
    return;
  }
}

void verify_cached(const DatasetCard& card) {
  Verification verification(card);
  for (const FileCard& file : card.files) {
    if (const std::string problem = verification.problem_since(file); !problem.empty())
      fail(fmt::format("{}; get it again with: qw data get {}", problem, card.name));
  }
  verification.save();
}

}  // namespace qw
