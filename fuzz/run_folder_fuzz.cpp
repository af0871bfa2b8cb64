// The files of a run folder that need no LibTorch: manifest, schema, split and what was trained on; and a
// node table that is read as the schema says. In one input, divided: manifest.json, schema.json, split.csv,
// nodes.csv, edges.csv, trained_on.safetensors.
#include <optional>

#include "core/json.h"
#include "core/manifest.h"
#include "data/schema/schema_json.h"
#include "data/schema/trained_on_file.h"
#include "qw/data/trained_on.h"
#include "support.h"

namespace {

// What the work gives, or nothing when it refuses.
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

// What was read is written and read again as it was.
void check_round_trip(const qw::TrainedOn& trained_on) {
  const qw::TrainedOn again = qw::trained_on_from(trained_on.schema, qw::trained_on_bytes(trained_on), "t",
                                                  qw::split_csv(trained_on), "s");
  QW_ASSERT(qw::fingerprint(again).graph == qw::fingerprint(trained_on).graph);
  QW_ASSERT(qw::fingerprint(again).splits == qw::fingerprint(trained_on).splits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> files;
  for (int k = 0; k < 5; ++k) {
    const size_t end = input.find(qw::kFileDivider);
    files.emplace_back(input.substr(0, end));
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + qw::kFileDivider.size());
  }
  attempt([&] { return qw::Manifest::parse(files[0], "run").lists("model.json"); });
  const auto schema =
      attempt([&] { return qw::schema_from_json(qw::parse_json(files[1], "schema.json"), "schema.json"); });
  if (!schema) return 0;
  const auto trained_on = attempt([&] {
    return qw::trained_on_from(*schema, std::string(input), "trained_on.safetensors", files[2], "split.csv");
  });
  if (trained_on) check_round_trip(*trained_on);
  const auto dataset = attempt([&] {
    qw::LoadOptions options;
    options.edges = "edges.csv";
    options.nodes = "nodes.csv";
    options.as_trained = std::make_shared<qw::DataSchema>(*schema);
    const qw::MemoryFiles given({{"nodes.csv", files[3]}, {"edges.csv", files[4]}});
    qw::Dataset read = qw::kCsvReader.read(given, "", options);
    qw::conform(read, *schema);
    qw::check_consistent(read);
    return read;
  });
  if (trained_on && dataset) qw::changes_since(*trained_on, *dataset);
  return 0;
}
