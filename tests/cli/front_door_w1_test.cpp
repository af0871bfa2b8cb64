// Two files of values on a graph as people bring them, and what qw w1 must make of them.
#include "cli/front_door.h"

namespace qw::test {
namespace {

// a - b - c - d
const std::pair<std::string, std::string> kPath{"e.csv", "from,to,length\na,b,1\nb,c,2\nc,d,0.5\n"};
// a - b and c - d
const std::pair<std::string, std::string> kTwoParts{"e.csv", "from,to\na,b\nc,d\n"};

std::string w1(const std::string& more = "") {
  return "w1 --edges DIR/e.csv --mu DIR/mu.csv --gamma DIR/gamma.csv --json " + more;
}

FrontDoorCase two_tables(std::string name, std::string mu, std::string gamma, const std::string& more = "") {
  FrontDoorCase each;
  each.name = std::move(name);
  each.files = {kPath, {"mu.csv", std::move(mu)}, {"gamma.csv", std::move(gamma)}};
  each.command = w1(more);
  return each;
}

// What stands around the folder, whose name is not known yet.
std::vector<std::string> around_folder(std::string text) {
  std::vector<std::string> parts;
  for (size_t at = text.find("DIR"); at != std::string::npos; at = text.find("DIR")) {
    parts.push_back(text.substr(0, at));
    text = text.substr(at + 3);
  }
  parts.push_back(text);
  return parts;
}

FrontDoorCase refused(FrontDoorCase each, const std::string& text, int exit_code = 1) {
  each.exit_code = exit_code;
  each.says = around_folder(text);
  return each;
}

FrontDoorCase answered(FrontDoorCase each, std::vector<std::pair<std::string, nlohmann::json>> values) {
  each.values = std::move(values);
  each.does_not_say = {"qw:"};
  return each;
}

FrontDoorCase noted(FrontDoorCase each, const std::string& text) {
  each.says = around_folder(text);
  return each;
}

FrontDoorCase on_two_parts(FrontDoorCase each) {
  each.files[0] = kTwoParts;
  return each;
}

const std::string kAtA = "id,v\na,1\nb,0\nc,0\nd,0\n";
const std::string kAtD = "id,v\na,0\nb,0\nc,0\nd,1\n";

std::vector<FrontDoorCase> cases_of_rows() {
  return {
      answered(two_tables("AllRows", kAtA, kAtD),
               {{"/distance", 3.0}, {"/name", "v"}, {"/labelled", 4}, {"/edge_cost", nullptr}}),
      answered(two_tables("CostsByName", kAtA, kAtD, "--cost length"),
               {{"/distance", 3.5}, {"/edge_cost", "length"}}),
      refused(two_tables("ARowOnlyInMu", kAtA, "id,v\na,0\nb,0\nd,1\n"),
              "gamma.csv: has no row for node 'c', listed in DIR/mu.csv; --absent zero makes missing values "
              "0, --absent free lets such nodes give and take freely"),
      refused(two_tables("RowsOnlyInGamma", "id,v\na,1\n", kAtD),
              "mu.csv: has no row for node 'b' and 2 others, listed in DIR/gamma.csv; --absent zero"),
      refused(
          two_tables("RowsInNeither", "id,v\na,1\nd,0\n", "id,v\na,0\nd,1\n"),
          "2 of the 4 nodes of the graph are in neither DIR/mu.csv nor DIR/gamma.csv, the first is 'b': "
          "--absent zero makes their values 0, --absent free or --labelled lets them give and take freely"),
      answered(two_tables("AbsentIsZero", "id,v\na,1\n", "id,v\nd,1\n", "--absent zero"),
               {{"/distance", 3.0}, {"/absent", "zero"}, {"/labelled", 4}}),
      answered(two_tables("AbsentIsFree", "id,v\na,1\nd,0\n", "id,v\na,0\nd,1\n", "--absent free"),
               {{"/distance", 2.0}, {"/absent", "free"}, {"/labelled", 2}}),
      noted(two_tables("FreeRowsAreCounted", "id,v\na,1\nb,7\nc,7\n", "id,v\na,0\nd,1\n", "--absent free"),
            "mu.csv: 2 rows are not used, of nodes that --absent free leaves free"),
      refused(two_tables("FreeBindsNothing", "id,v\na,1\n", "id,v\nd,1\n", "--absent free"),
              "no node is in both DIR/mu.csv and DIR/gamma.csv"),
      answered(two_tables("LabelledNodes", kAtA, kAtD, "--labelled a,d"),
               {{"/distance", 2.0}, {"/labelled", 2}}),
      noted(two_tables("UnlabelledRowsAreCounted", kAtA, "id,v\na,0\nb,1\nd,1\n", "--labelled a,d"),
            "gamma.csv: 1 row is not used, of nodes that --labelled leaves free"),
      refused(
          two_tables("ALabelledNodeWithoutARow", kAtA, "id,v\na,0\nd,1\n", "--labelled a,b"),
          "gamma.csv: has no row for node 'b', named by --labelled; --absent zero makes missing values 0"),
      answered(two_tables("ALabelledNodeOfValueZero", "id,v\na,1\n", "id,v\nd,1\n",
                          "--labelled a,d --absent zero"),
               {{"/distance", 2.0}, {"/labelled", 2}}),
      refused(two_tables("LabelledAndFree", kAtA, kAtD, "--labelled a,d --absent free"),
              "qw w1: --labelled names the nodes that are bound, so that --absent free has no use", 2),
      refused(two_tables("AbsentIsMisspelt", kAtA, kAtD, "--absent none"), "--absent", 2),
  };
}

std::vector<FrontDoorCase> cases_of_labelled() {
  const auto with_list = [](std::string name, std::string list) {
    FrontDoorCase each = two_tables(std::move(name), kAtA, kAtD, "--labelled DIR/ids.txt");
    each.files.emplace_back("ids.txt", std::move(list));
    return each;
  };
  return {
      answered(with_list("AFileOfIds", "a\nd\n"), {{"/distance", 2.0}}),
      answered(with_list("AFileOfIdsWithAHeader", "id\r\na\r\nd\r\n"), {{"/distance", 2.0}}),
      refused(with_list("AFileOfIdsAndMore", "a,1\nd,2\n"),
              "ids.txt:1: expected one node id a line, found 2 fields"),
      refused(with_list("AFileOfUnknownIds", "a\nx\n"),
              "ids.txt:2: node 'x' is not in the graph (4 nodes: 'a', ...); a node without edges must be "
              "listed in --nodes"),
      refused(with_list("AFileThatNamesANodeTwice", "a\nd\na\n"), "ids.txt:3: node 'a' is named twice"),
      refused(with_list("AnEmptyFileOfIds", "\n"), "qw w1: --labelled names no node", 2),
      refused(two_tables("ANodeTwiceInAList", kAtA, kAtD, "--labelled a,d,a"),
              "qw w1: --labelled: node 'a' is named twice\n", 2),
      answered(two_tables("AQuotedId", kAtA, kAtD, "--labelled \"a\",d"), {{"/distance", 2.0}}),
      refused(two_tables("UnknownIds", kAtA, kAtD, "--labelled a,x"),
              "qw w1: --labelled: node 'x' is not in the graph (4 nodes: 'a', ...); a node without edges "
              "must be listed in --nodes; there is no such file either",
              2),
  };
}

std::vector<FrontDoorCase> cases_of_columns() {
  const std::string red_at_a = "id,red,blue\na,1,0\nb,0,0\nc,0,0\nd,0,1\n";
  const std::string rows_of_one = "a,0\nb,0\nc,0\nd,1\n";
  return {
      answered(two_tables("ColumnsInAnotherOrder", red_at_a, "id,blue,red\na,0,0\nb,1,0\nc,0,0\nd,0,1\n"),
               {{"/columns/0/name", "red"},
                {"/columns/0/distance", 3.0},
                {"/columns/1/name", "blue"},
                {"/columns/1/distance", 2.0}}),
      refused(two_tables("ColumnsOfOneFileOnly", red_at_a, "id,red,green\na,0,0\nb,0,0\nc,0,0\nd,1,1\n"),
              "mu.csv has the columns 'blue', which DIR/gamma.csv has not, and DIR/gamma.csv has the columns "
              "'green', which DIR/mu.csv has not; columns are paired by name: rename them or leave them out"),
      refused(two_tables("AColumnTooMany", red_at_a, "id,blue\na,0\nb,0\nc,0\nd,1\n"),
              "mu.csv has the columns 'red', which DIR/gamma.csv has not; columns are paired by name"),
      refused(
          two_tables("ManyColumnsOfOneFile", "id,a1,a2,a3,a4,a5,a6,a7\na,1,1,1,1,1,1,1\n", "id,b,c\nd,1,1\n"),
          "mu.csv has the columns 'a1', 'a2', 'a3', 'a4', 'a5', 2 more, which DIR/gamma.csv has not"),
      refused(two_tables("ColumnsByPosition", red_at_a, rows_of_one),
              "mu.csv has 2 value columns, DIR/gamma.csv has 1 value column; without headers in both files "
              "columns are paired by position"),
      noted(two_tables("OneFileHasAHeader", red_at_a, "a,0,0\nb,0,1\nc,0,0\nd,1,0\n"),
            "gamma.csv has no header: its columns are taken in the order of DIR/mu.csv (--mu, --gamma); give "
            "it a header to "
            "pair them by name"),
      answered(two_tables("TheNameOfTheOtherFile", rows_of_one, kAtA), {{"/name", "v"}, {"/distance", 3.0}}),
      noted(two_tables("OneColumnEachOfDifferentNames", kAtA, "id,after\na,0\nb,0\nc,0\nd,1\n"),
            "column 'v' of DIR/mu.csv (--mu) is compared with column 'after' of DIR/gamma.csv (--gamma): "
            "each file has one"),
      refused(two_tables("TwoColumnsOfOneName", "id,v,v\na,1,1\n", kAtD),
              "mu.csv:1: two columns are named 'v'"),
      refused(two_tables("IdsAreNotFirst", ",id,v\n0,a,1\n", kAtD),
              "mu.csv:1: the node ids must be the first column, but 'id' is column 2"),
      answered(two_tables("AsPandasWritesASeries", ",0\na,1.0\nb,0.0\nc,0.0\nd,0.0\n", rows_of_one),
               {{"/name", "0"}, {"/distance", 3.0}}),
      answered(two_tables("SemicolonsAndTabs", "id;v\r\na;1\r\nb;0\r\nc;0\r\nd;0\r\n",
                          "id\tv\na\t0\nb\t0\nc\t0\nd\t1\n"),
               {{"/distance", 3.0}}),
  };
}

std::vector<FrontDoorCase> cases_of_cells() {
  const auto mu = [](std::string name, std::string text, const std::string& more = "") {
    return two_tables(std::move(name), std::move(text), kAtD, more);
  };
  return {
      refused(mu("NoValues", "id\na\n"),
              "mu.csv:1: expected a column of node ids and at least one of values"),
      refused(mu("NoRows", "id,v\n"), "mu.csv: has a header and no rows"),
      refused(mu("TooManyFields", "id,v\na,1,2\n"), "mu.csv:2: expected 2 fields, found 3"),
      refused(mu("ANodeTwice", "id,v\na,1\nb,0\na,2\n"), "mu.csv:4: node 'a' has a row already, in line 2"),
      refused(mu("NotANumber", "id,v\na,one\n"), "mu.csv:2: 'one' in column 'v' is not a number"),
      refused(mu("NotFinite", "id,v\na,inf\n"),
              "mu.csv:2: 'inf' in column 'v' is infinite; expected a finite number"),
      refused(mu("ADecimalComma", "id;v\na;0,5\n"),
              "mu.csv:2: '0,5' in column 'v' has a decimal comma; say --decimal ,"),
      refused(mu("AnEmptyCell", "id,v\na,1\nb,\n"),
              "mu.csv:3: the value in column 'v' is missing (an empty cell); write a number, or leave the "
              "row out and say what that means with --absent"),
      refused(mu("AMissingValueByName", "id,v\na,N/A\n", "--absent zero"),
              "mu.csv:2: the value in column 'v' is missing ('N/A')"),
      refused(mu("AMissingValueInTheFirstLine", "a,NA\nb,1\n", "--absent zero"),
              "mu.csv:1: the value in column '1' is missing ('NA')"),
      refused(mu("AnUnknownNode", "id,v\nx,1\n"),
              "mu.csv:2: node 'x' is not in the graph (4 nodes: 'a', ...); a node without edges must be "
              "listed in --nodes"),
      refused(mu("AnUnknownNodeInTheFirstLine", "x,1\nb,0\n", "--absent zero"),
              "mu.csv:1: node 'x' is not in the graph (4 nodes: 'a', ...); a node without edges must be "
              "listed in --nodes; if this line is a header, call its first column id"),
      refused(mu("ANodeAboveTheIds", "a,v\nb,1\n", "--absent zero"),
              "mu.csv:1: 'a' is a node, but 'v' beside it is not a number; if this line is a header, call "
              "its first column id"),
  };
}

std::vector<FrontDoorCase> cases_of_sums() {
  const std::string counts = "id,v\na,3\nb,1\nc,0\nd,0\n";
  return {
      refused(two_tables("SumsDiffer", counts, kAtD),
              "qw: v: infeasible: mu sums to 4 and gamma to 1, and every node is bound; --normalize divides "
              "both by their sums, --labelled leaves nodes free"),
      refused(two_tables("SumsDifferByRounding", "id,v\na,0.3333\nb,0.3333\nc,0.3333\nd,0\n", kAtD),
              "mu sums to 0.9999 and gamma to 1, and every node is bound; so small a difference is often "
              "rounding: --normalize divides both by their sums"),
      refused(two_tables("SumsDifferAndOneIsNegative", "id,v\na,-3\nb,1\nc,0\nd,0\n", kAtD),
              "mu sums to -2 and gamma to 1, and every node is bound; make the sums equal, or let --labelled "
              "leave nodes free"),
      // 3/4 over three edges and 1/4 over two.
      answered(two_tables("Normalized", counts, kAtD, "--normalize"),
               {{"/distance", 2.75}, {"/normalized", true}, {"/status", "optimal"}}),
      refused(two_tables("NegativeMass", "id,v\na,3\nb,-1\nc,0\nd,0\n", kAtD, "--normalize"),
              "mu.csv:3: -1 in column 'v' is negative; --normalize is for masses, which are at least 0"),
      refused(two_tables("NoMass", "id,v\na,0\nb,0\nc,0\nd,0\n", kAtD, "--normalize"),
              "mu.csv: column 'v' sums to 0; --normalize needs a positive, finite sum"),
      refused(two_tables("TooMuchMass", "id,v\na,1e308\nb,1e308\nc,0\nd,0\n", kAtD, "--normalize"),
              "mu.csv: column 'v' sums to inf; --normalize needs a positive, finite sum"),
      refused(on_two_parts(two_tables("MassInAnotherPart", kAtA, kAtD)),
              "v: infeasible: the part of node a (2 labelled nodes) is out of balance by -1; no edge leads "
              "out of it: its values must have equal sums, or --labelled must leave a node of it free"),
  };
}

FrontDoorCase directed(std::string name, const std::string& mu, const std::string& gamma) {
  FrontDoorCase each = two_tables(std::move(name), mu, gamma, "--directed");
  each.files[0] = {"e.csv", "from,to\na,b\n"};
  return each;
}

std::vector<FrontDoorCase> cases_of_directions() {
  const std::string at_a = "id,v\na,1\nb,0\n", at_b = "id,v\na,0\nb,1\n";
  return {
      answered(directed("AlongTheArc", at_a, at_b),
               {{"/status", "optimal"}, {"/distance", 1.0}, {"/flow/0", 1.0}, {"/directed", true}}),
      refused(directed("AgainstTheArc", at_b, at_a),
              " (2 labelled nodes) cannot move 1 where it is wanted; a directed edge carries mass from its "
              "first end to its second only"),
  };
}

FrontDoorCase bare(std::string name, std::string command, const std::string& text) {
  FrontDoorCase each;
  each.name = std::move(name);
  each.command = std::move(command);
  return refused(each, text, 2);
}

std::vector<FrontDoorCase> cases_of_options() {
  std::vector<FrontDoorCase> cases{
      bare("NoGamma", "w1 --edges DIR/e.csv --mu DIR/mu.csv",
           "qw w1: give both --mu and --gamma, or --batch"),
      refused(two_tables("TwoCosts", kAtA, kAtD, "--cost length --edge-cost to"),
              "qw w1: --cost 'length' and --edge-cost 'to' name two columns of costs: give one", 2),
      answered(two_tables("TheSameCostTwice", kAtA, kAtD, "--cost length --edge-cost length"),
               {{"/distance", 3.5}}),
      refused(two_tables("AWeightIsNoCost", kAtA, kAtD, "--edge-weight length"),
              "qw w1: --edge-weight has no use here: what an edge costs is named by --cost", 2),
      refused(two_tables("ATarget", kAtA, kAtD, "--target v"),
              "qw w1: --target has no use here: the values are those of --mu and --gamma", 2),
      refused(two_tables("FlowAndPotentialInOneFile", kAtA, kAtD, "--flow DIR/x.csv --potential DIR/x.csv"),
              "qw w1: --flow and --potential would both be written to DIR/x.csv", 2),
      refused(two_tables("AGapForAnExactSolver", kAtA, kAtD, "--solver network-simplex --gap 0.1"),
              "qw w1: --gap has no use with --solver network-simplex, which goes on to the exact distance; "
              "leave one out",
              2),
      refused(two_tables("AGapTooTight", kAtA, kAtD, "--solver primal-dual --gap 1e-8"),
              "qw w1: --solver primal-dual comes to a gap of 1e-6 at best, not --gap 1e-08; leave one out",
              2),
      answered(two_tables("AGap", kAtA, kAtD, "--solver cost-scaling --gap 0.1"), {{"/status", "optimal"}}),
  };
  for (const char* option : {"--edges DIR/e.csv", "--mu DIR/mu.csv", "--gamma DIR/gamma.csv", "--labelled a",
                             "--normalize", "--absent zero", "--cost length", "--flow DIR/f.csv",
                             "--potential DIR/p.csv", "--directed", "--data karate"}) {
    std::string name = option;
    name = name.substr(2, name.find(' ') - 2);
    cases.push_back(
        bare("BatchAnd_" + name, fmt::format("w1 --batch DIR/cases.jsonl {}", option),
             fmt::format("qw w1: --{} has no use beside --batch, whose lines say all about their problems",
                         name)));
  }
  return cases;
}

class W1FrontDoor : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(W1FrontDoor, MakesOfItWhatItShould) { expect_front_door(GetParam()); }

const auto kNameOfCase = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(Rows, W1FrontDoor, testing::ValuesIn(cases_of_rows()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Labelled, W1FrontDoor, testing::ValuesIn(cases_of_labelled()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Columns, W1FrontDoor, testing::ValuesIn(cases_of_columns()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Cells, W1FrontDoor, testing::ValuesIn(cases_of_cells()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Sums, W1FrontDoor, testing::ValuesIn(cases_of_sums()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Directions, W1FrontDoor, testing::ValuesIn(cases_of_directions()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Options, W1FrontDoor, testing::ValuesIn(cases_of_options()), kNameOfCase);

}  // namespace
}  // namespace qw::test
