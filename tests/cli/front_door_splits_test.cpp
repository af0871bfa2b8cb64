// Splits that a column, masks or a file say.
#include <gtest/gtest.h>

#include "cli/front_door.h"

namespace qw::test {
namespace {

const char* const kEdges = "source,target\np,q\nq,r\nr,s\ns,t\nt,u\n";
const char* const kNodes = "id,y,w\np,a,1\nq,b,2\nr,a,3\ns,b,4\nt,a,5\nu,b,7\n";
const char* const kNoId = "source,target\n0,1\n1,2\n2,3\n3,4\n4,5\n";

// Six nodes p to u of two classes; `cells` are what each has in the other columns, under `header`.
FrontDoorCase six(std::string name, const std::string& header, const std::vector<std::string>& cells,
                  const std::string& options, std::vector<std::string> says,
                  std::vector<std::string> does_not_say = {},
                  std::vector<std::pair<std::string, nlohmann::json>> values = {}, int exit_code = 0) {
  std::string nodes = "id,y,w," + header + "\n";
  for (size_t node = 0; node < cells.size(); ++node)
    nodes += fmt::format("{},{},{},{}\n", static_cast<char>('p' + node), node % 2 == 0 ? "a" : "b",
                         1 + node * node, cells[node]);
  return {std::move(name),
          {{"e.csv", kEdges}, {"n.csv", nodes}},
          "data split --json --edges DIR/e.csv --nodes DIR/n.csv --target y " + options,
          exit_code,
          std::move(says),
          std::move(does_not_say),
          std::move(values)};
}

std::vector<FrontDoorCase> cases_of_columns() {
  const std::vector<std::string> parts = {"train", "train", "dev", "Testing", "", "test"};
  const std::vector<std::string> folds = {"train,test", "train,train", "val,val", "test,NA", ",", "test,val"};
  FrontDoorCase info = six("ASplitIsNoFeature", "part", parts, "", {});
  info.command.replace(0, 10, "data info");
  info.values = {{"/features", 1}, {"/columns/3/role", "split"}, {"/splits", 1}};
  FrontDoorCase untargeted =
      six("PartsWithoutATarget", "part", parts, "",
          {"column 'part' names the parts of a split and is no feature"}, {"who trains"});
  untargeted.command = "data info --json --edges DIR/e.csv --nodes DIR/n.csv --drop y";
  untargeted.values = {{"/features", 1}, {"/splits", 0}};
  return {
      untargeted,
      six("AColumnSaysWhoTrains", "phase", parts, "",
          {"column 'phase' says who trains; --split stratified draws another, --features phase makes it a "
           "feature"},
          {}, {{"/train", {0, 1}}, {"/val", {2}}, {"/test", {3, 5}}, {"/split", "stored:index=0"}}),
      info,
      six("AnotherSplitIsDrawn", "phase", parts, "--split stratified", {}, {}, {{"/split", "stratified"}}),
      six("PartsAsAFeature", "phase", parts, "--features phase,w", {}, {"who trains"},
          {{"/split", "stratified"}}),
      six("PartsDropped", "phase", parts, "--drop phase", {}, {"who trains"}, {{"/split", "stratified"}}),
      six("PartsNamed", "phase", parts, "--split-column phase", {}, {"who trains"}, {{"/train", {0, 1}}}),
      six("TheFirstOfTwo", "one,two", folds, "",
          {"column 'one' says who trains",
           "column 'two' names the parts of a split and is no feature; "
           "--split-column can name it, or --features"},
          {}, {{"/train", {0, 1}}, {"/test", {3, 5}}}),
      six("AHoldoutIsATest", "phase", {"Train", "train", "valid", "Holdout", "", "hold-out"}, "",
          {"who trains"}, {}, {{"/train", {0, 1}}, {"/test", {3, 5}}}),
      six("ASplitOfOtherWords", "data_split", {"A", "A", "B", "B", "C", "C"}, "",
          {"column 'data_split' is a feature and does not say who trains", "--drop data_split leaves it out"},
          {}, {{"/split", "stratified"}}),
      six("WithoutAnyTrain", "exam", {"test", "val", "test", "val", "test", "val"}, "", {}, {"who trains"},
          {{"/split", "stratified"}}),
      six("AnotherWordMakesItAFeature", "exam", {"train", "bus", "test", "val", "test", "val"}, "", {},
          {"who trains"}, {{"/split", "stratified"}}),
  };
}

std::vector<FrontDoorCase> cases_of_masks() {
  const std::string header = "train_mask,val_mask,test_mask";
  FrontDoorCase unlabelled =
      six("UnlabelledNodesLeaveTheMasks", header, {"1,0,0", "1,0,0", "0,1,0", "0,0,1", "0,0,1", "0,0,1"},
          "--missing b", {"3 nodes of columns 'train_mask', 'val_mask', 'test_mask' have no label"}, {},
          {{"/train", {0}}, {"/test", {4}}});
  return {
      six("MasksOfTruths", header,
          {"True,False,False", "False,True,False", "True,False,False", "False,False,True",
           "False,False,False", "False,False,True"},
          "",
          {"columns 'train_mask', 'val_mask', 'test_mask' say who trains; --split stratified draws another"},
          {}, {{"/train", {0, 2}}, {"/val", {1}}, {"/test", {3, 5}}}),
      unlabelled,
      six("MasksThatOverlap", header, {"1,0,0", "1,1,0", "0,1,0", "0,0,1", "0,0,1", "0,0,1"}, "",
          {"are no feature and, without disjoint train_mask, val_mask and test_mask, no split; --features"},
          {"who trains"}, {{"/split", "stratified"}}),
      six("OneMask", "train_mask", {"1", "0", "1", "0", "1", "0"}, "",
          {"column 'train_mask' is taken for masks of a split, and is no feature"}, {"who trains"}),
      six("MasksAsFeatures", header, {"1,0,0", "1,0,0", "0,1,0", "0,0,1", "0,0,1", "0,0,1"},
          "--features train_mask,val_mask,test_mask", {}, {"mask"}),
      six("NumbersInAMask", "train_mask", {"1", "0", "2", "0", "1", "0"}, "", {}, {"taken for masks"}),
  };
}

FrontDoorCase with_file(std::string name, const std::string& file, std::string text,
                        std::vector<std::string> says,
                        std::vector<std::pair<std::string, nlohmann::json>> values, int exit_code = 0) {
  return {std::move(name),
          {{"e.csv", kEdges}, {"n.csv", kNodes}, {file, std::move(text)}},
          fmt::format("data split --json --edges DIR/e.csv --nodes DIR/n.csv --target y --split-file DIR/{}",
                      file),
          exit_code,
          std::move(says),
          {},
          std::move(values)};
}

std::vector<FrontDoorCase> cases_of_files() {
  const std::string by_ids =
      R"({"nodes": 9, "train": [8, 7], "test": [6], "ids": {"train": ["u", "p"], "test": ["q"]}})";
  FrontDoorCase bare =
      with_file("NumbersOfAnotherGraph", "s.json", R"({"nodes": 9, "train": [0], "test": [1]})",
                {"s.json: is a split of 9 nodes, but this graph has 6"}, {}, 1);
  FrontDoorCase numbers = with_file("IdsForAGraphWithoutThem", "s.json", by_ids,
                                    {"s.json: is a split of 9 nodes, but this graph has 6"}, {}, 1);
  numbers.files[0].second = kNoId;
  numbers.files[1].second = "y,w\na,1\nb,2\na,3\nb,4\na,5\nb,7\n";
  return {
      with_file("AFileWithoutHeader", "s.csv", "u,train\np,train\nq,test\n", {},
                {{"/train", {0, 5}}, {"/test", {1}}}),
      with_file("AFileWithHeader", "s.csv", "id,split\nu,train\np,train\nq,test\n", {},
                {{"/train", {0, 5}}, {"/test", {1}}}),
      with_file("AHeaderThatNamesAPart", "s.csv", "id,test\nu,train\np,train\nq,test\n", {},
                {{"/train", {0, 5}}, {"/test", {1}}}),
      with_file("AnUnknownNodeInTheFirstLine", "s.csv", "zoe,train\np,train\nq,test\n",
                {"s.csv:1: node id 'zoe' is not in the graph"}, {}, 1),
      with_file("AnEmptySplitFile", "s.csv", "\n", {"s.csv: is empty; expected node ids and parts"}, {}, 1),
      with_file("AShortRow", "s.csv", "id,split\nu\n", {"s.csv:2: 1 fields, expected 2 as in the first line"},
                {}, 1),
      with_file("JsonByIds", "s.json", by_ids, {}, {{"/train", {0, 5}}, {"/test", {1}}}),
      with_file("JsonOfAnUnknownId", "s.json", R"({"train": [], "ids": {"train": ["zoe"]}})",
                {"s.json: \"train\": node id 'zoe' is not in the graph"}, {}, 1),
      with_file("JsonByNumbers", "s.json", R"({"nodes": 6, "train": [0, 5], "test": [1]})", {},
                {{"/train", {0, 5}}, {"/test", {1}}}),
      with_file("JsonOfANumberTooLarge", "s.json", R"({"train": [0, 6], "test": [1]})",
                {"s.json: \"train\": 6 is no node number from 0 to 5"}, {}, 1),
      with_file("JsonOfAnotherKey", "s.json", R"({"train": [0], "valid": [2], "test": [1]})",
                {"s.json: key 'valid' is unknown; known: train, val, test"}, {}, 1),
      with_file("JsonOfIdsAsNumbers", "s.json", R"({"train": ["p"], "test": ["q"]})",
                {"s.json: \"train\": \"p\" is no node number from 0 to 5; node ids stand under \"ids\""}, {},
                1),
      with_file("JsonWithoutTrain", "s.json", R"({"nodes": 6})", {"s.json: has no \"train\"; expected lists"},
                {}, 1),
      with_file("JsonOfIdsWithoutParts", "s.json", R"({"train": [1], "ids": ["p"]})",
                {"s.json: has no \"train\" in \"ids\"; expected lists"}, {}, 1),
      with_file("JsonOfOneNode", "s.json", R"({"train": 0, "test": [1]})",
                {"s.json: \"train\": expected a list of nodes"}, {}, 1),
      bare,
      numbers,
  };
}

std::vector<FrontDoorCase> cases_of_targets() {
  const auto values = [](std::string name, const std::string& column, const std::string& options,
                         std::vector<std::string> says, std::vector<std::string> does_not_say) {
    FrontDoorCase each = six(std::move(name), "v", std::vector<std::string>(6, column), "", std::move(says),
                             std::move(does_not_say));
    each.command = "data info --json --edges DIR/e.csv --nodes DIR/n.csv " + options;
    return each;
  };
  const std::vector<std::string> five(5, "1");
  return {
      values("AConstantTarget", "1.5", "--target v",
             {"the target is 1.5 everywhere: nothing can be learned; --target names another"}, {}),
      values("AConstantTargetOfTwo", "1.5", "--target v,w --task regression",
             {"the target 'v' is 1.5 everywhere"}, {"'w' is"}),
      values("ATargetThatVaries", "1.5", "--target w --task regression", {}, {"everywhere"}),
      six("StratifiedWithoutTest", "v", five,
          "--target v --unknown-nodes drop --split stratified:train=0.5,val=0.5", {}, {},
          {{"/test", nlohmann::json::array()}}),
      six("RandomWithoutTest", "v", five, "--unknown-nodes drop --split random:train=0.5,val=0.5", {}, {},
          {{"/test", nlohmann::json::array()}}),
  };
}

TEST(FrontDoorSplitFile, FollowsTheIdsWhenRowsMove) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "s.json", edges = folder.write("e.csv", kEdges);
  const auto split = [&](const std::string& nodes, Arguments more) {
    Arguments arguments = {"data", "split", "--json", "--edges", edges, "--nodes", nodes, "--target", "y"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(qw(arguments).out);
  };
  const auto drawn = split(folder.write("n.csv", kNodes), {"--out", out});
  EXPECT_EQ(drawn.at("nodes"), 6);
  const auto moved = split(folder.write("m.csv", "id,y,w\nu,b,7\nt,a,5\ns,b,4\nr,a,3\nq,b,2\np,a,1\n"),
                           {"--split-file", out});
  for (const char* part : {"train", "val", "test"}) {
    auto ids = moved.at("ids").at(part).get<std::vector<std::string>>();
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(nlohmann::json(ids), drawn.at("ids").at(part)) << part;
  }
}

class FrontDoorSplits : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(FrontDoorSplits, SaysWhoTrains) { expect_front_door(GetParam()); }

const auto kNameOfCase = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(Columns, FrontDoorSplits, testing::ValuesIn(cases_of_columns()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Masks, FrontDoorSplits, testing::ValuesIn(cases_of_masks()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Targets, FrontDoorSplits, testing::ValuesIn(cases_of_targets()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Files, FrontDoorSplits, testing::ValuesIn(cases_of_files()), kNameOfCase);

}  // namespace
}  // namespace qw::test
