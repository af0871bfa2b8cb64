// A part as a file of its own, and the manifest beside it: the first byte chooses. A part that is read can be
// walked through.
#include <optional>

#include "core/json.h"
#include "data/partition/part_format.h"
#include "support.h"

namespace {

template <class Work>
auto attempt(const Work& work) -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const qw::InternalError&) {
    throw;
  } catch (const qw::Error&) {
    return std::nullopt;
  }
}

// All that training looks at.
void walk(const qw::Part& part) {
  const int64_t rows = part.own() + static_cast<int64_t>(part.halo.size());
  int64_t sum = 0;
  for (size_t e = 0; e < part.heads.size(); ++e) {
    sum += part.new_number(part.heads[e]) + part.new_number(part.tails[e]);
    QW_ASSERT(part.owns_edge(static_cast<int64_t>(e)) || part.tails[e] < part.own());
  }
  for (int64_t other = 0; other + 1 < static_cast<int64_t>(part.begins.size()); ++other) {
    for (const qw::NodeId row : part.sent_to(other)) sum += part.original[row];
    const auto [begin, end] = part.received_from(other);
    QW_ASSERT(begin >= part.own() && begin <= end && end <= rows);
  }
  for (qw::NodeId row = 0; row < part.own(); ++row) {
    sum += static_cast<int64_t>(part.node_id(row).size());
    if (part.features.sparse) {
      for (int64_t at = part.features.offsets[row]; at < part.features.offsets[row + 1]; ++at)
        sum += part.features.values[at] > 0 ? part.features.indices[at] : 0;
    }
  }
  QW_ASSERT(sum != -1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) {
    const auto manifest = attempt([&] { return qw::manifest_from(input, "partition.json"); });
    if (manifest)
      QW_ASSERT(attempt([&] { return qw::manifest_from(qw::manifest_text(*manifest), "again"); }));
    return 0;
  }
  // Its header and its data, divided by kFileDivider: the length is put before them here.
  std::string contents(input);
  const size_t header_size = std::min(contents.find(qw::kFileDivider), contents.size());
  const uint64_t length = header_size;
  contents.erase(header_size, qw::kFileDivider.size());
  contents.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  const auto file =
      attempt([&] { return qw::SafetensorsFile::parse(std::move(contents), "part.safetensors"); });
  if (!file) return 0;
  const auto part = attempt([&] { return qw::part_from(*file, "part.safetensors"); });
  if (part) walk(*part);
  return 0;
}
