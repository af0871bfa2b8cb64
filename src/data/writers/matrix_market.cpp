// STEM.mtx with the graph, STEM_features.mtx and STEM_labels.txt beside it.
#include <fmt/format.h>

#include "core/file.h"
#include "core/text.h"
#include "data/writers/writers.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::string graph_text(const Graph& graph) {
  const bool weighted = !graph.weights().empty();
  std::string text = fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n",
                                 weighted ? "real" : "pattern", graph.directed() ? "general" : "symmetric",
                                 graph.num_nodes(), graph.num_nodes(), graph.num_edges());
  const auto out = std::back_inserter(text);
  for (int64_t e = 0; e < graph.num_edges(); ++e) {
    // An arc row -> column; a symmetric matrix stores its lower triangle, row >= column, as tail >= head.
    fmt::format_to(out, "{} {}", graph.tails()[e] + 1, graph.heads()[e] + 1);
    if (weighted) fmt::format_to(out, " {}", graph.weights()[e]);
    text += '\n';
  }
  return text;
}

std::string features_text(const Features& features) {
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", features.rows,
                                 features.columns, features.nonzeros());
  const auto out = std::back_inserter(text);
  for (int64_t row = 0; row < features.rows; ++row) {
    const int64_t begin = features.sparse ? features.offsets[row] : row * features.columns;
    const int64_t end = features.sparse ? features.offsets[row + 1] : begin + features.columns;
    for (int64_t at = begin; at < end; ++at) {
      const float value = features.sparse ? features.values[at] : features.dense[at];
      const int64_t column = features.sparse ? features.indices[at] : at - begin;
      if (value != 0.0f) fmt::format_to(out, "{} {} {}\n", row + 1, column + 1, value);
    }
  }
  return text;
}

// Writes `text`, or removes what an earlier graph of that name left there.
void write_or_remove(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  if (text.empty()) {
    std::filesystem::remove(path, ignored);
  } else {
    write_file_atomically(path, text);
  }
}

void write(const Dataset& dataset, const std::filesystem::path& path) {
  const Task task = dataset.targets.task;
  if (path.extension() != ".mtx") {
    fail_usage(fmt::format("matrix-market: {} must end in .mtx", in_quotes(path.string())));
  }
  if (task != Task::kNone && task != Task::kClassification) {
    fail(fmt::format("{}: matrix-market holds classes only, and the target is {}; use csv", dataset.name,
                     task_name(task)));
  }
  if (!dataset.graph.costs().empty()) {
    fail(fmt::format("{}: matrix-market cannot hold edge costs; use csv", dataset.name));
  }
  const std::string stem = (path.parent_path() / path.stem()).string();
  const bool has_features = dataset.features.columns > 0;
  const bool has_labels = task == Task::kClassification;
  write_or_remove(stem + "_features.mtx", has_features ? features_text(dataset.features) : "");
  write_or_remove(stem + "_labels.txt",
                  has_labels ? fmt::format("{}\n", fmt::join(dataset.targets.classes, "\n")) : "");
  write_file_atomically(path, graph_text(dataset.graph));
}

}  // namespace

const Writer kMatrixMarketWriter = {
    "matrix-market", "FILE.mtx with FILE_features.mtx and FILE_labels.txt beside it", ".mtx", write};

}  // namespace qw
