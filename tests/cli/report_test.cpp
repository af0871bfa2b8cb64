// `qw report` of trainings and fits as a person makes them.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

using test::expect_refused;
using test::qw;
using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  std::string run(const std::vector<std::string>& command) {
    std::vector<std::string> all = command;
    all.insert(all.end(), {"--quiet", "--out", folder()});
    const test::CommandResult result = qw(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const test::CommandResult made = qw({"report", folder(), "--out", page()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out, page() + "\n");
    return read_file(page());
  }
  std::string folder() const { return folder_.path() / "run"; }
  std::string page() const { return folder_.path() / "report.html"; }

  test::TemporaryFolder folder_;
};

TEST_F(Report, OfATraining) {
  const std::string html = run({"train", "karate", "--solver", "ce", "--epochs", "20", "--runs", "2"});
  for (const char* part :
       {"karate: gcn (ce)", "held-out labels", "Confusion matrix", "By epoch", "Neighbours of a node",
        "Labelled nodes by class", "Edges between classes", "qw train karate", "Fingerprint"})
    EXPECT_THAT(html, HasSubstr(part));
  const nlohmann::json summary = nlohmann::json::parse(read_file(folder() + "/summary.json"));
  EXPECT_THAT(html, HasSubstr(fmt::format("{:.0f} of 100 held-out labels",
                                          100 * summary.at("test").at("accuracy").at("mean").get<double>())));
}

TEST_F(Report, ExplainsNodes) {
  const std::string html = run({"train", "karate", "--solver", "bregman", "--epochs", "20"});
  EXPECT_THAT(html, HasSubstr("<h2>Why these labels</h2>"));
  EXPECT_THAT(html, HasSubstr("wrong and most sure of it, the others are least sure"));
  EXPECT_THAT(html, HasSubstr("Without the edges to a neighbour"));
  EXPECT_THAT(html,
              ::testing::AnyOf(HasSubstr("<figure class=\"chart drawing\">"), HasSubstr("need Graphviz")));
  ASSERT_EQ(qw({"report", folder(), "--node", "33", "--node", "2", "--out", page()}).exit_code, 0);
  const std::string asked = read_file(page());
  EXPECT_LT(asked.find("<h3>Node 33</h3>"), asked.find("<h3>Node 2</h3>"));
  EXPECT_THAT(asked, ::testing::Not(HasSubstr("least sure")));
  ASSERT_EQ(qw({"report", folder(), "--node", "33", "--node", "2", "--out", page()}).exit_code, 0);
  EXPECT_EQ(read_file(page()), asked) << "the same layout";
  expect_refused({"report", folder(), "--node", "34", "--out", page()}, 2,
                 "qw report: --node '34' is no node of karate; its nodes are 0 to 33");
}

TEST_F(Report, WithoutItsDataNothingIsExplained) {
  const std::string edges = folder_.write("e.csv", "a,b\nx,y\ny,z\nz,w\nw,x\n");
  const std::string nodes = folder_.write("n.csv", "id,f,team\nx,1,red\ny,2,red\nz,3,blue\nw,4,blue\n");
  run({"train", "--edges", edges, "--nodes", nodes, "--id", "id", "--target", "team", "--split",
       "random:train=0.5,val=0", "--epochs", "5"});
  std::filesystem::remove(edges);
  ASSERT_EQ(qw({"report", folder(), "--out", page()}).exit_code, 0);
  EXPECT_THAT(read_file(page()), HasSubstr("No node is explained: "));
  EXPECT_EQ(qw({"report", folder(), "--node", "x", "--out", page()}).exit_code, 1);
}

TEST_F(Report, OfAFit) {
  const std::string html = run(
      {"fit", "csbm:nodes=90,degree=6,features=6,classes=3,homophily=0.9", "--trials", "6", "--seed", "3"});
  for (const char* part : {"The race of candidates", "The ensemble", "What helps", "Does the graph help? ",
                           "Candidates, best first", "All together, and the best alone", "label-propagation"})
    EXPECT_THAT(html, HasSubstr(part));
}

TEST_F(Report, OfValues) {
  std::string nodes = "id,x,score\n", edges = "a,b\n";
  for (int i = 0; i < 40; ++i) {
    nodes += fmt::format("n{},{},{}\n", i, i % 7, 0.5 * (i % 7) + 0.1 * (i % 3));
    edges += fmt::format("n{},n{}\n", i, (i + 1) % 40);
  }
  folder_.write("n.csv", nodes);
  folder_.write("e.csv", edges);
  const std::string at = folder_.path();
  const std::string html = run({"train", "--edges", at + "/e.csv", "--nodes", at + "/n.csv", "--id", "id",
                                "--target", "score", "--task", "regression", "--epochs", "20"});
  EXPECT_THAT(html, HasSubstr("Predicted against true"));
  EXPECT_THAT(html, HasSubstr("has r2 "));
}

TEST_F(Report, OfSeveralTrainingsSaysFirstWhichIsBetter) {
  std::vector<std::string> runs;
  for (const char* solver : {"ce", "bregman"}) {
    runs.push_back(folder_.path() / solver);
    ASSERT_EQ(qw({"train", "karate", "--solver", solver, "--epochs", "20", "--runs", "3", "--quiet", "--out",
                  runs.back()})
                  .exit_code,
              0);
  }
  ASSERT_EQ(qw({"report", runs[0], runs[1], "--out", page()}).exit_code, 0);
  const std::string html = read_file(page());
  const test::CommandResult compared = qw({"compare", runs[0], runs[1]});
  const std::string sentence = compared.out.substr(compared.out.find("bregman ("));
  const std::string begin = sentence.substr(0, sentence.find(" +- "));
  EXPECT_THAT(html, HasSubstr("<p class=\"lead\">" + begin));
  for (const char* part :
       {"karate: 2 trainings compared", "Differences to ce", "wins/ties/losses", "Seed by seed",
        "Every metric of test nodes", "Options by which the trainings differ"})
    EXPECT_THAT(html, HasSubstr(part));
  ASSERT_EQ(qw({"train", "csbm:nodes=60,degree=4", "--epochs", "3", "--quiet", "--out", folder()}).exit_code,
            0);
  EXPECT_EQ(qw({"report", runs[0], folder(), "--out", page()}).err, qw({"compare", runs[0], folder()}).err);
  EXPECT_THAT(qw({"compare", runs[0], folder()}).err, HasSubstr("they cannot be paired"));
}

TEST_F(Report, IsMadeByTheCommandThatLearns) {
  const std::string at = folder_.path();
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"train", "karate", "--epochs", "3", "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return qw(all);
  };
  ASSERT_EQ(train({"--out", folder(), "--report"}).exit_code, 0);
  EXPECT_THAT(read_file(folder() + "/report.html"), HasSubstr("By epoch"));
  ASSERT_EQ(qw({"report", folder(), "--out", page(), "--quiet"}).exit_code, 0);
  EXPECT_EQ(read_file(page()), read_file(folder() + "/report.html"));
  ASSERT_EQ(train({"--out", at + "/other", "--report", at + "/own.html"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(at + "/own.html"));
  ASSERT_EQ(qw({"train", "--resume", folder(), "--report", at + "/again.html", "--quiet"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(at + "/again.html"));
  expect_refused({"train", "karate", "--report"}, 2,
                 "qw train: --report is made from what --out keeps: give --out DIR, too");
  expect_refused({"train", "--out", at + "/x", "--report", "karate", "--data", "karate"}, 2,
                 "qw train: --report 'karate' is no name of a page, which ends in .html; put other arguments "
                 "before --report");
  EXPECT_FALSE(std::filesystem::exists(at + "/x"));
}

TEST_F(Report, WhatIsNoTrainingIsRefused) {
  expect_refused({"report", folder()}, 1,
                 "qw: " + folder() + ": there is no such folder; a run is a folder that qw train --out made");
  ASSERT_EQ(qw({"train", "karate", "--epochs", "3", "--quiet", "--out", folder()}).exit_code, 0);
  folder_.write("run/schema.json", "{}");
  EXPECT_EQ(qw({"report", folder(), "--out", page()}).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(page()));
}

}  // namespace
}  // namespace qw
