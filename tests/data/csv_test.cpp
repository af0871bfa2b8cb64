#include "data/formats/csv.h"

#include <optional>

#include "core/file.h"
#include "core/text.h"
#include "data/formats/gzip.h"
#include "data/readers/reader.h"
#include "qw/data/load.h"
#include "qw/data/save.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text) {
  CsvScanner scanner(text, "x.csv");
  Rows rows;
  std::vector<std::string_view> fields;
  while (scanner.next(fields)) rows.emplace_back(fields.begin(), fields.end());
  return rows;
}

TEST(CsvScanner, Fields) {
  EXPECT_EQ(rows_of("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of("a,b\r\n1,2\r\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of("a,b\n1,"), (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(rows_of("\xEF\xBB\xBF"
                    "a\n"),
            (Rows{{"a"}}));
  EXPECT_EQ(rows_of("\n\r\na\n\n\nb"), (Rows{{"a"}, {"b"}}));
  EXPECT_EQ(rows_of(""), Rows{});
}

TEST(CsvScanner, Quotes) {
  EXPECT_EQ(rows_of("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",x\n"),
            (Rows{{"a,b", "say \"hi\""}, {"two\nlines", "x"}}));
  EXPECT_EQ(rows_of("\"\",\"\"\"\""), (Rows{{"", "\""}}));
}

TEST(CsvScanner, Separators) {
  EXPECT_EQ(rows_of("a;b;c\n1,5;2;3\n"), (Rows{{"a", "b", "c"}, {"1,5", "2", "3"}}));
  EXPECT_EQ(rows_of("a\tb\n1\t2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
}

TEST(CsvScanner, LinesCountInsideQuotes) {
  CsvScanner scanner("\"a\n\n\"\nb\n", "x.csv");
  std::vector<std::string_view> fields;
  scanner.next(fields);
  EXPECT_EQ(scanner.line(), 1);
  scanner.next(fields);
  EXPECT_EQ(scanner.line(), 4);
}

TEST(CsvScanner, Errors) {
  EXPECT_EQ(error_of([] { rows_of("a\n\"b\nc"); }), "x.csv:2: a quote is opened and never closed");
  EXPECT_EQ(error_of([] { rows_of("\"a\"b"); }),
            "x.csv:1: 'b' follows a closing quote; a quote inside a field is written twice");
  EXPECT_EQ(error_of([] { rows_of("\"a\"\rb"); }), "x.csv:1: a carriage return stands inside a line");
}

TEST(CsvField, RoundTrip) {
  for (const std::string field :
       {"plain", "a,b", "say \"hi\"", "two\nlines", " blank", "", "tab\t", "semi;colon"}) {
    EXPECT_EQ(rows_of("x," + csv_field(field) + ",y").at(0).at(1), field);
  }
}

struct Files {
  std::string edges;
  std::optional<std::string> nodes;
};

Dataset read(const Files& files, LoadOptions options = {}) {
  std::map<std::string, std::string> stored = {{"e.csv", files.edges}};
  options.edges = "e.csv";
  if (files.nodes) {
    stored["n.csv"] = *files.nodes;
    options.nodes = "n.csv";
  }
  Dataset dataset = kCsvReader.read(MemoryFiles(stored), "", options);
  check_consistent(dataset);
  return dataset;
}

std::vector<std::pair<std::string, std::string>> named_edges(const Dataset& dataset) {
  std::vector<std::pair<std::string, std::string>> edges;
  for (int64_t e = 0; e < dataset.graph.num_edges(); ++e) {
    edges.emplace_back(dataset.node_id(dataset.graph.heads()[e]), dataset.node_id(dataset.graph.tails()[e]));
  }
  return edges;
}

TEST(CsvEdges, HeaderIsFoundOut) {
  EXPECT_EQ(read({"0,1\n1,2\n", {}}).graph.num_edges(), 2);
  EXPECT_EQ(read({"a,b\n0,1\n1,2\n", {}}).graph.num_edges(), 2);
  EXPECT_EQ(read({"a,b\n", {}}).notes,
            (std::vector<std::string>{"there is no edge; --edges names the file of edges"}));
  EXPECT_EQ(error_of([] { read({"", {}}); }), "e.csv: is empty; expected edges");
}

TEST(CsvEdges, NumericIdsAreKeptInOrder) {
  const Dataset dense = read({"from,to\n2,0\n1,2\n", {}});
  EXPECT_TRUE(dense.node_ids.empty()) << "ids 0, 1, 2 need no names";
  const Dataset spread = read({"from,to\n700,5\n5,30\n", {}});
  EXPECT_EQ(spread.node_ids, (std::vector<std::string>{"5", "30", "700"}));
  EXPECT_EQ(named_edges(spread),
            (std::vector<std::pair<std::string, std::string>>{{"5", "30"}, {"5", "700"}}));
  const Dataset huge = read({"from,to\n2000000000,5\n5,30\n", {}});
  EXPECT_EQ(huge.node_ids, (std::vector<std::string>{"5", "30", "2000000000"}));
}

TEST(CsvEdges, TextIdsAreNumberedAsTheyAppear) {
  const Dataset dataset = read({"from,to\nbob,alice\n007,bob\n\"x, y\",7\n", {}});
  EXPECT_EQ(dataset.node_ids, (std::vector<std::string>{"bob", "alice", "007", "x, y", "7"}));
  EXPECT_EQ(dataset.graph.num_edges(), 3);
}

TEST(CsvEdges, ColumnsByName) {
  LoadOptions options;
  options.source = "u";
  options.destination = "v";
  options.edge_cost = "km";
  options.edge_weight = "w";
  options.directed = true;
  const Dataset dataset = read({"km,v,w,u\n2.5,1,0.5,0\n4,0,1,1\n", {}}, options);
  EXPECT_TRUE(dataset.graph.directed());
  ASSERT_EQ(dataset.graph.num_edges(), 2);
  const size_t from_zero = dataset.graph.tails()[0] == 0 ? 0 : 1;
  EXPECT_EQ(dataset.graph.heads()[from_zero], 1);
  EXPECT_EQ(dataset.graph.costs()[from_zero], 2.5);
  EXPECT_EQ(dataset.graph.weights()[from_zero], 0.5);
}

TEST(CsvEdges, OneEndByNameLeavesTheOther) {
  LoadOptions options;
  options.directed = true;
  options.source = "b";
  EXPECT_EQ(read({"a,b\n0,1\n", {}}, options).graph.tails()[0], 1);
  EXPECT_EQ(read({"k,b,dst,src\n9,0,1,2\n", {}}, options).graph.num_nodes(), 2) << "no partner by name";
  options.source = "src";
  EXPECT_EQ(read({"k,b,dst,src\n9,0,1,2\n", {}}, options).node_ids, (std::vector<std::string>{"1", "2"}));
  options.source = "";
  options.destination = "a";
  EXPECT_EQ(read({"a,b\n0,1\n", {}}, options).graph.tails()[0], 1);
}

TEST(CsvEdges, DirectedEdgesGoFromTheFirstColumnToTheSecond) {
  LoadOptions options;
  options.directed = true;
  const Dataset dataset = read({"x,y\n3,1\n", {}}, options);
  EXPECT_EQ(dataset.node_id(dataset.graph.tails()[0]), "3");
  EXPECT_EQ(dataset.node_id(dataset.graph.heads()[0]), "1");
}

TEST(CsvEdges, DirectionSurvivesWritingAndReading) {
  LoadOptions options;
  options.directed = true;
  const Dataset dataset = read({"x,y\n3,1\n1,2\n2,1\n", {}}, options);
  const test::TemporaryFolder folder;
  save_dataset(dataset, "csv", folder.path());
  const std::string text = read_file(folder.path() / "edges.csv");
  for (const char* edge : {"\n3,1\n", "\n1,2\n", "\n2,1\n"})
    EXPECT_NE(text.find(edge), std::string::npos) << text;
  EXPECT_EQ(text.find("1,3"), std::string::npos) << text;
}

TEST(CsvEdges, AFirstLineOfNodesIsAnEdge) {
  const Dataset dataset = read({"ann,bob\nbob,cy\n", {}});
  EXPECT_EQ(dataset.graph.num_edges(), 2);
  EXPECT_EQ(dataset.notes, (std::vector<std::string>{"the first line was read as an edge, since its nodes "
                                                     "have other edges; --header yes makes it a header"}));
  LoadOptions header;
  header.header = "yes";
  EXPECT_EQ(read({"ann,bob\nbob,cy\n", {}}, header).graph.num_edges(), 1);
  EXPECT_EQ(read({"ann,bob\ncy,dee\n", "id\nann\nbob\ncy\ndee\n"}).graph.num_edges(), 2)
      << "two nodes of the table are an edge";
  EXPECT_EQ(
      read({"ann,bob\ncy,dee\ndee,eve\n", {}}).notes,
      (std::vector<std::string>{"the first line was taken for a header; --header no makes it an edge"}));
}

TEST(CsvEdges, NotesWhatWasDropped) {
  EXPECT_EQ(read({"0,1\n1,0\n1,1\n", {}}).notes,
            (std::vector<std::string>{"1 self-loops were dropped; --self-loops keep keeps them"}))
      << "both directions of an undirected edge are no repetition";
  LoadOptions directed;
  directed.directed = true;
  EXPECT_EQ(read({"0,1\n1,0\n0,1\n", {}}, directed).notes,
            (std::vector<std::string>{"1 repeated edges were dropped; --duplicate-edges keep keeps them"}));
}

TEST(CsvEdges, RepetitionsThatAreKept) {
  LoadOptions keep;
  keep.duplicate_edges = "keep";
  keep.edge_weight = "w";
  const Dataset dataset = read({"a,b,w\n0,1,1\n1,0,2\n1,0,3\n1,2,4\n2,2,5\n", {}}, keep);
  EXPECT_EQ(std::vector<double>(dataset.graph.weights().begin(), dataset.graph.weights().end()),
            (std::vector<double>{2, 3, 4}))
      << "the direction that is given more often stays";
}

TEST(CsvEdges, CommentsDoNotShiftLinesBetweenPieces) {
  std::string text;
  for (int e = 0; e < 60000; ++e)
    text +=
        e % 7 == 0 ? "# comment\n" : std::to_string(e % 977) + " " + std::to_string((e * 31) % 977) + "\n";
  for (const int threads : {1, 4}) {
    const test::ScopedThreads scope(threads);
    EXPECT_EQ(read({text, {}}).graph.num_nodes(), 977);
    EXPECT_EQ(error_of([&] {
                read({text + "5\n", {}});
              }),
              "e.csv:60001: 1 fields, expected 2 as in the first line");
  }
}

TEST(CsvNodes, IdsFromTheEndsOfTheEdges) {
  // The rows are shuffled: by number they would get each other's features.
  const Dataset dataset = read({"source,target\n0,1\n1,2\n", "node,x\n2,0.5\n0,1.5\n1,2.5\n"});
  EXPECT_EQ(dataset.node_ids, (std::vector<std::string>{"2", "0", "1"}));
  EXPECT_EQ(dataset.features.dense, (std::vector<float>{0.5f, 1.5f, 2.5f}));
  EXPECT_EQ(named_edges(dataset), (std::vector<std::pair<std::string, std::string>>{{"2", "1"}, {"0", "1"}}));
}

TEST(CsvNodes, AddedNodesHaveTheFillValue) {
  LoadOptions add;
  add.unknown_nodes = "add";
  const Dataset dataset = read({"source,target\na,b\nb,c\n", "id,x,kind\na,1,p\nb,3,q\n"}, add);
  EXPECT_EQ(dataset.node_ids, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(dataset.features.dense, (std::vector<float>{1, 1, 0, 3, 0, 1, 2, 0, 0}));
}

TEST(CsvEdges, ManyPiecesGiveTheSameGraphAndTheRightLine) {
  std::string text = "a,b\n";
  for (int e = 0; e < 60000; ++e)
    text += std::to_string(e % 977) + "," + std::to_string((e * 31) % 977) + (e % 3 ? "\n" : "\r\n");
  int64_t edges = 0;
  for (const int threads : {1, 2, 4}) {
    const test::ScopedThreads scope(threads);
    const Dataset dataset = read({text, {}});
    if (edges == 0) edges = dataset.graph.num_edges();
    EXPECT_EQ(dataset.graph.num_edges(), edges);
    EXPECT_EQ(dataset.graph.num_nodes(), 977);
    EXPECT_EQ(error_of([&] {
                read({text + "5\n", {}});
              }),
              "e.csv:60002: 1 fields, expected 2 as in the first line");
    EXPECT_EQ(error_of([&] {
                read({"0,1\n1,2,3\n" + text + "5\n", {}});
              }),
              "e.csv:2: 3 fields, expected 2 as in the first line");
  }
}

TEST(CsvEdges, Errors) {
  EXPECT_EQ(error_of([] {
              read({"a\n1\n", {}});
            }),
            "e.csv:1: an edge needs two ends, but there is one column: 'a'");
  EXPECT_EQ(error_of([] {
              read({"a,b\n0,1\n0\n", {}});
            }),
            "e.csv:3: 1 fields, expected 2 as in the first line");
  EXPECT_EQ(error_of([] { read({"a,b\nx,\n", {}}); }), "e.csv:2: a node id is empty");
  const std::string one_unknown =
      "; 1 edges name 1 nodes that are not there: --unknown-nodes drop leaves these edges out, "
      "--unknown-nodes "
      "add adds the nodes";
  EXPECT_EQ(
      error_of([] {
        read({"a,b\n0,12x\n", "f\n0.1\n2\n"});
      }),
      "e.csv:2: node id '12x' is no row of n.csv, and no column there holds the ids; name the one that does "
      "with --id; 1 edges name 1 nodes that are not there: --unknown-nodes drop leaves these edges out, "
      "--unknown-nodes add adds the nodes");
  EXPECT_EQ(error_of([] {
              read({"a,b\n0,2\n", "f\n1\n2\n"});
            }),
            "e.csv:2: node id '2' is outside 0 to 1, the rows of n.csv; if it has a column of ids, name it "
            "with --id" +
                one_unknown);
  LoadOptions by_id;
  by_id.id = "k";
  EXPECT_EQ(error_of([&] {
              read({"a,b\nx,z\n", "k\nx\ny\n"}, by_id);
            }),
            "e.csv:2: node id 'z' is not in n.csv" + one_unknown);
  EXPECT_EQ(error_of([] {
              read({"0,99\n0,1\n", "f\n1\n2\n"});
            }),
            "e.csv:1: node id '99' is outside 0 to 1, the rows of n.csv; if it has a column of ids, name it "
            "with --id" +
                one_unknown)
      << "two numbers are no header";
  EXPECT_EQ(error_of([] {
              read({"a,b\rc\n0,1\n", {}});
            }),
            "e.csv:1: a carriage return stands inside a line; lines end in LF or CRLF");
  EXPECT_EQ(read({"a,b\r0,1\r", {}}).graph.num_edges(), 1) << "CR alone ends lines of old Macintosh files";
  LoadOptions same;
  same.source = same.destination = "b";
  EXPECT_EQ(error_of([&] {
              read({"a,b\n0,1\n", {}}, same);
            }),
            "e.csv: --source and --destination are the same column, 'b'");
  LoadOptions cost;
  cost.edge_cost = "c";
  EXPECT_EQ(error_of([&] {
              read({"a,b,c\n0,1,-1\n", {}}, cost);
            }),
            "e.csv:2: edge cost '-1' is not a number of at least 0");
  EXPECT_EQ(error_of([&] {
              read({"a,b,k\n0,1,1\n", {}}, cost);
            }),
            "e.csv: --edge-cost: column 'c' is unknown; did you mean 'a'? known: a, b, k");
  LoadOptions weight;
  weight.edge_weight = "c";
  EXPECT_EQ(error_of([&] {
              read({"a,b,c\n0,1,inf\n", {}}, weight);
            }),
            "e.csv:2: edge weight 'inf' is infinite; expected a finite number");
  EXPECT_EQ(error_of([&] {
              read({"a,b,c\n0,1,x\n", {}}, weight);
            }),
            "e.csv:2: edge weight 'x' is not a number");
  LoadOptions target;
  target.target = "y";
  EXPECT_EQ(error_of([&] {
              read({"0,1\n", {}}, target);
            }),
            "--target names a column of the node table: give that file with --nodes");
  LoadOptions features, drop, split_column, id;
  features.features = drop.drop = {"x"};
  split_column.split_column = id.id = "x";
  for (const auto& [given, option] : {std::pair{features, "--features"}, std::pair{drop, "--drop"},
                                      std::pair{split_column, "--split-column"}, std::pair{id, "--id"}}) {
    EXPECT_EQ(error_of([&] {
                read({"0,1\n", {}}, given);
              }),
              std::string(option) + " names a column of the node table: give that file with --nodes");
  }
}

constexpr const char* kPeople =
    "name,age,city,group,part\n"
    "ann,30,Rome,red,train\n"
    "bob,,Oslo,blue,val\n"
    "\"cy, jr\",50,Rome,,test\n"
    "dee,NA,,red,\n";

LoadOptions people_options() {
  LoadOptions options;
  options.id = "name";
  options.target = "group";
  options.split_column = "part";
  return options;
}

TEST(CsvNodes, NumbersCategoriesGapsAndSplit) {
  const Dataset dataset = read({"a,b\nann,bob\n\"cy, jr\",dee\n", kPeople}, people_options());
  EXPECT_EQ(dataset.node_ids, (std::vector<std::string>{"ann", "bob", "cy, jr", "dee"}));
  EXPECT_EQ(dataset.features.names, (std::vector<std::string>{"age", "city=Oslo", "city=Rome"}));
  EXPECT_EQ(dataset.features.dense, (std::vector<float>{30, 0, 1, 40, 1, 0, 50, 0, 1, 40, 0, 0}));
  EXPECT_EQ(dataset.targets.names, (std::vector<std::string>{"blue", "red"}));
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{1, 0, -1, 1}));
  EXPECT_EQ(dataset.notes,
            (std::vector<std::string>{
                "column 'age' of n.csv: 2 missing cells (1 empty, 1 'NA') were filled with the mean, 40; "
                "--missing says what is missing",
                "column 'city' of n.csv: 1 empty cells have no category; --drop city leaves it out",
                "1 nodes of --split-column have no label and are left out of the split"}));
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(dataset.splits[0].train, (std::vector<NodeId>{0}));
  EXPECT_EQ(dataset.splits[0].val, (std::vector<NodeId>{1}));
  EXPECT_TRUE(dataset.splits[0].test.empty());
}

TEST(CsvNodes, TargetKinds) {
  const auto targets = [](const std::string& column, const std::string& task = "auto") {
    LoadOptions options;
    options.target = "y";
    options.task = task;
    return read({"a,b\n", "y\n" + column}, options).targets;
  };
  EXPECT_EQ(targets("1\n0\n\n2\n1\n0\n2\n").task, Task::kClassification);
  EXPECT_EQ(targets("1\n0\n\n2\n1\n0\n2\n\n\n").classes, (std::vector<int32_t>{1, 0, -1, 2, 1, 0, 2}))
      << "in one column a blank line is an empty cell, but not at the end";
  EXPECT_EQ(targets("10\n9\n10\n9\n").names, (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(targets("1.5\n0\n2\n").task, Task::kRegression);
  EXPECT_EQ(targets("1.0\n0.0\n1.0\n0.0\n").names, (std::vector<std::string>{"0", "1"}))
      << "whole numbers, though written with a point";
  EXPECT_EQ(targets("1\n2\n3\n4\n5\n6\n").task, Task::kRegression) << "more values than half the rows";
  EXPECT_EQ(targets("1\n2\n3\n", "classification").task, Task::kClassification);
  EXPECT_EQ(targets("1\n0\n1\n0\n", "regression").values, (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(targets("x\nNA\nx\n").classes, (std::vector<int32_t>{0, -1, 0}))
      << "NA is missing among texts too";
  EXPECT_EQ(targets("0.5\n0.50\n2\n", "classification").classes, (std::vector<int32_t>{0, 0, 1}));
  EXPECT_TRUE(std::isnan(targets("1.5\nNaN\n2.5\n").values[1]));
}

TEST(CsvNodes, ChosenColumns) {
  LoadOptions only;
  only.features = {"c", "a"};
  EXPECT_EQ(read({"a,b\n", "a,b,c\n1,2,3\n"}, only).features.names, (std::vector<std::string>{"a", "c"}));
  LoadOptions without;
  without.drop = {"b"};
  EXPECT_EQ(read({"a,b\n", "a,b,c\n1,2,3\n"}, without).features.names, (std::vector<std::string>{"a", "c"}));
}

TEST(CsvNodes, Errors) {
  const auto error = [](const std::string& nodes, const LoadOptions& options = {}) {
    return error_of([&] { read({"a,b\n", nodes}, options); });
  };
  EXPECT_EQ(error(""), "n.csv: is empty; expected a header line with column names");
  EXPECT_EQ(error("a,b\n"), "n.csv: has a header but no rows");
  EXPECT_EQ(error("a,a\n1,2\n"), "n.csv:1: two columns are named 'a'");
  EXPECT_EQ(error("a,b\n1\n"), "n.csv:2: 1 fields, expected 2 as in the header");
  EXPECT_EQ(error("a\n1e300\n"), "n.csv:2: '1e300' is too large for a feature");
  LoadOptions id;
  id.id = "a";
  EXPECT_EQ(error("a,b\nx,1\ny,1\nx,1\n", id), "n.csv:4: node id 'x' stands already in line 2");
  EXPECT_EQ(error("a,b\n,1\n", id), "n.csv:2: the node id is empty");
  LoadOptions target;
  target.target = "MedianIncom";
  EXPECT_EQ(error("MedianIncome,b\n1,1\n", target),
            "n.csv: --target: column 'MedianIncom' is unknown; did you mean 'MedianIncome'? known: "
            "MedianIncome, b");
  target.target = "a";
  EXPECT_EQ(error("a,b\n,1\n,2\n", target), "n.csv: column 'a', the target, has no values");
  target.task = "regression";
  EXPECT_EQ(error("a,b\n1,1\nx,2\n", target), "n.csv:3: a 'x' is not a number");
  EXPECT_EQ(error("a,b\n1,1\n$3,2\nx,3\ny,3\n", target),
            "n.csv:3: a '$3' has a currency sign; write the number alone");
  LoadOptions part;
  part.split_column = "s";
  LoadOptions learned = part;
  learned.target = "b";
  EXPECT_EQ(error("s,b\ntrain,1\nlunch,2\n", learned),
            "n.csv:3: split 'lunch' is none of train, val, test or empty");
  EXPECT_EQ(error_of([&] {
              read({"a,b\n", "s,b\ntrain,1\n"}, part);
            }),
            "--split-column says who trains, but there is nothing to learn; name the target with --target");
  EXPECT_EQ(
      error("a,b\n1,1\n2,inf\n3,2\n"),
      "n.csv:3: 'inf' in column 'b' is infinite; expected a finite number, or leave the column out with "
      "--drop b");
  LoadOptions slip;
  slip.target = "a";
  EXPECT_EQ(error("a,b\n1.5,1\n12x,2\n3.5,2\n", slip),
            "n.csv:3: '12x' is not a number, but most of column 'a' are; mend it, name it in --missing if it "
            "means no value, or say --task classification");
  std::string names = "who\n", wide = "y\n";
  for (int i = 0; i < 1100; ++i) names += "person" + std::to_string(i) + "\n";
  LoadOptions asked;
  asked.features = {"who"};
  EXPECT_EQ(error(names, asked),
            "column 'who' of n.csv is text with over 1000 different values, too many for --features; make "
            "numbers of it");
  for (int i = 0; i < 1100; ++i) wide += "c" + std::to_string(i) + "\n";
  LoadOptions many;
  many.target = "y";
  EXPECT_EQ(error(wide, many),
            "n.csv: column 'y', the target, has over 1000 classes; is it a number to predict "
            "(--task regression)?");
}

TEST(CsvFolder, KnownColumnsAndGzip) {
  const MemoryFiles files({{"edges.csv.gz", gzip("source,destination,cost\na,b,2\n")},
                           {"nodes.csv", "id,label,f\na,x,1\nb,,2\n"}});
  ASSERT_TRUE(kCsvReader.recognises(files, ""));
  const Dataset dataset = kCsvReader.read(files, "", {});
  EXPECT_EQ(dataset.node_ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dataset.graph.costs()[0], 2.0);
  EXPECT_EQ(dataset.targets.labelled(), 1);
  EXPECT_EQ(dataset.features.names, (std::vector<std::string>{"f"}));
}

TEST(Gzip, Errors) {
  const std::string packed = gzip("hello hello hello");
  EXPECT_EQ(gunzip(packed, "x.gz"), "hello hello hello");
  EXPECT_EQ(gunzip(packed + packed, "x.gz"), "hello hello hellohello hello hello");
  EXPECT_EQ(error_of([&] { gunzip(packed.substr(0, 12), "x.gz"); }),
            "x.gz: byte 12: the compressed data ends early");
  EXPECT_EQ(error_of([&] { gunzip("plain text", "x.gz"); }), "x.gz: byte 2: the compressed data is damaged");
  EXPECT_EQ(error_of([&] { inflate_raw("x", 1000000, "x.gz"); }),
            "x.gz: claims 1000000 bytes in 1 compressed ones, more than DEFLATE can hold");
}

}  // namespace
}  // namespace qw
