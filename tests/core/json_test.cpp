#include "core/json.h"

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, DepthIsBoundedBeforeParsing) {
  EXPECT_EQ(parse_json(nested(kDeepestJson), "a.json").size(), 1u);
  EXPECT_EQ(error_of([] { parse_json(nested(kDeepestJson + 1), "a.json"); }),
            "a.json: is not JSON of ours: nested deeper than 100 levels at byte 100");
  EXPECT_EQ(error_of([] { parse_json(std::string(1'000'000, '['), "a.json"); }),
            "a.json: is not JSON of ours: nested deeper than 100 levels at byte 100");
  std::string objects;
  for (int k = 0; k < 60'000; ++k) objects += "{\"a\":";
  EXPECT_EQ(error_of([&] { parse_json(objects, "a.json"); }),
            "a.json: is not JSON of ours: nested deeper than 100 levels at byte 500");
}

TEST(Json, BracketsInStringsAreNoDepth) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(parse_json("[\"" + brackets + "\"]", "a.json")[0], brackets);
  EXPECT_EQ(parse_json(R"(["\"[[\\", "\\"])", "a.json")[0], "\"[[\\");
  EXPECT_EQ(too_deep_at("\"\\"), std::string_view::npos) << "an escape at the very end";
  EXPECT_EQ(too_deep_at("[\"" + brackets + "\\\"" + brackets + "\"," + nested(kDeepestJson)), 2105u);
}

TEST(Json, WhatIsWrongIsOneLineWithItsByte) {
  EXPECT_EQ(error_of([] { parse_json("{\"a\": }", "a.json"); }),
            "a.json: is not JSON: something is wrong at byte 7");
  EXPECT_EQ(error_of([] { parse_json("", "a.json"); }), "a.json: is not JSON: something is wrong at byte 1");
  EXPECT_EQ(error_of([] { parse_json("[\"\xff\"]", "a.json"); }),
            "a.json: is not JSON: something is wrong at byte 3");
  EXPECT_EQ(error_of([] { parse_json("[1e999]", "a.json"); }),
            "a.json: is not JSON: a number is out of range");
}

TEST(Json, FilesAreNamedByTheirPath) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a.json", "{\"b\": [1, 2.5]}").string();
  EXPECT_EQ(read_json(path).at("b")[1], 2.5);
  const std::string bad = folder.write("bad.json", "[1,]").string();
  EXPECT_EQ(error_of([&] { read_json(bad); }), bad + ": is not JSON: something is wrong at byte 4");
}

TEST(Json, BytesThatAreNoUtf8CanBeWritten) {
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"name", "caf\xe9"}}), "{\"name\":\"caf\uFFFD\"}");
}

TEST(Json, ExcerptsAreShort) {
  EXPECT_EQ(json_excerpt({1, 2}), "[1,2]");
  EXPECT_EQ(json_excerpt(std::string(7000, 'x')), "\"" + std::string(39, 'x') + "...");
}

}  // namespace
}  // namespace qw
