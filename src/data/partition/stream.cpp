#include "data/partition/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/formats/gzip.h"
#include "data/load_steps.h"
#include "data/partition/output.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"
#include "qw/graph/generators.h"

namespace qw {

namespace fs = std::filesystem;

void StreamSource::each_edge(const std::function<void(const EdgeBlock&)>& visit) {
  QW_ASSERT(buckets_ != nullptr);
  int64_t edges = 0;
  fill(*buckets_);
  buckets_->each([&](const EdgeBlock& block) {
    edges += std::ssize(block.heads);
    visit(block);
  });
  for (const std::string& note : buckets_->notes()) about_.notes.push_back(note);
  if (edges == 0 && about_.format == "csv") about_.notes.emplace_back(kNoEdge);
  about_.notes.insert(about_.notes.end(), more_notes_.begin(), more_notes_.end());
  buckets_.reset();
}

void StreamSource::each_features(const std::function<void(const Features&)>& visit) {
  if (about_.made_features) return visit(about_.features);
  each_dense([&](int64_t rows, std::vector<float> dense) {
    visit(as_form(rows, about_.features.columns, std::move(dense), about_.features.sparse));
  });
}

void StreamSource::choose_feature_form() {
  if (about_.features.columns == 0) return;
  int64_t nonzeros = 0;
  each_dense([&](int64_t, const std::vector<float>& dense) {
    nonzeros += std::ssize(dense) - std::count(dense.begin(), dense.end(), 0.0f);
  });
  about_.features.sparse = prefers_sparse(nonzeros, nodes_, about_.features.columns);
}

void StreamSource::finish_about(const LoadOptions& load) {
  const size_t before = about_.notes.size();
  EdgeList no_edges;
  no_edges.num_nodes = nodes_;
  about_.graph = Graph::build(std::move(no_edges));
  check_consistent(about_);
  finish_dataset(about_, load);
  about_.graph = Graph();
  const auto first = about_.notes.begin() + static_cast<std::ptrdiff_t>(before);
  more_notes_.insert(more_notes_.end(), first, about_.notes.end());
  about_.notes.erase(first, about_.notes.end());
}

bool can_make_features(int64_t columns, const LoadOptions& load, std::string& reason) {
  if (columns > 0 || load.missing_features == "constant" || load.missing_features == "none") return true;
  reason = "features are made from the whole graph; --missing-features constant or none needs less";
  return false;
}

void StreamSource::make_buckets(const fs::path& folder, const LoadOptions& load, std::vector<int64_t> first,
                                const std::string& label) {
  buckets_ = std::make_unique<EdgeBuckets>(folder, form_, load, std::move(first), label);
}

std::shared_ptr<const MappedFile> mapped_text(const fs::path& path, const fs::path& folder) {
  std::shared_ptr<const MappedFile> given = MappedFile::open(path);
  if (path.extension() != ".gz") return given;
  const fs::path plain = folder / path.stem();
  bool anew = true;
  gunzip_pieces(given->text(), path.string(), [&](std::string_view piece) {
    append_to_file(plain, std::as_bytes(std::span(piece)), anew);
    anew = false;
  });
  if (anew) append_to_file(plain, {}, true);
  return MappedFile::open(plain);
}

std::unique_ptr<PartitionSource> stream_source(const std::string& what, const LoadOptions& load,
                                               int64_t memory_bytes, const fs::path& folder,
                                               std::string& reason) {
  reason.clear();
  if (!load.split_column.empty() && !load.split_file.empty()) return nullptr;
  if (!load.edges.empty()) {
    if (!what.empty()) return nullptr;
    return csv_stream("", load, memory_bytes, folder, reason);
  }
  if (what.starts_with("csbm:") || what == "csbm")
    return csbm_stream(what, load, memory_bytes, folder, reason);
  std::error_code ignored;
  if (what.empty() || is_generator_spec(what) || find_card(what) != nullptr || !fs::exists(what, ignored)) {
    reason = what.empty() ? "" : "of generators and names only csbm can";
    return nullptr;
  }
  if (is_csv_file(what)) {
    LoadOptions own = load;
    own.edges = what;
    return csv_stream("", own, memory_bytes, folder, reason);
  }
  const bool is_folder = fs::is_directory(what, ignored);
  const FolderFiles files(what);
  const auto claims = [&](const Reader& reader) { return reader.recognises(files, ""); };
  if (is_folder && !is_partition(what) && card_of_folder(what) == nullptr) {
    const auto first = std::find_if(readers().begin(), readers().end(), claims);
    const std::string name = first == readers().end() ? "" : first->name;
    if (name == kOgbReader.name) return ogb_stream(what, load, memory_bytes, folder, reason);
    if (name == kCsvReader.name) return csv_stream(what, load, memory_bytes, folder, reason);
  }
  reason = "of files only CSV and OGB folders can";
  return nullptr;
}

}  // namespace qw
