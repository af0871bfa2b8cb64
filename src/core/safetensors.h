// Named tensors in a safetensors file: a JSON header (types, shapes, places, metadata), then the raw bytes.
//
//   const auto file = SafetensorsFile::read("gcn.safetensors");
//   file.get("lin1.weight").shape;      // {16, 1433}
//   file.values<float>("lin1.weight");  // a copy
//
// A file is checked whole before anything of it is used; every qw::Error starts with its name. Refused,
// though the format knows them: other types than those below, unknown fields, more than 64 dimensions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace qw {

enum class TensorType { kF32, kF64, kI32, kI64, kU8, kBool };

std::string_view type_name(TensorType type);  // as in a file: "F32", "BOOL"
size_t item_size(TensorType type);            // in bytes

template <class T>
consteval TensorType tensor_type() {
  if constexpr (std::is_same_v<T, float>) return TensorType::kF32;
  if constexpr (std::is_same_v<T, double>) return TensorType::kF64;
  if constexpr (std::is_same_v<T, int32_t>) return TensorType::kI32;
  if constexpr (std::is_same_v<T, int64_t>) return TensorType::kI64;
  if constexpr (std::is_same_v<T, uint8_t>) return TensorType::kU8;
  if constexpr (std::is_same_v<T, bool>) return TensorType::kBool;
}

struct StoredTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;  // empty: a single number
  // Owned elsewhere: items in C order, little endian, at any alignment; each byte of a kBool is 0 or 1.
  std::span<const std::byte> bytes;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// Copies share the bytes, which live as long as any of them.
class SafetensorsFile {
 public:
  static SafetensorsFile read(const std::filesystem::path& path);
  static SafetensorsFile parse(std::string contents, std::string name);  // `name` opens errors
  // Of bytes that lie elsewhere, as in a mapped file: tensors point into them and keep their owner alive.
  static SafetensorsFile view(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              std::string name);

  const std::shared_ptr<const void>& owner() const { return owner_; }  // of the bytes
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // in the order of their bytes
  const StoredTensor* find(std::string_view name) const;                 // nullptr: there is none
  const StoredTensor& get(std::string_view name) const;                  // throws when there is none

  // All items where they lie; throws unless the tensor exists and has exactly this type, and lies at a place
  // that suits it, as it does when wider types stand before narrower ones.
  template <class T>
  std::span<const T> items(std::string_view name) const;

  // A copy of all items; throws unless the tensor exists and has exactly this type.
  template <class T>
  std::vector<T> values(std::string_view name) const;

 private:
  const StoredTensor& get(std::string_view name, TensorType type) const;
  void require_aligned(std::string_view name, const std::byte* place, size_t alignment) const;

  std::string name_;
  std::shared_ptr<const void> owner_;
  SafetensorsMetadata metadata_;
  std::vector<StoredTensor> tensors_;
};

// A tensor whose bytes are yet to come.
struct TensorShape {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;

  size_t bytes() const;  // that it takes
};

// What stands in a file before the bytes of these tensors, for files too large to be made in memory.
std::string safetensors_head(const std::vector<TensorShape>& tensors, const SafetensorsMetadata& metadata,
                             const std::string& name);

// The bytes of a file with these tensors in this order: the same input gives the same bytes. Throws on what
// parse() would refuse and on text that is not UTF-8; `name` opens errors.
std::string safetensors_bytes(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata,
                              const std::string& name);

// The same into a file, atomically.
void write_safetensors(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                       const SafetensorsMetadata& metadata = {});

template <class T>
std::span<const T> SafetensorsFile::items(std::string_view name) const {
  const std::span<const std::byte> bytes = get(name, tensor_type<T>()).bytes;
  if (bytes.empty()) return {};
  require_aligned(name, bytes.data(), alignof(T));
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
std::vector<T> SafetensorsFile::values(std::string_view name) const {
  const std::span<const std::byte> bytes = get(name, tensor_type<T>()).bytes;
  std::vector<T> items(bytes.size() / sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    std::transform(bytes.begin(), bytes.end(), items.begin(), [](std::byte b) { return b != std::byte{0}; });
  } else if (!bytes.empty()) {
    std::memcpy(items.data(), bytes.data(), bytes.size());
  }
  return items;
}

}  // namespace qw
