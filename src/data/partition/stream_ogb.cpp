#include <algorithm>
#include <utility>

#include "data/load_steps.h"
#include "data/partition/stream.h"
#include "data/readers/ogb_table.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlock = 256;               // nodes whose edges are counted together
constexpr int64_t kRound = int64_t{1} << 20;  // numbers of features at a time

// An OGB folder as if it had neither edges nor features.
class OnlyLabels : public FileSet {
 public:
  explicit OnlyLabels(const fs::path& folder) : files_(folder) {}
  bool has(const std::string& name) const override {
    if (is_of_edges(name)) return name.ends_with(".csv") && (files_.has(name) || files_.has(name + ".gz"));
    return name.find("node-feat") == std::string::npos && files_.has(name);
  }
  std::string read(const std::string& name) const override {
    if (!is_of_edges(name)) return files_.read(name);
    return name.ends_with("num-edge-list.csv") ? "0\n" : "";
  }
  std::string label(const std::string& name) const override { return files_.label(name); }
  std::vector<std::string> names() const override { return files_.names(); }

 private:
  static bool is_of_edges(const std::string& name) {
    const std::string file = fs::path(name).filename().string();
    return file.starts_with("edge.csv") || file.starts_with("num-edge-list.csv");
  }
  FolderFiles files_;
};

// A table that is looked at where it lies on disk.
struct DiskTable {
  DiskTable(const FileSet& files, const fs::path& data, const std::string& stem, const fs::path& folder)
      : file(mapped_text(data / csv_name(files, stem), folder)),
        table(file->text(), files.label(csv_name(files, stem))) {}

  std::shared_ptr<const MappedFile> file;
  NumberTable table;
};

class OgbStream : public StreamSource {
 public:
  OgbStream(const fs::path& data, const LoadOptions& load, int64_t memory_bytes, const fs::path& folder)
      : files_(data), prefix_(find_csv(files_, "raw/edge") ? "raw/" : "") {
    about_ = kOgbReader.read(OnlyLabels(data), "", load);
    nodes_ = about_.graph.num_nodes();
    form_.directed = load.directed;
    more_notes_ = std::move(about_.notes);
    about_.notes.clear();
    if (find_csv(files_, prefix_ + "node-feat")) {
      features_ = std::make_unique<DiskTable>(files_, data, prefix_ + "node-feat", folder);
      features_->table.require_rows(nodes_, "one per node");
      about_.features.columns = features_->table.columns();
      about_.features.rows = nodes_;
    }
    edges_ = std::make_unique<DiskTable>(files_, data, prefix_ + "edge", folder);
    edges_->table.require_rows(read_count(files_, prefix_ + "num-edge-list", "number of edges"),
                               "one per edge");
    edges_->table.require_columns(2);
    choose_feature_form();
    finish_about(load);
    std::vector<int64_t> counts(nodes_ / kBlock + 1, 0);
    each_given(
        [&](NodeId tail, NodeId head) { ++counts[(load.directed ? head : std::min(head, tail)) / kBlock]; });
    make_buckets(folder, load, bucket_begins(counts, kBlock, form_, memory_bytes), edges_->table.label());
  }

  // Whether there is anything of which features could be made, or need not.
  static bool fits(const fs::path& data, const LoadOptions& load, std::string& reason) {
    const FolderFiles files(data);
    const bool has_features = find_csv(files, "raw/node-feat") || find_csv(files, "node-feat");
    return can_make_features(has_features ? 1 : 0, load, reason);
  }

 protected:
  void fill(EdgeBuckets& buckets) override {
    each_given([&](NodeId tail, NodeId head) { buckets.add(tail, head); });
  }

  void each_dense(const std::function<void(int64_t, std::vector<float>)>& visit) override {
    const int64_t columns = features_->table.columns(), most = std::max<int64_t>(1, kRound / columns);
    std::vector<float> dense;
    Forget forget(*features_->file);
    features_->table.each_field_in_order(
        [&](const LineScanner& lines, int64_t, int64_t, std::string_view field) {
          dense.push_back(lines.real_float(field, "feature"));
        },
        [&](size_t place) {
          if (std::ssize(dense) == most * columns) visit(most, std::exchange(dense, {}));
          forget(place);
        });
    const int64_t left = std::ssize(dense) / columns;
    if (left > 0) visit(left, std::move(dense));
  }

 private:
  void each_given(const std::function<void(NodeId tail, NodeId head)>& visit) const {
    Forget forget(*edges_->file);
    NodeId ends[2] = {0, 0};
    edges_->table.each_field_in_order(
        [&](const LineScanner& lines, int64_t, int64_t column, std::string_view field) {
          ends[column] = static_cast<NodeId>(lines.integer_in(field, "node id", 0, nodes_ - 1));
        },
        [&](size_t place) {
          visit(ends[0], ends[1]);
          forget(place);
        });
  }

  FolderFiles files_;
  std::string prefix_;
  std::unique_ptr<DiskTable> features_, edges_;
};

}  // namespace

std::unique_ptr<PartitionSource> ogb_stream(const fs::path& data, const LoadOptions& load,
                                            int64_t memory_bytes, const fs::path& folder,
                                            std::string& reason) {
  refuse_unheeded(load, kOgbReader.name, data.string());
  if (!OgbStream::fits(data, load, reason)) return nullptr;
  return std::make_unique<OgbStream>(data, load, memory_bytes, folder);
}

}  // namespace qw
