// What all sources that read in passes have in common.
#pragma once

#include "core/mapped_file.h"
#include "data/partition/source.h"

namespace qw {

class StreamSource : public PartitionSource {
 public:
  const Dataset& about() const override { return about_; }
  int64_t nodes() const override { return nodes_; }
  EdgeForm edge_form() const override { return form_; }
  int64_t feature_columns() const override { return about_.features.columns; }
  bool sparse_features() const override { return about_.features.sparse; }
  bool has_ids() const override { return false; }
  std::string id(NodeId original) const override { return std::to_string(original); }

  void each_edge(const std::function<void(const EdgeBlock&)>& visit) override;
  void each_features(const std::function<void(const Features&)>& visit) override;

 protected:
  // Every edge of the data goes to `buckets`.
  virtual void fill(EdgeBuckets& buckets) = 0;
  // Rows of features in blocks, dense, in order; not called where they were made.
  virtual void each_dense(const std::function<void(int64_t rows, std::vector<float>)>& visit) = 0;

  // Counts what the data has, to know in which form features are kept.
  void choose_feature_form();
  // `about_` as load_dataset would leave it; notes on edges will stand after those that it has.
  void finish_about(const LoadOptions& load);
  void make_buckets(const std::filesystem::path& folder, const LoadOptions& load, std::vector<int64_t> first,
                    const std::string& label);

  Dataset about_;
  int64_t nodes_ = 0;
  EdgeForm form_;
  std::unique_ptr<EdgeBuckets> buckets_;
  std::vector<std::string> more_notes_;  // that stand behind those on edges
};

// False, with a reason, when there are no features and they have to be made of the whole graph.
bool can_make_features(int64_t columns, const LoadOptions& load, std::string& reason);

// A file of text on disk, unpacked into `folder` when its name ends in .gz.
std::shared_ptr<const MappedFile> mapped_text(const std::filesystem::path& path,
                                              const std::filesystem::path& folder);

// Lets go of text that has been read, every now and then.
class Forget {
 public:
  explicit Forget(const MappedFile& file) : file_(file) {}
  void operator()(size_t place) {
    constexpr size_t kStep = size_t{1} << 26;
    if (place < next_) return;
    file_.done_before(place);
    next_ = place + kStep;
  }

 private:
  const MappedFile& file_;
  size_t next_ = size_t{1} << 26;
};

}  // namespace qw
