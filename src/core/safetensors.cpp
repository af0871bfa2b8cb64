#include "core/safetensors.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/file.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes of a file are taken as they are");

constexpr size_t kLengthBytes = 8;                // the header's length, before the header
constexpr size_t kAlignment = 8;                  // of the first byte of data, by blanks after the header
constexpr uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr size_t kMostDimensions = 64;
constexpr std::string_view kMetadataKey = "__metadata__";

struct TypeEntry {
  TensorType type;
  std::string_view name;
  size_t bytes;
};
constexpr std::array<TypeEntry, 6> kTypes = {{{TensorType::kF32, "F32", 4},
                                              {TensorType::kF64, "F64", 8},
                                              {TensorType::kI32, "I32", 4},
                                              {TensorType::kI64, "I64", 8},
                                              {TensorType::kU8, "U8", 1},
                                              {TensorType::kBool, "BOOL", 1}}};

const TypeEntry& entry_of(TensorType type) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeEntry& e) { return e.type == type; });
  QW_ASSERT(found != kTypes.end());
  return *found;
}

[[noreturn]] void fail_tensor(std::string_view file, std::string_view name, std::string_view problem) {
  fail(fmt::format("{}: tensor {}: {}", file, in_quotes(name), problem));
}

std::string show(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

void check_header_length(uint64_t length, std::string_view file) {
  if (length > kLongestHeader) {
    fail(fmt::format("{}: the header has {} bytes; at most {} are allowed", file, length, kLongestHeader));
  }
}

// Extents of 0 count as 1, so that whoever computes strides from the shape overflows neither.
std::optional<int64_t> largest_stride(const TypeEntry& type, const std::vector<int64_t>& shape) {
  auto product = static_cast<int64_t>(type.bytes);
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product)) return std::nullopt;
  }
  return product;
}

// What holds for every tensor, read or to be written.
void check_tensor(const StoredTensor& tensor, std::string_view file) {
  if (tensor.name.empty()) fail(fmt::format("{}: a tensor's name must not be empty", file));
  const TypeEntry& type = entry_of(tensor.type);
  const std::vector<int64_t>& shape = tensor.shape;
  if (shape.size() > kMostDimensions) {
    fail_tensor(file, tensor.name,
                fmt::format("has {} dimensions; at most {} are allowed", shape.size(), kMostDimensions));
  }
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; })) {
    fail_tensor(file, tensor.name, fmt::format("the shape {} has a negative extent", show(shape)));
  }
  const std::optional<int64_t> stride = largest_stride(type, shape);
  if (!stride) {
    fail_tensor(file, tensor.name, fmt::format("the shape {} is more than 64 bits can count", show(shape)));
  }
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const uint64_t needed = is_empty ? 0 : static_cast<uint64_t>(*stride);
  if (needed != tensor.bytes.size()) {
    fail_tensor(file, tensor.name,
                fmt::format("{} of shape {} needs {} bytes, got {}", type.name, show(shape), needed,
                            tensor.bytes.size()));
  }
  if (tensor.type != TensorType::kBool) return;
  const auto bad =
      std::find_if(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad != tensor.bytes.end()) {
    fail_tensor(file, tensor.name,
                fmt::format("item {} is {}; a BOOL is 0 or 1", bad - tensor.bytes.begin(),
                            std::to_integer<int>(*bad)));
  }
}

constexpr std::array<const char*, 3> kFields = {"dtype", "shape", "data_offsets"};

// A tensor as the header describes it.
struct Claim {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;  // two: begin and end
};

// Follows the JSON event by event: repeated keys are seen, and nothing deeper than the format is entered.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  void read(std::string_view header) {
    // The parser takes a NUL for the end and skips a byte order mark; both are no JSON.
    if (const size_t nul = header.find('\0'); nul != header.npos) fail_json(nul);
    if (!header.starts_with('{')) fail_json(0);
    nlohmann::json::sax_parse(header.begin(), header.end(), this);
  }

  SafetensorsMetadata metadata;
  std::vector<Claim> claims;

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(in_quotes(text)); }
  bool binary(binary_t&) override { refuse("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (place_ != Place::kList || value > kLargest) refuse(std::to_string(value));
    const size_t most = list_ == &claims.back().offsets ? 2 : kMostDimensions;
    if (list_->size() == most) {
      fail_tensor(file_, name_, fmt::format("'{}' has more than {} numbers", key_, most));
    }
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      metadata.find(key_)->second = std::move(text);
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") refuse(in_quotes(text));
    const auto known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeEntry& e) { return e.name == text; });
    if (known == kTypes.end()) {
      fail_tensor(
          file_, name_,
          fmt::format("has the type {}; only F32, F64, I32, I64, U8 and BOOL can be read", in_quotes(text)));
    }
    claims.back().type = known->type;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kHeader;
    } else if (place_ != Place::kHeader) {
      refuse("an object");
    } else if (name_ == kMetadataKey) {
      place_ = Place::kMetadata;
    } else {
      place_ = Place::kTensor;
      claims.push_back({name_, {}, {}, {}});
      keys_.clear();
    }
    return true;
  }

  bool key(string_t& key) override {
    if (place_ == Place::kHeader) {
      if (!names_.insert(key).second) fail(fmt::format("{}: the header has {} twice", file_, in_quotes(key)));
      name_ = std::move(key);
      return true;
    }
    const bool is_new =
        place_ == Place::kMetadata ? metadata.try_emplace(key).second : keys_.insert(key).second;
    if (!is_new) fail(fmt::format("{}: {} has {} twice", file_, where(), in_quotes(key)));
    key_ = std::move(key);
    if (place_ == Place::kTensor && std::find(kFields.begin(), kFields.end(), key_) == kFields.end()) {
      fail_tensor(file_, name_, "the field " + unknown_name(key_, {kFields.begin(), kFields.end()}));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) check_complete(claims.back());
    place_ = place_ == Place::kHeader ? Place::kOutside : Place::kHeader;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") refuse("a list");
    list_ = key_ == "shape" ? &claims.back().shape : &claims.back().offsets;
    place_ = Place::kList;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const nlohmann::detail::exception&) override {
    fail_json(bytes_read - 1);
  }

 private:
  enum class Place { kOutside, kHeader, kMetadata, kTensor, kList };

  [[noreturn]] void fail_json(size_t offset) const {
    fail_at_byte(file_, kLengthBytes + offset, "the header is no valid JSON object");
  }

  std::string where() const {
    return place_ == Place::kMetadata ? std::string(kMetadataKey) : "tensor " + in_quotes(name_);
  }

  [[noreturn]] void refuse(std::string_view got) const {
    std::string what = fmt::format("{}: {}", where(), in_quotes(key_));
    std::string_view expected = "a list of non-negative integers";
    if (place_ == Place::kHeader) {
      what = in_quotes(name_);
      expected = "an object";
    } else if (place_ == Place::kMetadata || key_ == "dtype") {
      expected = "a string";
    }
    fail(fmt::format("{}: {} must be {}, got {}", file_, what, expected, got));
  }

  void check_complete(const Claim& claim) const {
    for (const char* field : kFields) {
      if (!keys_.contains(field)) fail_tensor(file_, claim.name, fmt::format("has no '{}'", field));
    }
    if (claim.offsets.size() != 2) {
      fail_tensor(file_, claim.name,
                  fmt::format("'data_offsets' must be two numbers, got {}", show(claim.offsets)));
    }
  }

  std::string_view file_;
  Place place_ = Place::kOutside;
  std::string name_;             // the header's key last seen
  std::string key_;              // the key last seen inside of `name_`
  std::set<std::string> names_;  // all seen, to find the second of two
  std::set<std::string> keys_;
  std::vector<int64_t>* list_ = nullptr;
};

std::string_view header_of(std::string_view contents, std::string_view file) {
  if (contents.size() < kLengthBytes) {
    fail(fmt::format("{}: is no safetensors file: it has {} bytes, not even the {} of the header's length",
                     file, contents.size(), kLengthBytes));
  }
  uint64_t length = 0;
  std::memcpy(&length, contents.data(), kLengthBytes);
  contents.remove_prefix(kLengthBytes);
  check_header_length(length, file);
  if (length > contents.size()) {
    fail(fmt::format(
        "{}: is cut short or no safetensors file: the header should have {} bytes, but only {} follow", file,
        length, contents.size()));
  }
  return contents.substr(0, length);
}

// The claims in the order of their bytes; together they cover the data without holes and overlaps.
void order_claims(std::vector<Claim>& claims, int64_t data_size, std::string_view file) {
  for (const Claim& claim : claims) {
    const std::vector<int64_t>& offsets = claim.offsets;
    if (offsets[0] > offsets[1] || offsets[1] > data_size) {
      fail_tensor(
          file, claim.name,
          fmt::format("'data_offsets' {} are no part of the {} bytes of data", show(offsets), data_size));
    }
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim& a, const Claim& b) { return a.offsets < b.offsets; });
  int64_t end = 0;
  for (const Claim& claim : claims) {
    if (claim.offsets.front() != end) {
      fail_tensor(file, claim.name,
                  fmt::format("begins at byte {} of the data, but what comes before ends at {}",
                              claim.offsets.front(), end));
    }
    end = claim.offsets.back();
  }
  if (end != data_size) {
    fail(fmt::format("{}: the tensors end at byte {} of the data, which has {}", file, end, data_size));
  }
}

std::string json_string(const std::string& text, std::string_view file) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: {} is not UTF-8", file, in_quotes(text)));
  }
}

std::string header_for(const std::vector<TensorShape>& tensors, const SafetensorsMetadata& metadata,
                       std::string_view file) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata)
      pairs.push_back(json_string(key, file) + ":" + json_string(value, file));
    entries.push_back(fmt::format("\"{}\":{{{}}}", kMetadataKey, join(pairs, ",")));
  }
  size_t begin = 0;
  for (const TensorShape& tensor : tensors) {
    const size_t end = begin + tensor.bytes();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(tensor.name, file), type_name(tensor.type),
                                  fmt::join(tensor.shape, ","), begin, end));
    begin = end;
  }
  std::string header = "{" + join(entries, ",") + "}";
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  check_header_length(header.size(), file);
  return header;
}

}  // namespace

std::string_view type_name(TensorType type) { return entry_of(type).name; }

size_t item_size(TensorType type) { return entry_of(type).bytes; }

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& path) {
  return parse(read_file(path), path.string());
}

SafetensorsFile SafetensorsFile::parse(std::string contents, std::string name) {
  const auto owner = std::make_shared<const std::string>(std::move(contents));
  return view(std::as_bytes(std::span(*owner)), owner, std::move(name));
}

SafetensorsFile SafetensorsFile::view(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                      std::string name) {
  SafetensorsFile file;
  file.name_ = std::move(name);
  file.owner_ = std::move(owner);
  const std::string_view header =
      header_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name_);
  const auto data = bytes.subspan(kLengthBytes + header.size());
  HeaderReader reader(file.name_);
  reader.read(header);
  order_claims(reader.claims, static_cast<int64_t>(data.size()), file.name_);
  for (Claim& claim : reader.claims) {
    const auto begin = static_cast<size_t>(claim.offsets.front());
    const auto end = static_cast<size_t>(claim.offsets.back());
    file.tensors_.push_back(
        {std::move(claim.name), claim.type, std::move(claim.shape), data.subspan(begin, end - begin)});
    check_tensor(file.tensors_.back(), file.name_);
  }
  file.metadata_ = std::move(reader.metadata);
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const StoredTensor& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

const StoredTensor& SafetensorsFile::get(std::string_view name) const {
  if (const StoredTensor* tensor = find(name)) return *tensor;
  std::vector<std::string> candidates;
  for (const StoredTensor& tensor : tensors_) {
    // Much longer ones cannot be near, and a hostile file's may have megabytes.
    if (tensor.name.size() <= 2 * name.size()) candidates.push_back(tensor.name);
  }
  const auto near = closest(name, candidates);
  fail(fmt::format("{}: has no tensor {}{}", name_, in_quotes(name),
                   near ? fmt::format("; did you mean {}?", in_quotes(*near)) : ""));
}

const StoredTensor& SafetensorsFile::get(std::string_view name, TensorType type) const {
  const StoredTensor& tensor = get(name);
  if (tensor.type != type) {
    fail_tensor(name_, name, fmt::format("expected {}, got {}", type_name(type), type_name(tensor.type)));
  }
  return tensor;
}

void SafetensorsFile::require_aligned(std::string_view name, const std::byte* place, size_t alignment) const {
  if (reinterpret_cast<uintptr_t>(place) % alignment != 0)
    fail_tensor(name_, name, fmt::format("does not lie at a multiple of {} bytes", alignment));
}

size_t TensorShape::bytes() const {
  size_t count = item_size(type);
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

std::string safetensors_head(const std::vector<TensorShape>& tensors, const SafetensorsMetadata& metadata,
                             const std::string& name) {
  const std::string header = header_for(tensors, metadata, name);
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + header;
}

std::string safetensors_bytes(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata,
                              const std::string& name) {
  std::set<std::string_view> names = {kMetadataKey};
  std::vector<TensorShape> shapes;
  size_t data_size = 0;
  for (const StoredTensor& tensor : tensors) {
    check_tensor(tensor, name);
    if (!names.insert(tensor.name).second) {
      fail_tensor(name, tensor.name, "the name is already taken");
    }
    shapes.push_back({tensor.name, tensor.type, tensor.shape});
    data_size += tensor.bytes.size();
  }
  const std::string head = safetensors_head(shapes, metadata, name);
  std::string contents;
  contents.reserve(head.size() + data_size);
  contents.append(head);
  for (const StoredTensor& tensor : tensors) {
    contents.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return contents;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                       const SafetensorsMetadata& metadata) {
  write_file_atomically(path, safetensors_bytes(tensors, metadata, path.string()));
}

}  // namespace qw
