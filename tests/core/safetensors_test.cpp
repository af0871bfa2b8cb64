#include "core/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/file.h"
#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using testing::ElementsAre;

template <class T>
StoredTensor tensor_of(std::string name, std::vector<int64_t> shape, const std::vector<T>& items) {
  return {std::move(name), tensor_type<T>(), std::move(shape), std::as_bytes(std::span(items))};
}

// A file of this header and `data_size` bytes, each `fill`.
std::string file_of(std::string_view header, size_t data_size = 0, char fill = '\0') {
  const uint64_t length = header.size();
  std::string contents(reinterpret_cast<const char*>(&length), sizeof(length));
  return contents.append(header).append(data_size, fill);
}

std::string parse_error(std::string_view header, size_t data_size = 0, char fill = '\0') {
  return error_of([&] { SafetensorsFile::parse(file_of(header, data_size, fill), "f"); });
}

std::string write_error(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata = {}) {
  return error_of([&] { safetensors_bytes(tensors, metadata, "f"); });
}

std::string bytes_again(const SafetensorsFile& file) {
  return safetensors_bytes(file.tensors(), file.metadata(), "again");
}

TEST(Safetensors, TypesHaveNamesAndSizes) {
  EXPECT_EQ(type_name(TensorType::kF32), "F32");
  EXPECT_EQ(type_name(TensorType::kBool), "BOOL");
  EXPECT_EQ(item_size(TensorType::kF32), 4u);
  EXPECT_EQ(item_size(TensorType::kF64), 8u);
  EXPECT_EQ(item_size(TensorType::kI32), 4u);
  EXPECT_EQ(item_size(TensorType::kI64), 8u);
  EXPECT_EQ(item_size(TensorType::kU8), 1u);
  EXPECT_EQ(item_size(TensorType::kBool), 1u);
}

TEST(Safetensors, EveryTypeComesBack) {
  const std::vector<uint8_t> flags = {1, 0, 1};
  const std::vector<float> floats = {1.5f, -0.0f, std::numeric_limits<float>::infinity(), 1e-45f};
  const std::vector<double> doubles = {0.1, std::nan("")};
  const std::vector<int32_t> ints = {std::numeric_limits<int32_t>::min(), 7};
  const std::vector<int64_t> longs = {std::numeric_limits<int64_t>::max()};
  const std::vector<uint8_t> small = {0, 255};
  const std::vector<float> none;
  std::vector<StoredTensor> tensors = {
      tensor_of("flags", {3}, flags),    tensor_of("floats", {2, 2}, floats),
      tensor_of("empty", {4, 0}, none),  tensor_of("doubles", {2, 1}, doubles),
      tensor_of("ints", {2}, ints),      tensor_of("scalar", {}, longs),
      tensor_of("small", {1, 2}, small), tensor_of("last empty", {0}, none)};
  tensors[0].type = TensorType::kBool;
  const SafetensorsMetadata metadata = {{"", "no key"}, {"model", "gcn \"quoted\"\n\u00e9"}};
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "deep" / "all.safetensors";
  write_safetensors(path, tensors, metadata);

  const auto file = SafetensorsFile::read(path);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (size_t k = 0; k < tensors.size(); ++k) {
    EXPECT_EQ(file.tensors()[k].name, tensors[k].name);
    EXPECT_EQ(file.tensors()[k].type, tensors[k].type) << tensors[k].name;
    EXPECT_EQ(file.tensors()[k].shape, tensors[k].shape) << tensors[k].name;
    EXPECT_TRUE(std::ranges::equal(file.tensors()[k].bytes, tensors[k].bytes)) << tensors[k].name;
  }
  // Three flags come first, so that nothing after them is aligned.
  EXPECT_THAT(file.values<bool>("flags"), ElementsAre(true, false, true));
  EXPECT_EQ(file.values<float>("floats"), floats);
  EXPECT_EQ(file.values<float>("empty"), none);
  EXPECT_EQ(file.values<double>("doubles")[0], 0.1);
  EXPECT_TRUE(std::isnan(file.values<double>("doubles")[1]));
  EXPECT_EQ(file.values<int32_t>("ints"), ints);
  EXPECT_EQ(file.values<int64_t>("scalar"), longs);
  EXPECT_EQ(file.values<uint8_t>("small"), small);
  EXPECT_EQ(bytes_again(file), read_file(path)) << "saving what was loaded gives the same bytes";
}

TEST(Safetensors, BytesAreAsTheFormatSays) {
  const std::vector<int32_t> items = {1, -2};
  const std::string header =
      R"({"__metadata__":{"a":"b"},"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(safetensors_bytes({tensor_of("x", {2}, items)}, {{"a", "b"}}, "f"),
            file_of(header + padding) + std::string("\x01\0\0\0\xfe\xff\xff\xff", 8));
  EXPECT_EQ(safetensors_bytes({}, {}, "f"), file_of("{}      "));
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  // Keys in any order, tensors in any order, blanks, an empty tensor at the place of another.
  const std::string header = R"({"b":{"data_offsets":[1,3],"shape":[2],"dtype":"U8"},
    "e":{"dtype":"F64","shape":[0,5],"data_offsets":[1,1]},
    "a\u0000":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}, "__metadata__":{}}  )";
  const auto file = SafetensorsFile::parse(file_of(header, 3, '\1'), "f");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, std::string("a\0", 2));
  EXPECT_EQ(file.tensors()[1].name, "e");
  EXPECT_EQ(file.tensors()[2].name, "b");
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_THAT(file.values<uint8_t>("b"), ElementsAre(1, 1));
  const std::string saved = bytes_again(file);
  EXPECT_EQ(bytes_again(SafetensorsFile::parse(saved, "f")), saved);
}

TEST(Safetensors, CopiesKeepTheBytesAlive) {
  const std::vector<double> items = {0.5};
  std::optional<SafetensorsFile> file =
      SafetensorsFile::parse(safetensors_bytes({tensor_of("x", {1}, items)}, {}, "f"), "f");
  const SafetensorsFile copy = *file;
  file.reset();
  EXPECT_EQ(copy.values<double>("x"), items);
}

TEST(Safetensors, FindsByNameAndType) {
  const std::vector<float> items = {1};
  const auto file = SafetensorsFile::parse(
      safetensors_bytes({tensor_of("lin1.weight", {1}, items), tensor_of("lin1.bias", {1}, items)}, {}, "f"),
      "f");
  EXPECT_EQ(file.find("lin1.bias"), &file.tensors()[1]);
  EXPECT_EQ(&file.get("lin1.bias"), &file.tensors()[1]);
  EXPECT_EQ(file.find("lin2.bias"), nullptr);
  EXPECT_EQ(error_of([&] { file.get("lin1.wieght"); }),
            "f: has no tensor 'lin1.wieght'; did you mean 'lin1.weight'?");
  EXPECT_EQ(error_of([&] { file.values<float>("Q"); }), "f: has no tensor 'Q'");
  EXPECT_EQ(error_of([&] { file.values<double>("lin1.bias"); }),
            "f: tensor 'lin1.bias': expected F64, got F32");
}

TEST(Safetensors, ReadsTheGoldenModels) {
  const fs::path folder = test::golden_folder() / "models";
  QW_SKIP_WITHOUT(folder);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++files;
    SCOPED_TRACE(entry.path());
    const auto file = SafetensorsFile::read(entry.path());
    EXPECT_TRUE(entry.path().filename().string().starts_with(file.metadata().at("model")));
    EXPECT_THAT(file.get("edge_index").shape, ElementsAre(2, 90));
    for (const int64_t node : file.values<int64_t>("edge_index")) EXPECT_TRUE(node >= 0 && node < 40);
    EXPECT_EQ(file.values<double>("logits").size(), 160u);
    for (const double value : file.values<double>("x")) EXPECT_TRUE(std::isfinite(value));
    // Ours differs from the reference's bytes in the order of the metadata at most.
    const std::string theirs = read_file(entry.path());
    const std::string ours = bytes_again(file);
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(ours.substr(0, 8), theirs.substr(0, 8));
    const size_t metadata_end = theirs.find('}');
    EXPECT_EQ(ours.substr(metadata_end), theirs.substr(metadata_end));
  }
  EXPECT_GT(files, 0);
}

TEST(SafetensorsErrors, Length) {
  const auto error = [](const std::string& contents) {
    return error_of([&] { SafetensorsFile::parse(contents, "f"); });
  };
  EXPECT_EQ(error(""), "f: is no safetensors file: it has 0 bytes, not even the 8 of the header's length");
  EXPECT_EQ(error(file_of("{}").substr(0, 7)),
            "f: is no safetensors file: it has 7 bytes, not even the 8 of the header's length");
  EXPECT_EQ(error(file_of("{}").substr(0, 9)),
            "f: is cut short or no safetensors file: the header should have 2 bytes, but only 1 follow");
  EXPECT_EQ(error(std::string(8, '\xff')),
            "f: the header has 18446744073709551615 bytes; at most 100000000 are allowed");
  const test::TemporaryFolder folder;
  const std::string path = folder.write("short", "x").string();
  EXPECT_EQ(error_of([&] { SafetensorsFile::read(path); }),
            path + ": is no safetensors file: it has 1 bytes, not even the 8 of the header's length");
}

TEST(SafetensorsErrors, Json) {
  EXPECT_EQ(parse_error(""), "f: byte 8: the header is no valid JSON object");
  EXPECT_EQ(parse_error("[]"), "f: byte 8: the header is no valid JSON object");
  EXPECT_EQ(parse_error("\xef\xbb\xbf{}"), "f: byte 8: the header is no valid JSON object");
  EXPECT_EQ(parse_error("{"), "f: byte 9: the header is no valid JSON object");
  EXPECT_EQ(parse_error("{}{"), "f: byte 10: the header is no valid JSON object");
  EXPECT_EQ(parse_error(std::string_view("{}\0 ", 4)), "f: byte 10: the header is no valid JSON object");
  EXPECT_EQ(parse_error("{\"\xff\":{}}"), "f: byte 10: the header is no valid JSON object");
  EXPECT_EQ(parse_error(R"({"x":{"shape":[1e999]}})"), "f: byte 27: the header is no valid JSON object");
}

TEST(SafetensorsErrors, DeepNestingIsNotEntered) {
  std::string header = R"({"x":{"shape":)";
  EXPECT_EQ(parse_error(header.append(1'000'000, '[')),
            "f: tensor 'x': 'shape' must be a list of non-negative integers, got a list");
  header = "{\"__metadata__\":";
  for (int k = 0; k < 100'000; ++k) header += "{\"\":";
  EXPECT_EQ(parse_error(header), "f: __metadata__: '' must be a string, got an object");
}

TEST(SafetensorsErrors, WrongKindsOfValues) {
  EXPECT_EQ(parse_error(R"({"x":null})"), "f: 'x' must be an object, got null");
  EXPECT_EQ(parse_error(R"({"__metadata__":["a"]})"), "f: '__metadata__' must be an object, got a list");
  EXPECT_EQ(parse_error(R"({"__metadata__":{"a":true}})"), "f: __metadata__: 'a' must be a string, got true");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":32}})"), "f: tensor 'x': 'dtype' must be a string, got 32");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":["F32"]}})"), "f: tensor 'x': 'dtype' must be a string, got a list");
  EXPECT_EQ(parse_error(R"({"x":{"shape":{}}})"),
            "f: tensor 'x': 'shape' must be a list of non-negative integers, got an object");
  EXPECT_EQ(parse_error(R"({"x":{"shape":[-1]}})"),
            "f: tensor 'x': 'shape' must be a list of non-negative integers, got -1");
  EXPECT_EQ(parse_error(R"({"x":{"shape":[9223372036854775808]}})"),
            "f: tensor 'x': 'shape' must be a list of non-negative integers, got 9223372036854775808");
  EXPECT_EQ(parse_error(R"({"x":{"shape":[1.5]}})"),
            "f: tensor 'x': 'shape' must be a list of non-negative integers, got '1.5'");
  EXPECT_EQ(parse_error(R"({"x\n":{"data_offsets":["0"]}})"),
            "f: tensor 'x\\x0a': 'data_offsets' must be a list of non-negative integers, got '0'");
}

TEST(SafetensorsErrors, Fields) {
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"BF16"}})"),
            "f: tensor 'x': has the type 'BF16'; only F32, F64, I32, I64, U8 and BOOL can be read");
  EXPECT_EQ(
      parse_error(R"({"x":{"dytpe":"F32"}})"),
      "f: tensor 'x': the field 'dytpe' is unknown; did you mean 'dtype'? known: dtype, shape, data_offsets");
  EXPECT_EQ(parse_error(R"({"x":{}})"), "f: tensor 'x': has no 'dtype'");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F32","data_offsets":[0,4]}})"), "f: tensor 'x': has no 'shape'");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F32","shape":[]}})"), "f: tensor 'x': has no 'data_offsets'");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[4]}})"),
            "f: tensor 'x': 'data_offsets' must be two numbers, got [4]");
  EXPECT_EQ(parse_error(R"({"x":{"data_offsets":[0,4,8]}})"),
            "f: tensor 'x': 'data_offsets' has more than 2 numbers");
  std::string header = R"({"x":{"shape":[1)";
  for (int k = 0; k < 64; ++k) header += ",1";
  EXPECT_EQ(parse_error(header), "f: tensor 'x': 'shape' has more than 64 numbers");
}

TEST(SafetensorsErrors, RepeatedKeys) {
  const std::string_view empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(parse_error(fmt::format(R"({{"x":{},"x":{}}})", empty, empty)), "f: the header has 'x' twice");
  EXPECT_EQ(parse_error(R"({"__metadata__":{},"__metadata__":{}})"),
            "f: the header has '__metadata__' twice");
  EXPECT_EQ(parse_error(R"({"__metadata__":{"a":"","a":""}})"), "f: __metadata__ has 'a' twice");
  EXPECT_EQ(parse_error(R"({"x":{"shape":[],"shape":[]}})"), "f: tensor 'x' has 'shape' twice");
}

TEST(SafetensorsErrors, PlacesInTheData) {
  const auto bytes = [](std::string_view name, int64_t begin, int64_t end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name, end - begin,
                       begin, end);
  };
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[3,2]}})", 4),
            "f: tensor 'x': 'data_offsets' [3, 2] are no part of the 4 bytes of data");
  EXPECT_EQ(parse_error("{" + bytes("x", 0, 5) + "}", 4),
            "f: tensor 'x': 'data_offsets' [0, 5] are no part of the 4 bytes of data");
  EXPECT_EQ(parse_error("{" + bytes("x", 0, 3) + "," + bytes("y", 2, 4) + "}", 4),
            "f: tensor 'y': begins at byte 2 of the data, but what comes before ends at 3");
  EXPECT_EQ(parse_error("{" + bytes("x", 0, 1) + "," + bytes("y", 2, 4) + "}", 4),
            "f: tensor 'y': begins at byte 2 of the data, but what comes before ends at 1");
  EXPECT_EQ(parse_error("{" + bytes("x", 0, 4) + "," + bytes("inside", 2, 2) + "}", 4),
            "f: tensor 'inside': begins at byte 2 of the data, but what comes before ends at 4");
  EXPECT_EQ(parse_error("{" + bytes("x", 1, 4) + "}", 4),
            "f: tensor 'x': begins at byte 1 of the data, but what comes before ends at 0");
  EXPECT_EQ(parse_error("{" + bytes("x", 0, 3) + "}", 4),
            "f: the tensors end at byte 3 of the data, which has 4");
  EXPECT_EQ(parse_error("{}", 1), "f: the tensors end at byte 0 of the data, which has 1");
}

TEST(SafetensorsErrors, ShapesAndBytes) {
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,16]}})", 16),
            "f: tensor 'x': F32 of shape [2, 3] needs 24 bytes, got 16");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,0]}})"),
            "f: tensor 'x': F32 of shape [] needs 4 bytes, got 0");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
            "f: tensor 'x': the shape [4294967296, 4294967296] is more than 64 bits can count");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"F64","shape":[0,2305843009213693952],"data_offsets":[0,0]}})"),
            "f: tensor 'x': the shape [0, 2305843009213693952] is more than 64 bits can count");
  EXPECT_EQ(parse_error(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2, '\x02'),
            "f: tensor 'x': item 0 is 2; a BOOL is 0 or 1");
  EXPECT_EQ(parse_error(R"({"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
            "f: a tensor's name must not be empty");
}

TEST(SafetensorsErrors, WhatCannotBeReadBackIsNotWritten) {
  const std::vector<float> items = {1, 2};
  EXPECT_EQ(write_error({tensor_of("", {2}, items)}), "f: a tensor's name must not be empty");
  EXPECT_EQ(write_error({tensor_of("x", {3}, items)}),
            "f: tensor 'x': F32 of shape [3] needs 12 bytes, got 8");
  EXPECT_EQ(write_error({tensor_of("x", {-1, -2}, items)}),
            "f: tensor 'x': the shape [-1, -2] has a negative extent");
  EXPECT_EQ(write_error({tensor_of("x", std::vector<int64_t>(65, 1), items)}),
            "f: tensor 'x': has 65 dimensions; at most 64 are allowed");
  EXPECT_EQ(write_error({tensor_of("x", {2}, items), tensor_of("x", {2}, items)}),
            "f: tensor 'x': the name is already taken");
  EXPECT_EQ(write_error({tensor_of("__metadata__", {2}, items)}),
            "f: tensor '__metadata__': the name is already taken");
  EXPECT_EQ(write_error({tensor_of("\xff", {2}, items)}), "f: '\xff' is not UTF-8");
  EXPECT_EQ(write_error({}, {{"a", "\xc3"}}), "f: '\xc3' is not UTF-8");
  EXPECT_EQ(write_error({}, {{"a", std::string(100'000'000, 'x')}}),
            "f: the header has 100000032 bytes; at most 100000000 are allowed");
}

}  // namespace
}  // namespace qw
