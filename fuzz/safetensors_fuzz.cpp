#include "core/safetensors.h"

#include <algorithm>
#include <optional>

#include "support.h"

namespace {

// What was read can be written, and comes back as the same bytes.
void check_round_trip(const qw::SafetensorsFile& file) {
  const std::string saved = qw::safetensors_bytes(file.tensors(), file.metadata(), "saved");
  const auto again = qw::SafetensorsFile::parse(saved, "saved");
  QW_ASSERT(again.metadata() == file.metadata());
  QW_ASSERT(qw::safetensors_bytes(again.tensors(), again.metadata(), "again") == saved);
}

void copy_out(const qw::SafetensorsFile& file) {
  for (const qw::StoredTensor& tensor : file.tensors()) {
    if (tensor.type == qw::TensorType::kF64) file.values<double>(tensor.name);
    if (tensor.type == qw::TensorType::kBool) file.values<bool>(tensor.name);
  }
}

}  // namespace

// The first byte chooses: bit 0 set, the rest is the file itself; clear, it is the header and the data,
// divided by kFileDivider, and the length is put before them here.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string contents(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) == 0) {
    const size_t header_size = std::min(contents.find(qw::kFileDivider), contents.size());
    const uint64_t length = header_size;
    contents.erase(header_size, qw::kFileDivider.size());
    contents.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  }
  std::optional<qw::SafetensorsFile> file;
  try {
    file = qw::SafetensorsFile::parse(std::move(contents), "fuzz.safetensors");
    copy_out(*file);
    file->get("weight");
  } catch (const qw::InternalError&) {
    throw;
  } catch (const qw::Error&) {
  }
  if (file) check_round_trip(*file);
  return 0;
}
