// What divides the fields of edge files, which columns are ends, and how numbers in them are written.
#include <gtest/gtest.h>

#include "cli/front_door.h"

namespace qw::test {
namespace {

using Values = std::vector<std::pair<std::string, nlohmann::json>>;

FrontDoorCase edges(std::string name, const std::string& file, std::string text, const std::string& options,
                    std::vector<std::string> says, Values values,
                    std::vector<std::string> does_not_say = {}) {
  return {std::move(name),
          {{file, std::move(text)}},
          fmt::format("data info --json DIR/{} {}", file, options),
          0,
          std::move(says),
          std::move(does_not_say),
          std::move(values)};
}

FrontDoorCase refused(std::string name, const std::string& file, std::string text,
                      std::vector<std::string> says, int exit_code = 2, const std::string& options = "") {
  FrontDoorCase each = edges(std::move(name), file, std::move(text), options, std::move(says), {});
  each.exit_code = exit_code;
  return each;
}

std::vector<FrontDoorCase> cases_of_columns() {
  return {
      edges("TextThatIsNotUsed", "e.csv", "from,kind,to\nann,road,bob\nbob,rail,cy\n", "",
            {"column 'kind' of text is not used; --source and --destination name the ends of edges"},
            {{"/nodes", 3}, {"/edges", 2}}),
      edges("ManyTextsThatAreNotUsed", "e.csv", "from,to,kind,since,gap\nann,bob,x,May,\nbob,cy,y,June,\n",
            "", {"columns 'kind', 'since' of text are not used"}, {{"/edges", 2}}),
      refused(
          "Arrows", "e.txt", "a -> b\nb -> c\n",
          {"column '2' is '->' in all rows, which is no end of an edge; --source 1 --destination 3 reads"}),
      refused("OneArrow", "e.txt", "1 -> 2\n", {"--source 1 --destination 3"}),
      refused("Triples", "e.txt", "ann knows bob\nbob knows cy\n", {"is 'knows' in all rows"}),
      refused("TriplesBetweenCommas", "e.csv", "ann,knows,bob\nbob,knows,cy\ncy,knows,ann\n",
              {"--header no --source 1 --destination 3 reads"}),
      edges("TriplesBetweenCommasAsAdvised", "e.csv", "ann,knows,bob\nbob,knows,cy\ncy,knows,ann\n",
            "--header no --source 1 --destination 3", {}, {{"/nodes", 3}, {"/edges", 3}}),
      refused("TriplesWithAHeader", "e.csv", "subject,predicate,object\n1,cites,2\n2,cites,3\n",
              {"column 'predicate' is 'cites' in all rows", "--source subject --destination object reads"}),
      edges("NumbersWithGapsThatAreNotUsed", "e.csv", "from,to,w,note\nann,bob,2,\nbob,cy,,\n", "",
            {"column 'w' is not used; --edge-weight w"}, {{"/edges", 2}}, {"of text", "note"}),
      edges("PlacesOfEndsAreSaid", "e.csv", "hour,station,other\n1,3,4\n2,4,5\n3,5,6\n", "",
            {"column 'other' is not used",
             "; edges go from column 'hour' to column 'station', the first two: "
             "--source and --destination name others"},
            {{"/edges", 3}}),
      edges("SendersAndReceivers", "e.csv", "day,sender_id,receiver_id\n1,30,40\n2,40,50\n", "",
            {"edges go from column 'sender_id' to column 'receiver_id'"}, {{"/nodes", 3}}),
      edges(
          "TwoKindsOfNodes", "e.csv", "user_id,movie_id\n1,1\n1,2\n2,3\n3,2\n", "",
          {"the same id in columns 'user_id' and 'movie_id' is one node; --bipartite yes counts them apart"},
          {{"/nodes", 3}}),
      edges("TwoKindsOfNodesApart", "e.csv", "user_id,movie_id\n1,1\n1,2\n2,3\n3,2\n", "--bipartite yes", {},
            {{"/nodes", 6}}, {"is one node"}),
      edges("TwoKindsThatCannotBeMistaken", "e.csv", "user_id,movie_id\n1,11\n1,12\n2,13\n", "", {},
            {{"/nodes", 5}}, {"is one node"}),
      refused("Json", "e.csv", "{\"edges\": [[0, 1]]}\n", {"e.csv: looks like JSON, not like rows of edges"},
              1),
      refused("GraphMl", "e.txt", "<?xml version='1.0'?>\n<graphml>\n", {"looks like XML or HTML"}, 1),
      refused("Gml", "e.txt", "graph [\n  node [\n", {"looks like GML"}, 1),
      refused("Dot", "e.txt", "digraph g {\n a -> b;\n}\n", {"looks like Graphviz's dot"}, 1),
      edges("UnnamedIndex", "e.csv", "Unnamed: 0,person,friend\n0,5,6\n1,6,7\n2,7,5\n", "",
            {"edges go from column 'person' to column 'friend'; --source"}, {{"/nodes", 3}, {"/edges", 3}},
            {"not used"}),
      refused(
          "Bars", "e.csv", "a|b\nb|c\n",
          {"e.csv:1: an edge needs two ends, but there is one column: 'a|b'; fields are divided by commas, "
           "semicolons, tabs or blanks, or by what a first line such as sep=| names"},
          1),
      edges("AWeightedStar", "e.csv", "leaf,centre,km\na,hub,1.5\nb,hub,2\nc,hub,3\n", "--edge-cost km", {},
            {{"/nodes", 4}, {"/edges", 3}, {"/edge_costs", true}}),
      edges("Neo4j", "e.csv", ":START_ID,since,:END_ID,:TYPE\n7,2001,8,KNOWS\n8,2004,9,LIKES\n", "",
            {"edges go from column ':START_ID' to column ':END_ID'", "column 'since' is not used",
             "column ':TYPE' of text is not used"},
            {{"/nodes", 3}, {"/edges", 2}}),
      edges("Neo4jGroups", "e.csv", "km,a:START_ID(City),b:END_ID(City)\n3,7,8\n4,8,9\n", "--edge-cost km",
            {"edges go from column 'a:START_ID(City)'"}, {{"/nodes", 3}, {"/edges", 2}}),
  };
}

std::vector<FrontDoorCase> cases_of_separators() {
  const std::string tabs = "Rome, Italy; EU\tOslo, Norway\nOslo, Norway\tBern, CH; no EU\n";
  const FrontDoorCase table = {
      "ANodeTableOfTabs",
      {{"e.csv", "source,target\n0,1\n"}, {"n.tsv", "a, or b, or c\tw\nx,1\t2\ny\t3\n"}},
      "data info --json --edges DIR/e.csv --nodes DIR/n.tsv --features w",
      0,
      {},
      {},
      {{"/features", 1}}};
  const FrontDoorCase excel = {
      "ExcelNamesTheSeparator",
      {{"e.csv", "sep=;\nsource;target\n0;1\n1;2\n"},
       {"n.csv", "sep=;\r\n;w,x;y\r\n0;1,5;a\r\n1;2;b\r\n2;3;a\r\n"}},
      "data info --json --edges DIR/e.csv --nodes DIR/n.csv --target y",
      0,
      {"column 'index' is the node id", "the comma in its numbers was taken for a decimal mark"},
      {},
      {{"/nodes", 3}, {"/edges", 2}, {"/features", 1}, {"/classes", 2}}};
  const auto undivided = [](std::string name, std::string nodes) {
    return FrontDoorCase{
        std::move(name),
        {{"e.csv", "source,target\n0,1\n"}, {"n.csv", std::move(nodes)}},
        "data info --edges DIR/e.csv --nodes DIR/n.csv --target y",
        2,
        {"--target: column 'y' is unknown", "fields are divided by commas, semicolons or tabs"},
        {},
        {}};
  };
  return {
      edges("TabsInATsv", "e.tsv", tabs, "", {}, {{"/nodes", 3}, {"/edges", 2}}),
      edges("TabsInATab", "e.tab", "1, a\t2, b, c\n2, b, c\t3\n", "", {}, {{"/nodes", 3}, {"/edges", 2}}),
      edges("ATsvWithoutTabs", "e.tsv", "1,2\n2,3\n", "", {}, {{"/nodes", 3}, {"/edges", 2}}),
      table,
      excel,
      edges("ExcelNamesABar", "e.csv", "\"SEP=|\"\nfrom|to|km\na|b|1\nb|c|2\n", "--edge-cost km", {},
            {{"/nodes", 3}, {"/edge_costs", true}}),
      refused("LinesBelowTheSeparator", "e.csv", "sep=;\nsource;target\n0;1\n1\n",
              {"e.csv:4: 1 fields, expected 2"}, 1),
      edges("AMatrixBelowTheSeparator", "a.csv", "sep=;\n;ann;bob;cy\nann;0;1;0\nbob;1;0;1\ncy;0;1;0\n", "",
            {"adjacency matrix of 3 nodes"}, {{"/edges", 2}}),
      undivided("BarsInATable", "id|y\n0|a\n1|b\n"),
      undivided("BlanksInATable", "id y\n0 a\n1 b\n"),
  };
}

std::vector<FrontDoorCase> cases_of_numbers() {
  const char* const says = "the comma in the numbers of column 'w' was taken for a decimal mark; --decimal .";
  return {
      edges("WeightsWithCommas", "e.csv", "from;to;w\n0;1;0,5\n1;2;2\n", "--edge-weight w", {says},
            {{"/edge_weights", true}}),
      edges("CostsWithCommasBetweenTabs", "e.tsv", "from\tto\tw\n0\t1\t12,25\n1\t2\t1,5\n", "--edge-cost w",
            {says}, {{"/edge_costs", true}}),
      refused("ThousandsOrCommas", "e.csv", "from;to;w\n0;1;1,234\n1;2;2,500\n",
              {"e.csv:2: edge weight '1,234' has a decimal mark or a thousands separator: say --decimal ,"},
              1, "--edge-weight w"),
      refused("CommasAndPoints", "e.csv", "from;to;w\n0;1;0,5\n1;2;2.5\n",
              {"e.csv:2: edge weight '0,5' has a decimal comma; say --decimal ,"}, 1, "--edge-weight w"),
      refused("APointIsSaid", "e.csv", "from;to;w\n0;1;0,5\n1;2;2\n", {"e.csv:2: edge weight '0,5'"}, 1,
              "--edge-weight w --decimal ."),
      edges("UnusedNumbersWithCommas", "e.csv", "from;to;w\n0;1;0,5\n1;2;2,5\n", "",
            {"column 'w' is not used; --edge-weight w"}, {{"/edges", 2}}, {"of text"}),
      edges("NegativeWeights", "e.csv", "from,to,w\n0,1,0.5\n1,2,-2\n2,3,-1\n", "--edge-weight w",
            {"2 of 3 edge weights are negative, but networks expect weights of at least 0; --edge-weight"},
            {{"/edges", 3}}),
      edges("NoNegativeWeights", "e.csv", "from,to,w\n0,1,0.5\n1,2,0\n", "--edge-weight w", {},
            {{"/edges", 2}}, {"negative"}),
  };
}

TEST(FrontDoorOptions, AnEmptyOptionIsRefused) {
  for (const char* option : {"--target", "--id", "--features", "--split-column", "--edges", "--task"}) {
    const CommandResult result = qw({"data", "info", "karate", option, ""});
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, testing::HasSubstr(fmt::format("qw: {} is empty\n", option)));
  }
}

TEST(FrontDoorOptions, NoSpellingOfMissingIsAnAnswer) {
  const TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "source,target\na,b\nb,c\n");
  const std::string nodes = folder.write("n.csv", "id,country\na,NA\nb,DE\nc,NA\n");
  const CommandResult result =
      qw({"data", "info", "--json", "--edges", edges, "--nodes", nodes, "--missing", ""});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("columns").at(1).at("categories"), 2);
}

class FrontDoorEdgeColumns : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(FrontDoorEdgeColumns, SaysWhatItMakesOfTheFile) { expect_front_door(GetParam()); }

const auto kNameOfCase = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(Columns, FrontDoorEdgeColumns, testing::ValuesIn(cases_of_columns()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Separators, FrontDoorEdgeColumns, testing::ValuesIn(cases_of_separators()),
                         kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Numbers, FrontDoorEdgeColumns, testing::ValuesIn(cases_of_numbers()), kNameOfCase);

}  // namespace
}  // namespace qw::test
