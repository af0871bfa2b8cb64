#include "data/formats/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/text.h"
#include "data/formats/utf8.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxDimensions = 64;
constexpr int64_t kMaxItemBytes = std::numeric_limits<int32_t>::max();
constexpr bool kLittleEndian = std::endian::native == std::endian::little;

struct ItemType {
  char kind = 0;
  int64_t bytes = 0;  // 0 for Python objects
  bool swapped = false;
};

// "<f4" and the like; nothing for structured and other types we do not know.
std::optional<ItemType> parse_type(std::string_view descr) {
  bool swapped = false;
  if (!descr.empty() && std::string_view("<>|=").find(descr.front()) != std::string_view::npos) {
    swapped = descr.front() == (kLittleEndian ? '>' : '<');
    descr.remove_prefix(1);
  }
  if (descr.empty()) return std::nullopt;
  const char kind = descr.front();
  if (kind == 'O') return ItemType{kind, 0, false};
  const std::optional<int64_t> count = parse_integer(descr.substr(1));
  if (!count || *count < 0 || *count > kMaxItemBytes / 4) return std::nullopt;
  const auto is_one_of = [&](std::initializer_list<int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), *count) != sizes.end();
  };
  switch (kind) {
    case 'b':
      if (!is_one_of({1})) return std::nullopt;
      break;
    case 'i':
    case 'u':
      if (!is_one_of({1, 2, 4, 8})) return std::nullopt;
      break;
    case 'f':
      if (!is_one_of({2, 4, 8})) return std::nullopt;
      break;
    case 'S':
    case 'U':
      break;
    default:
      return std::nullopt;
  }
  return ItemType{kind, kind == 'U' ? 4 * *count : *count, swapped};
}

ItemType item_type(const NpyArray& array) {
  const std::optional<ItemType> type = parse_type(array.descr);
  if (!type) {
    fail(fmt::format("{}: items of type {}; expected bool, integers, floating point or text", array.label,
                     in_quotes(array.descr)));
  }
  return *type;
}

std::string show_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Nothing when the product does not fit.
std::optional<int64_t> product(const std::vector<int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t result = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::nullopt;
  }
  return result;
}

// IEEE half precision: 1 sign, 5 exponent and 10 fraction bits.
struct Half {
  uint16_t bits;
  explicit operator double() const {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    double magnitude = 0;
    if (exponent == 0) {
      magnitude = std::ldexp(fraction, -24);
    } else if (exponent < 31) {
      magnitude = std::ldexp(fraction + 1024, exponent - 25);
    } else {
      magnitude =
          fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
};

template <class Item>
Item load_item(const char* at, bool swapped) {
  std::array<char, sizeof(Item)> raw;
  std::memcpy(raw.data(), at, sizeof(Item));
  if (swapped) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<Item>(raw);
}

// False when `item` has no exact counterpart in a bool or an integer type; floating point takes anything.
template <class Out, class In>
bool convert(In item, Out& out) {
  if constexpr (std::is_floating_point_v<Out>) {
    out = static_cast<Out>(item);
    return true;
  } else if constexpr (std::is_same_v<Out, bool>) {
    out = item != In{0};
    return item == In{0} || item == In{1};
  } else if constexpr (std::is_integral_v<In>) {
    if (!std::in_range<Out>(item)) return false;
    out = static_cast<Out>(item);  // NOLINT(bugprone-signed-char-misuse): an int8 is a number here
    return true;
  } else {
    const double lowest = std::ldexp(-1.0, std::numeric_limits<Out>::digits);
    if (!(item >= lowest && item < -lowest) || std::trunc(item) != item) return false;
    out = static_cast<Out>(item);
    return true;
  }
}

template <class Values>
Values in_c_order(Values stored, const std::vector<int64_t>& shape) {
  if (stored.size() <= 1 || shape.size() <= 1) return stored;
  const size_t dimensions = shape.size();
  std::vector<int64_t> strides(dimensions, 1);
  for (size_t d = 1; d < dimensions; ++d) strides[d] = strides[d - 1] * shape[d - 1];
  std::vector<int64_t> index(dimensions, 0);
  Values result(stored.size());
  int64_t from = 0;
  for (size_t to = 0; to < result.size(); ++to) {
    result[to] = std::move(stored[from]);
    for (size_t d = dimensions; d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

template <class Item, class Out>
std::vector<Out> convert_all(const NpyArray& array, bool swapped) {
  const size_t count = array.data.size() / sizeof(Item);
  std::vector<Out> result(count);
  if constexpr (std::is_same_v<Item, Out>) {
    if (!swapped && count > 0) {
      std::memcpy(result.data(), array.data.data(), array.data.size());
      return result;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    using Number = std::conditional_t<std::is_same_v<Item, Half>, double, Item>;
    const auto item = static_cast<Number>(load_item<Item>(array.data.data() + k * sizeof(Item), swapped));
    Out out{};
    if (!convert(item, out)) {
      fail(fmt::format("{}: item {} is {}; expected {}", array.label, k, item,
                       std::is_same_v<Out, bool> ? std::string("0 or 1")
                                                 : fmt::format("a {}-bit integer", 8 * sizeof(Out))));
    }
    result[k] = out;
  }
  return result;
}

template <class Out>
std::vector<Out> numbers(const NpyArray& array) {
  const ItemType type = item_type(array);
  const auto read_as = [&]<class Item>(Item) {
    std::vector<Out> values = convert_all<Item, Out>(array, type.swapped);
    return array.fortran_order ? in_c_order(std::move(values), array.shape) : values;
  };
  switch (type.kind) {
    case 'b':
      return read_as(uint8_t{});
    case 'i':
      if (type.bytes == 1) return read_as(int8_t{});
      if (type.bytes == 2) return read_as(int16_t{});
      return type.bytes == 4 ? read_as(int32_t{}) : read_as(int64_t{});
    case 'u':
      if (type.bytes == 1) return read_as(uint8_t{});
      if (type.bytes == 2) return read_as(uint16_t{});
      return type.bytes == 4 ? read_as(uint32_t{}) : read_as(uint64_t{});
    case 'f':
      if (type.bytes == 2) return read_as(Half{});
      return type.bytes == 4 ? read_as(float{}) : read_as(double{});
    case 'O':
      fail(array.label + ": holds Python objects, which are never unpickled; expected numbers");
    default:
      fail(fmt::format("{}: holds text ({}); expected numbers", array.label, in_quotes(array.descr)));
  }
}

std::string unicode_item(const NpyArray& array, std::string_view item, bool swapped, int64_t position) {
  std::string text;
  size_t padding_from = 0;
  for (size_t at = 0; at < item.size(); at += 4) {
    const auto code_point = load_item<uint32_t>(item.data() + at, swapped);
    if (!append_utf8(text, code_point)) {
      fail(fmt::format("{}: item {} holds 0x{:x}, which is not a character", array.label, position,
                       code_point));
    }
    if (code_point != 0) padding_from = text.size();
  }
  text.resize(padding_from);
  return text;
}

// The Python dict at the start of a .npy file: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t offset, NpyArray& array)
      : text_(text), offset_(offset), array_(array) {}

  void parse() {
    expect("{", "'{'");
    while (!accept("}")) {
      parse_entry();
      if (accept(",")) continue;
      expect("}", "',' or '}'");
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) problem("the end of the header");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      fail_at_byte(array_.label, offset_, "the header lacks one of 'descr', 'fortran_order' and 'shape'");
    }
  }

 private:
  void parse_entry() {
    const std::string key = parse_text("a key");
    expect(":", "':'");
    if (key == "descr" && !std::exchange(has_descr_, true)) {
      array_.descr = parse_text("a plain type such as '<f4' (structured arrays are not supported)");
    } else if (key == "fortran_order" && !std::exchange(has_order_, true)) {
      array_.fortran_order = accept("True");
      if (!array_.fortran_order) expect("False", "True or False");
    } else if (key == "shape" && !std::exchange(has_shape_, true)) {
      parse_shape();
    } else {
      fail_at_byte(array_.label, offset_ + at_,
                   fmt::format("the header's key {} is unknown or stands twice", in_quotes(key)));
    }
  }

  void parse_shape() {
    expect("(", "'('");
    while (!accept(")")) {
      skip_blanks();
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      const std::optional<int64_t> extent = parse_integer(text_.substr(begin, at_ - begin));
      if (!extent) {
        at_ = begin;
        problem("a length that fits 64 bits");
      }
      array_.shape.push_back(*extent);
      accept("L");  // Python 2 writes long integers so
      if (accept(",")) continue;
      expect(")", "',' or ')'");
      break;
    }
  }

  std::string parse_text(const char* what) {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) problem(what);
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(found);
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token, const char* what) {
    if (!accept(token)) problem(what);
  }

  [[noreturn]] void problem(const char* expected) const {
    const std::string_view rest = text_.substr(at_, 12);
    fail_at_byte(array_.label, offset_ + at_,
                 fmt::format("the header should have {}, found {}", expected,
                             rest.empty() ? "its end" : in_quotes(rest)));
  }

  std::string_view text_;
  size_t offset_;
  NpyArray& array_;
  size_t at_ = 0;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::string npy_header(const std::string& descr, const std::vector<int64_t>& shape, size_t count) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPrefix = 10;
  QW_ASSERT(product(shape) == static_cast<int64_t>(count));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  text.append(kAlignment - (kPrefix + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

template <class Item>
std::string write_items(const char* type, const Item* items, size_t count,
                        const std::vector<int64_t>& shape) {
  std::string file = npy_header(fmt::format("{}{}", kLittleEndian ? '<' : '>', type), shape, count);
  file.append(reinterpret_cast<const char*>(items), count * sizeof(Item));
  return file;
}

}  // namespace

int64_t NpyArray::size() const { return product(shape).value_or(std::numeric_limits<int64_t>::max()); }

bool NpyArray::is_object() const { return item_type(*this).kind == 'O'; }

bool NpyArray::is_string() const {
  const char kind = item_type(*this).kind;
  return kind == 'S' || kind == 'U';
}

bool NpyArray::is_floating() const { return item_type(*this).kind == 'f'; }

std::vector<float> NpyArray::as_float() const { return numbers<float>(*this); }
std::vector<double> NpyArray::as_double() const { return numbers<double>(*this); }
std::vector<int32_t> NpyArray::as_int32() const { return numbers<int32_t>(*this); }
std::vector<int64_t> NpyArray::as_int64() const { return numbers<int64_t>(*this); }
std::vector<bool> NpyArray::as_bool() const { return numbers<bool>(*this); }

std::vector<std::string> NpyArray::as_strings() const {
  const ItemType type = item_type(*this);
  if (!is_string()) fail(fmt::format("{}: items of type {}; expected text", label, in_quotes(descr)));
  std::vector<std::string> result;
  result.reserve(size());
  for (int64_t k = 0; k < size(); ++k) {
    const std::string_view item = data.substr(k * type.bytes, type.bytes);
    if (type.kind == 'U') {
      result.push_back(unicode_item(*this, item, type.swapped, k));
    } else {
      result.emplace_back(item.substr(0, item.find_last_not_of('\0') + 1));
    }
  }
  return fortran_order ? in_c_order(std::move(result), shape) : result;
}

void check_array(const NpyArray& array) {
  const ItemType type = item_type(array);
  const bool negative = std::any_of(array.shape.begin(), array.shape.end(), [](int64_t n) { return n < 0; });
  if (negative || array.shape.size() > kMaxDimensions) {
    fail(fmt::format("{}: an array of {} dimensions{}; expected at most {}, none negative", array.label,
                     array.shape.size(), negative ? ", one negative" : "", kMaxDimensions));
  }
  if (type.kind == 'O') return;
  const std::optional<int64_t> count = product(array.shape);
  const auto bytes = static_cast<int64_t>(array.data.size());
  const bool fits = count && (type.bytes == 0 ? *count == 0 && bytes == 0
                                              : bytes % type.bytes == 0 && *count == bytes / type.bytes);
  if (!fits) {
    fail(fmt::format("{}: shape {} of {} does not fit the {} bytes of data", array.label,
                     show_shape(array.shape), in_quotes(array.descr), bytes));
  }
}

NpyArray read_npy(std::string bytes, std::string label) {
  constexpr size_t kVersionEnd = 8;
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view file = *owned;
  if (file.size() < kVersionEnd || !file.starts_with(kMagic)) fail_at_byte(label, 0, "not a .npy array");
  const int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3) {
    fail_at_byte(label, 6, fmt::format("version {} of the .npy format; expected 1, 2 or 3", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_begin = kVersionEnd + length_bytes;
  if (file.size() < header_begin) fail_at_byte(label, file.size(), "the array ends within its header");
  size_t header_size = 0;
  for (size_t k = length_bytes; k-- > 0;) {
    header_size = header_size << 8 | static_cast<unsigned char>(file[kVersionEnd + k]);
  }
  if (header_size > file.size() - header_begin) {
    fail_at_byte(label, kVersionEnd,
                 fmt::format("a header of {} bytes in an array of {}", header_size, file.size()));
  }
  NpyArray array;
  array.label = std::move(label);
  array.storage = owned;
  HeaderParser(file.substr(header_begin, header_size), header_begin, array).parse();
  array.data = file.substr(header_begin + header_size);
  check_array(array);
  return array;
}

std::string write_npy(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  return write_items("f4", values.data(), values.size(), shape);
}
std::string write_npy(const std::vector<double>& values, const std::vector<int64_t>& shape) {
  return write_items("f8", values.data(), values.size(), shape);
}
std::string write_npy(const std::vector<int32_t>& values, const std::vector<int64_t>& shape) {
  return write_items("i4", values.data(), values.size(), shape);
}
std::string write_npy(const std::vector<int64_t>& values, const std::vector<int64_t>& shape) {
  return write_items("i8", values.data(), values.size(), shape);
}

std::string write_npy(const std::vector<bool>& values, const std::vector<int64_t>& shape) {
  std::string file = npy_header("|b1", shape, values.size());
  for (const bool value : values) file += value ? '\1' : '\0';
  return file;
}

std::string write_npy(const std::vector<std::string>& values, const std::vector<int64_t>& shape) {
  std::vector<std::u32string> texts;
  size_t width = 1;
  for (const std::string& value : values) {
    std::optional<std::u32string> text = decode_utf8(value);
    if (!text) fail(fmt::format("cannot write {} as a unicode array: it is not UTF-8", in_quotes(value)));
    width = std::max(width, text->size());
    texts.push_back(std::move(*text));
  }
  std::string file = npy_header(fmt::format("{}U{}", kLittleEndian ? '<' : '>', width), shape, values.size());
  for (std::u32string& text : texts) {
    text.resize(width);
    file.append(reinterpret_cast<const char*>(text.data()), width * sizeof(char32_t));
  }
  return file;
}

NpzArchive::NpzArchive(std::string bytes, std::string label)
    : label_(std::move(label)), archive_(std::move(bytes), label_) {}

NpyArray NpzArchive::load(const std::string& name) const {
  if (!has(name)) fail(fmt::format("{}: has no array {}", label_, in_quotes(name)));
  return read_npy(archive_.extract(name + ".npy"), label_ + ": " + name);
}

}  // namespace qw
