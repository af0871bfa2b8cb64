#include "core/field_table.h"

#include <nlohmann/json.hpp>

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

struct Options {
  bool fast = false;
  int64_t nodes = 3000;
  double rate = 0.25;
  std::string kind = "a";
  std::string name;
  std::vector<std::string> columns;
};

FieldTable fields(Options& options) {
  FieldTable table("demo");
  table.add("fast", options.fast, "a flag");
  table.add("nodes", options.nodes, {1, 1e6}, "a count");
  table.add("rate", options.rate, {0, 1}, "a share");
  table.add_choice("kind", options.kind, {"a", "bee"}, "a choice");
  table.add("name", options.name, "TEXT", "a text");
  table.add("columns", options.columns, "COL,...", "a list");
  return table;
}

TEST(FieldTable, ParsesASpec) {
  Options options;
  fields(options).parse_spec("fast,nodes=10,rate=1e-1,kind=bee,name=x");
  EXPECT_TRUE(options.fast);
  EXPECT_EQ(options.nodes, 10);
  EXPECT_EQ(options.rate, 0.1);
  EXPECT_EQ(options.kind, "bee");
  EXPECT_EQ(options.name, "x");
}

TEST(FieldTable, SpecRoundTrip) {
  Options options, again;
  options.nodes = 17;
  options.rate = 0.1;
  options.name = "n";
  fields(again).parse_spec("fast=false,nodes=17,rate=0.1,kind=a,name=n");
  EXPECT_EQ(fields(options).to_spec(), fields(again).to_spec());
}

TEST(FieldTable, JsonHasEveryField) {
  Options options;
  options.columns = {"x", "y"};
  EXPECT_EQ(fields(options).to_json().dump(),
            R"({"fast":false,"nodes":3000,"rate":0.25,"kind":"a","name":"","columns":["x","y"]})");
}

TEST(FieldTable, Errors) {
  Options options;
  const FieldTable table = fields(options);
  const auto error = [&](const char* spec) { return error_of([&] { table.parse_spec(spec); }); };
  EXPECT_EQ(error("nodes=x"), "demo: nodes 'x' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error("nodes=0"), "demo: nodes '0' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error("nodes=2.5"), "demo: nodes '2.5' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error("rate=2"), "demo: rate '2' is not a number from 0 to 1");
  EXPECT_EQ(error("rate=nan"), "demo: rate 'nan' is not a number from 0 to 1");
  EXPECT_EQ(error("kind=be"), "demo: kind 'be' is unknown; did you mean 'bee'? known: a, bee");
  EXPECT_EQ(error("node=3"),
            "demo: 'node' is unknown; did you mean 'nodes'? known: fast, nodes, rate, kind, name, columns");
  EXPECT_EQ(error("nodes"), "demo: 'nodes' needs a value: nodes=INT");
  EXPECT_EQ(error("fast=maybe"), "demo: fast 'maybe' is not true or false");
  EXPECT_THROW(table.parse_spec("nodes=x"), UsageError);
}

TEST(FieldTable, OpenRangesReadWell) {
  double value = 0;
  FieldTable table("demo");
  table.add("low", value, {0, std::numeric_limits<double>::infinity()}, "");
  table.add("high", value, {-std::numeric_limits<double>::infinity(), 5}, "");
  table.add("any", value, {}, "");
  EXPECT_EQ(error_of([&] { table.parse_spec("low=-1"); }), "demo: low '-1' is not a number of at least 0");
  EXPECT_EQ(error_of([&] { table.parse_spec("high=6"); }), "demo: high '6' is not a number of at most 5");
  EXPECT_EQ(error_of([&] { table.parse_spec("any=x"); }), "demo: any 'x' is not a number");
}

using Json = nlohmann::ordered_json;

TEST(FieldTable, ReadsItsOwnJson) {
  Options options, again;
  options = {true, 17, 0.30000000000000004, "bee", "a \"b\", c", {"x", "y"}};
  again.columns = {"gone"};
  fields(again).from_json(Json::parse(fields(options).to_json().dump()));
  EXPECT_EQ(fields(again).to_json(), fields(options).to_json());
  EXPECT_EQ(again.rate, options.rate);  // to the last bit
  EXPECT_EQ(again.columns, options.columns);
}

TEST(FieldTable, JsonOfDefaultsComesBack) {
  Options options, again;
  again = {true, 17, 0.5, "bee", "x", {"x"}};
  fields(again).from_json(fields(options).to_json());
  EXPECT_EQ(fields(again).to_json(), fields(options).to_json());
  EXPECT_TRUE(again.columns.empty());
}

TEST(FieldTable, JsonSetsOnlyWhatItNames) {
  Options options;
  fields(options).from_json(Json::parse(R"({"rate":1,"fast":true})"));
  EXPECT_EQ(options.rate, 1.0);
  EXPECT_TRUE(options.fast);
  EXPECT_EQ(options.nodes, 3000);
  fields(options).from_json(Json::object());
  EXPECT_EQ(options.nodes, 3000);
}

TEST(FieldTable, JsonTakesTextAsASpecDoes) {
  Options options;
  fields(options).from_json(Json::parse(R"({"nodes":"10","fast":"on","columns":"x, y","rate":"1e-1"})"));
  EXPECT_EQ(options.nodes, 10);
  EXPECT_TRUE(options.fast);
  EXPECT_EQ(options.columns, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(options.rate, 0.1);
}

TEST(FieldTable, JsonErrors) {
  Options options;
  const FieldTable table = fields(options);
  const auto error = [&](const char* text) { return error_of([&] { table.from_json(Json::parse(text)); }); };
  for (const char* other : {"[]", "1", "\"nodes\"", "null"}) {
    EXPECT_EQ(error(other), "demo: expected a JSON object");
  }
  EXPECT_EQ(error(R"({"node":3})"),
            "demo: 'node' is unknown; did you mean 'nodes'? known: fast, nodes, rate, kind, name, columns");
  EXPECT_EQ(error(R"({"nodes":0})"), "demo: nodes '0' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error(R"({"nodes":2.0})"), "demo: nodes '2.0' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error(R"({"nodes":18446744073709551615})"),
            "demo: nodes '18446744073709551615' is not a whole number from 1 to 1000000");
  EXPECT_EQ(error(R"({"nodes":null})"), "demo: nodes 'null' is not a single value");
  EXPECT_EQ(error(R"({"nodes":{"a":1}})"), "demo: nodes '{\"a\":1}' is not a single value");
  EXPECT_EQ(error(R"({"columns":["a",2]})"), "demo: columns is not a list of texts");
  EXPECT_EQ(error(R"({"rate":2})"), "demo: rate '2' is not a number from 0 to 1");
  EXPECT_EQ(error(R"({"fast":2})"), "demo: fast '2' is not true or false");
  EXPECT_EQ(error(R"({"kind":"be"})"), "demo: kind 'be' is unknown; did you mean 'bee'? known: a, bee");
  EXPECT_THROW(table.from_json(Json::array()), UsageError);
}

}  // namespace
}  // namespace qw
