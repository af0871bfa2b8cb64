#include "nn/tensor_file.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "core/sha256.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

struct TypePair {
  TensorType stored;
  at::ScalarType type;
};
constexpr TypePair kTypes[] = {{TensorType::kF32, at::kFloat}, {TensorType::kF64, at::kDouble},
                               {TensorType::kI32, at::kInt},   {TensorType::kI64, at::kLong},
                               {TensorType::kU8, at::kByte},   {TensorType::kBool, at::kBool}};

at::ScalarType scalar_type(TensorType stored) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [&](const TypePair& pair) { return pair.stored == stored; })
      ->type;
}

TensorType stored_type(at::ScalarType type) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypePair& pair) { return pair.type == type; });
  QW_ASSERT(found != std::end(kTypes));
  return found->stored;
}

std::vector<int64_t> shape_of(const at::Tensor& tensor) { return tensor.sizes().vec(); }

// Copies on the CPU, as a file takes them.
class HostTensors {
 public:
  explicit HostTensors(const std::vector<Buffer>& tensors) {
    for (const auto& [name, value] : tensors) {
      owners_.push_back(value.detach().cpu().contiguous());
      const at::Tensor& plain = owners_.back();
      stored_.push_back({name,
                         stored_type(plain.scalar_type()),
                         shape_of(plain),
                         {static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes()}});
    }
  }
  const std::vector<StoredTensor>& stored() const { return stored_; }

 private:
  std::vector<at::Tensor> owners_;
  std::vector<StoredTensor> stored_;
};

constexpr const char* kChecksum = "sha256";

// Of everything but the checksum itself.
std::string checksum(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata) {
  std::string text;
  for (const auto& [name, value] : metadata) {
    if (name != kChecksum) text += fmt::format("{}={}\n", name, value);
  }
  for (const StoredTensor& tensor : tensors) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    text +=
        fmt::format("{} {} {} {}\n", tensor.name, type_name(tensor.type), tensor.shape, sha256_hex(bytes));
  }
  return sha256_hex(text);
}

void check_checksum(const SafetensorsFile& file, const std::string& name) {
  const auto stored = file.metadata().find(kChecksum);
  if (stored == file.metadata().end() || stored->second != checksum(file.tensors(), file.metadata()))
    fail(fmt::format("{}: is damaged, by its own checksum; remove it to begin again", name));
}

}  // namespace

at::Tensor tensor_from(const StoredTensor& stored) {
  at::Tensor tensor = at::empty(stored.shape, scalar_type(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

void write_tensors(const std::filesystem::path& path, const std::vector<Buffer>& tensors,
                   const SafetensorsMetadata& metadata) {
  write_safetensors(path, HostTensors(tensors).stored(), metadata);
}

void write_checked_tensors(const std::filesystem::path& path, const std::vector<Buffer>& tensors,
                           SafetensorsMetadata metadata) {
  const HostTensors host(tensors);
  metadata[kChecksum] = checksum(host.stored(), metadata);
  write_safetensors(path, host.stored(), metadata);
}

SafetensorsFile read_checked_tensors(const std::filesystem::path& path) {
  SafetensorsFile file = SafetensorsFile::read(path);
  check_checksum(file, path.string());
  return file;
}

SafetensorsFile checked_tensors_from(std::string contents, const std::string& name) {
  SafetensorsFile file = SafetensorsFile::parse(std::move(contents), name);
  check_checksum(file, name);
  return file;
}

std::vector<Buffer> read_tensors(const std::filesystem::path& path) {
  std::vector<Buffer> tensors;
  const SafetensorsFile file = SafetensorsFile::read(path);
  for (const StoredTensor& stored : file.tensors()) tensors.push_back({stored.name, tensor_from(stored)});
  return tensors;
}

void copy_by_name(const std::vector<Buffer>& tensors, const std::vector<Buffer>& into,
                  const std::string& from) {
  const auto named = [](const std::vector<Buffer>& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const Buffer& each) { return each.name == name; });
  };
  for (const Buffer& given : tensors) {
    if (named(into, given.name) != into.end()) continue;
    std::vector<std::string> known;
    known.reserve(into.size());
    for (const Buffer& target : into) known.push_back(target.name);
    fail(fmt::format("{}: tensor {}", from, unknown_name(given.name, known)));
  }
  const at::NoGradGuard no_gradient;
  for (const Buffer& target : into) {
    const auto given = named(tensors, target.name);
    if (given == tensors.end()) fail(fmt::format("{}: has no tensor '{}'", from, target.name));
    if (given->value.sizes() != target.value.sizes()) {
      fail(fmt::format("{}: tensor '{}' is {}, the model has {}", from, target.name, shape_of(given->value),
                       shape_of(target.value)));
    }
  }
  for (const Buffer& target : into) target.value.copy_(named(tensors, target.name)->value);
}

}  // namespace qw
