#include "nn/tensor_file.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

at::Tensor tensor_from(const StoredTensor& stored) {
  at::Tensor tensor = at::empty(stored.shape, scalar_type(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

void write_tensors(const std::filesystem::path& path, const std::vector<Buffer>& tensors,
                   const SafetensorsMetadata& metadata) {
  std::vector<at::Tensor> owners;
  std::vector<StoredTensor> stored;
  for (const auto& [name, value] : tensors) {
    owners.push_back(value.detach().cpu().contiguous());
    const at::Tensor& plain = owners.back();
    stored.push_back({name,
                      stored_type(plain.scalar_type()),
                      shape_of(plain),
                      {static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes()}});
  }
  write_safetensors(path, stored, metadata);
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
