// Which column of a node table holds the ids, where several could, or none quite does.
#include "cli/front_door.h"

namespace qw::test {
namespace {

const char* const kRing = "source,target\n0,1\n1,2\n2,3\n3,0\n";

FrontDoorCase with_edges(std::string name, std::string edges, std::string nodes, const std::string& options,
                         std::vector<std::string> says, std::vector<std::string> does_not_say = {},
                         int exit_code = 0, std::vector<std::pair<std::string, nlohmann::json>> values = {}) {
  return {std::move(name),
          {{"e.csv", std::move(edges)}, {"n.csv", std::move(nodes)}},
          "data info --json --edges DIR/e.csv --nodes DIR/n.csv " + options,
          exit_code,
          std::move(says),
          std::move(does_not_say),
          std::move(values)};
}

FrontDoorCase chosen(std::string name, std::string nodes, const std::string& column,
                     const std::string& options = "") {
  return with_edges(std::move(name), kRing, std::move(nodes), options,
                    {fmt::format("column '{}' is the node id", column)}, {"row i"});
}

FrontDoorCase refused(std::string name, std::string nodes, std::vector<std::string> says,
                      const std::string& options = "", int exit_code = 1) {
  return with_edges(std::move(name), kRing, std::move(nodes), options, std::move(says), {}, exit_code);
}

std::vector<FrontDoorCase> cases_of_one_bad_id() {
  return {
      refused("AnIdThatIsMistyped", "id,y\n3,a\n2,b\n1,b\n9,a\n",
              {"e.csv:2: node id '0' is not in", "column 'id' was taken for the node id",
               "--id row-number counts rows instead", "--unknown-nodes drop"},
              "--target y"),
      refused("AUserIdThatIsMistyped", "age,user_id\n33,0\n41,1\n25,2\n52,4\n",
              {"e.csv:4: node id '3' is not in", "--id row-number counts rows instead"}),
      refused(
          "AMistypedIdBesideOtherSmallNumbers", "code,children\n1,3\n7,2\n2,1\n3,0\n",
          {"e.csv:2: node id '0' is not in", "column 'code' was taken for the node id: --id names another"}),
      with_edges("RowsInsteadOfABadColumn", kRing, "id,y\n3,a\n2,b\n1,b\n9,a\n", "--id row-number --drop id",
                 {}, {"node id"}, 0, {{"/nodes", 4}, {"/edges", 4}}),
      with_edges("AMistypedIdAdded", kRing, "id,w\n3,.5\n2,1\n1,2\n9,3\n", "--unknown-nodes add",
                 {"1 nodes that"}, {}, 0, {{"/nodes", 5}, {"/isolated_nodes", 1}}),
      with_edges("RowsCannotBeCountedForText", "source,target\na,b\nb,c\nc,x\n", "id,w\na,.5\nb,1\nc,2\n", "",
                 {"e.csv:4: node id 'x' is not in"}, {"--id row-number"}, 1),
      refused("ZerosThatOneFileLost", "id,w\n003,.5\n001,1\n000,2\n002,3\n",
              {"n.csv: column 'id' has '002' where the edges have '2': one of the files lost the zeros "
               "before ids; "
               "mend it, or say --id row-number if rows are numbered as the edges are"},
              "", 2),
      refused("ARowTwiceUnderUserId", "user_id,w\n0,.5\n1,2.5\n1,2.5\n2,1\n3,4\n",
              {"n.csv:4: node id '1' stands already in line 3"}),
      refused("ARowTwiceBesideAnIndex", ",name,w\n0,0,.5\n1,1,2.5\n2,1,2.5\n3,2,1\n4,3,4\n",
              {"n.csv:4: node id '1' stands already in line 3"}),
      with_edges("AGroupIsNoId", kRing, "group_id,w\n0,.5\n0,2.5\n1,2.5\n1,1\n", "",
                 {"row i, counted from 0, is node i"}, {"already"}),
      with_edges("AnIndexWithGapsIsTheId", "source,target\n0,1\n1,2\n2,4\n", ",w\n0,.5\n1,1\n2,3\n4,9\n7,5\n",
                 "", {"column 'index' is the node id"}, {"row i"}),
      with_edges("AnIndexOfRBesideEdgesFromZero", kRing, ",w\n1,.5\n2,1\n3,3\n4,9\n", "",
                 {"row i, counted from 0, is node i", "column 'index' looks like ids and is no feature"}),
  };
}

std::vector<FrontDoorCase> cases_of_an_index() {
  std::vector<FrontDoorCase> cases;
  for (const char* column : {"id", "node", "node_id", "name", "user_id", "person"}) {
    cases.push_back(chosen(fmt::format("IndexBefore_{}", column),
                           fmt::format(",{},y\n0,3,a\n1,2,b\n2,1,b\n3,0,a\n", column), column, "--target y"));
    cases.push_back(chosen(fmt::format("UnnamedBefore_{}", column),
                           fmt::format("Unnamed: 0,{},w\n0,3,.5\n1,2,2\n2,1,3\n3,0,7\n", column), column));
  }
  cases.push_back(with_edges("UnnamedIsNoFeature", kRing, "id,Unnamed: 0,w\n3,0,.5\n2,1,2\n1,2,3\n0,3,7\n",
                             "",
                             {"column 'Unnamed: 0' looks like ids and is no feature; --features can name it"},
                             {}, 0, {{"/features", 1}}));
  cases.push_back(with_edges("UnnamedThatCountsNothing", kRing,
                             "id,Unnamed: 7,w\n3,2.5,.5\n2,1,2\n1,2,3\n0,3,7\n", "", {}, {"looks like ids"},
                             0, {{"/features", 2}}));
  cases.push_back(chosen("UnnamedAlone", "Unnamed: 0,w\n0,.5\n1,2\n2,3\n3,7\n", "Unnamed: 0"));
  return cases;
}

std::vector<FrontDoorCase> cases_of_other_purposes() {
  const char* const people = "who,w\nann,.5\nbob,1\ncy,2\n";
  const char* const friends = "source,target\nann,bob\nbob,cy\n";
  const char* const says =
      "holds the ends of the edges, so that it is the node id; --id names another, or "
      "row-number";
  return {
      refused("AFeatureHoldsTheEnds", "id,w\n3,.5\n2,2\n1,3\n0,7\n", {"n.csv: column 'id' ", says},
              "--features id,w", 2),
      with_edges("ATargetHoldsTheEnds", friends, people, "--target who", {"n.csv: column 'who' ", says}, {},
                 2),
      with_edges("RowNumbersBesideAFeatureOfIds", kRing, "id,w\n3,.5\n2,2\n1,3\n0,7\n",
                 "--features id,w --id row-number", {}, {}, 0, {{"/features", 2}}),
      with_edges("ATargetOfRanksIsNoId", kRing, "rank,w\n3,.5\n2,2\n1,3\n0,7\n", "--target rank",
                 {"row i, counted from 0"}, {"holds the ends"}),
      with_edges("IdsWithoutEdges", "source,target\n", "w,id\n.5,p\n1,q\n", "",
                 {"column 'id' is the node id by its name; --id names another, or row-number"}, {}, 0,
                 {{"/nodes", 2}, {"/edges", 0}, {"/columns/1/role", "id"}}),
      with_edges("PlainIdsBeforeNames", "source,target\n", "name,node\nx,1\ny,2\n", "",
                 {"column 'node' is the node id by its name"}),
      with_edges("RepeatedIdsWithoutEdges", "source,target\n", "name,w\nx,1\nx,2\n", "", {}, {"by its name"}),
  };
}

// source,target and a path from `first` to `last`.
std::string path_of(int first, int last) {
  std::string text = "source,target\n";
  for (int node = first; node < last; ++node) text += fmt::format("{},{}\n", node, node + 1);
  return text;
}

std::vector<FrontDoorCase> cases_of_some_nodes() {
  std::string some = "id,y,w\n", newest_first = "id,w\n";
  for (int node = 25; node <= 40; ++node)
    some += fmt::format("{},{},{}\n", node, node % 2 == 0 ? "a" : "b", node * 0.5);
  for (int node = 2999; node >= 0; --node) newest_first += fmt::format("{},{}\n", node, node * 0.25);
  return {
      with_edges("ATableOfSomeNodes", path_of(1, 40), some, "--target y --unknown-nodes drop",
                 {"column 'id' is the node id, since it holds 16 of the 40 ends of edges"}, {"row i"}, 0,
                 {{"/nodes", 16}, {"/edges", 15}, {"/isolated_nodes", 0}}),
      with_edges("ATableOfSomeNodesWithoutADecision", path_of(1, 40), some, "--target y",
                 {"e.csv:2: node id '1' is not in", "--unknown-nodes drop"}, {}, 1),
      with_edges("TheFirstThousandHaveNoEdge", path_of(0, 500), newest_first, "",
                 {"column 'id' is the node id, since it holds the ends of all edges"}, {"row i"}, 0,
                 {{"/nodes", 3000}, {"/edges", 500}, {"/isolated_nodes", 2499}}),
      with_edges("NoColumnHoldsWhatIsDropped", path_of(1, 40), "y,w\na,.5\nb,1\nb,3\n",
                 "--target y --unknown-nodes drop",
                 {"n.csv: no column holds the ends of the edges, and they are no numbers of its 3 rows; --id "
                  "names the column of ids, or row-number"},
                 {}, 2),
      with_edges("WhatIsDroppedByRowNumber", path_of(1, 40), "y,w\na,.5\nb,1\nb,3\n",
                 "--target y --unknown-nodes drop --id row-number", {}, {}, 0,
                 {{"/nodes", 3}, {"/edges", 1}}),
  };
}

class FrontDoorIdChoice : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(FrontDoorIdChoice, SaysWhatItMakesOfTheFile) { expect_front_door(GetParam()); }

const auto kNameOfCase = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(OneBadId, FrontDoorIdChoice, testing::ValuesIn(cases_of_one_bad_id()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Index, FrontDoorIdChoice, testing::ValuesIn(cases_of_an_index()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(SomeNodes, FrontDoorIdChoice, testing::ValuesIn(cases_of_some_nodes()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(OtherPurposes, FrontDoorIdChoice, testing::ValuesIn(cases_of_other_purposes()),
                         kNameOfCase);

}  // namespace
}  // namespace qw::test
