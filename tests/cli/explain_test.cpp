// qw explain as a person uses it.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kEdges = "from,to\nann,bob\nbob,cyd\ncyd,dan\ndan,eve\neve,fay\nfay,ann\nann,cyd\n";

// Two teams in a circle; gus knows nobody; dan's and gus's teams are not known.
class Explain : public testing::Test {
 protected:
  std::string train(const std::string& name, const std::string& target, const Arguments& more = {}) {
    const auto edges = folder_.write("edges.csv", kEdges);
    const auto nodes = folder_.write(
        "nodes.csv",
        "id,x,team,pay,split\nann,1,red,1000,train\nbob,2,red,1500,train\ncyd,3,blue,9000,train\n"
        "dan,4,,,\neve,5,red,2500,val\nfay,6,blue,8000,train\ngus,7,,,\n");
    const std::string out = folder_.path() / name;
    Arguments arguments{"train", "--edges",        edges,   "--nodes",  nodes, "--id",  "id", "--target",
                        target,  "--split-column", "split", "--epochs", "40",  "--out", out,  "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult trained = qw(arguments);
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    return out;
  }

  // The row of predictions.csv: column -> field.
  static std::map<std::string, std::string> predicted(const std::string& out, const std::string& id) {
    const std::vector<std::string> lines = split(read_file(out + "/run-0/predictions.csv"), '\n');
    const std::vector<std::string> header = split(lines.front(), ',');
    for (const std::string& line : lines) {
      const std::vector<std::string> fields = split(line, ',');
      if (fields.empty() || fields.front() != id) continue;
      std::map<std::string, std::string> row;
      for (size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
      return row;
    }
    ADD_FAILURE() << "no row for " << id;
    return {};
  }

  test::TemporaryFolder folder_;
};

// Scores are those of predictions.csv, paths follow edges and bring what transport brings.
void expect_consistent(const json& result, const std::map<std::string, std::string>& row) {
  for (const json& score : result.at("scores")) {
    const std::string name = score.at("class");
    const double transport = score.at("transport"), network = score.at("network");
    const double near = 1e-5 * (1 + std::fabs(network) + std::fabs(transport));
    EXPECT_NEAR(score.at("sum").get<double>(), network + transport, near);
    EXPECT_NEAR(network, std::stod(row.at("network " + name)), near);
    EXPECT_NEAR(transport, std::stod(row.at("transport " + name)), near);
    if (score.contains("probability")) {
      EXPECT_NEAR(score.at("probability").get<double>(), std::stod(row.at("probability " + name)), 1e-6);
    }
    for (const json& shown : result.at("transport")) {
      if (shown.at("class") != name) continue;
      double sum = shown.at("more").at("amount"), last = INFINITY;
      for (const json& path : shown.at("paths")) {
        const double amount = path.at("amount");
        EXPECT_EQ(amount > 0, transport > 0);
        EXPECT_LE(std::fabs(amount), last) << "the largest comes first";
        last = std::fabs(amount);
        sum += amount;
        EXPECT_EQ(path.at("path").front(), result.at("node"));
        EXPECT_EQ(path.at("path").back(), path.at("node"));
      }
      EXPECT_NEAR(sum, transport, near);
      EXPECT_NEAR(shown.at("amount").get<double>(), transport, near);
    }
  }
}

TEST_F(Explain, ClassesByPathsThatFollowEdges) {
  const std::string out = train("classes", "team", {"--solver", "bregman", "--lambda", "10"});
  const std::map<std::string, std::string> label{
      {"ann", "red"}, {"bob", "red"}, {"cyd", "blue"}, {"fay", "blue"}};
  for (const std::string id : {"ann", "dan", "eve"}) {
    const json result = json_of({"explain", out, "--node", id, "--class", "all", "--json", "--quiet"});
    const auto row = predicted(out, id);
    EXPECT_EQ(result.at("prediction"), row.at("prediction"));
    EXPECT_EQ(result.at("training"), label.contains(id));
    EXPECT_EQ(result.at("transport").size(), 2U);
    expect_consistent(result, row);
    for (const json& shown : result.at("transport")) {
      EXPECT_FALSE(shown.at("paths").empty());
      for (const json& path : shown.at("paths")) {
        for (size_t i = 1; i < path.at("path").size(); ++i) {
          const std::string a = path.at("path")[i - 1], b = path.at("path")[i];
          EXPECT_TRUE(contains(kEdges, "\n" + a + "," + b + "\n") ||
                      contains(kEdges, "\n" + b + "," + a + "\n"))
              << a << " - " << b;
        }
        const auto known = label.find(path.at("node"));
        EXPECT_EQ(path.at("training"), known != label.end());
        EXPECT_EQ(path.at("label"), known == label.end() ? json(nullptr) : json(known->second));
      }
    }
  }
}

TEST_F(Explain, TextSaysTheSame) {
  const std::string out = train("text", "team", {"--solver", "bregman", "--lambda", "10"});
  const json result = json_of({"explain", out, "--node", "dan", "--json", "--quiet"});
  const CommandResult shown = qw({"explain", out, "--node", "dan", "--quiet"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const std::string name = result.at("prediction");
  EXPECT_TRUE(contains(shown.out, "node dan: predicted " + name + "; no training node\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "\n" + name + ": transport brings ")) << shown.out;
  ASSERT_EQ(result.at("transport").size(), 1U) << "of the predicted class only";
  for (const json& path : result.at("transport")[0].at("paths")) {
    EXPECT_TRUE(contains(shown.out, join(path.at("path"), " - ") + "\n")) << shown.out;
    EXPECT_TRUE(
        contains(shown.out, path.at("training") ? path.at("label").get<std::string>() : "unlabelled"));
  }
  EXPECT_TRUE(
      contains(qw({"explain", out, "--node", "ann", "--quiet"}).out, "; a training node with label red\n"));
}

TEST_F(Explain, TheRestIsSummedUp) {
  const std::string out = folder_.path() / "karate";
  ASSERT_EQ(qw({"train", "--data", "karate", "--solver", "bregman", "--epochs", "10", "--split", "published",
                "--out", out, "--quiet"})
                .exit_code,
            0);
  const json all = json_of({"explain", out, "--node", "33", "--class", "1", "--top", "0", "--json"});
  const json one = json_of({"explain", out, "--node", "33", "--class", "1", "--top", "1", "--json"});
  const json &every = all.at("transport")[0], &first = one.at("transport")[0];
  ASSERT_GT(every.at("paths").size(), 1U);
  EXPECT_EQ(every.at("more").at("paths"), 0);
  ASSERT_EQ(first.at("paths").size(), 1U);
  EXPECT_EQ(first.at("paths")[0], every.at("paths")[0]);
  EXPECT_EQ(first.at("more").at("paths"), every.at("paths").size() - 1);
  expect_consistent(all, predicted(out, "33"));
  expect_consistent(one, predicted(out, "33"));
  const std::string text = qw({"explain", out, "--node", "33", "--class", "1", "--top", "1"}).out;
  EXPECT_TRUE(contains(text, "and " + std::to_string(every.at("paths").size() - 1) + " more, together "))
      << text;
}

TEST_F(Explain, ValuesAreInTheirOwnUnits) {
  const std::string out =
      train("values", "pay", {"--task", "regression", "--solver", "bregman", "--lambda", "10"});
  bool in_thousands = false;
  for (const char* id : {"ann", "cyd", "dan", "fay"}) {
    const json result = json_of({"explain", out, "--node", id, "--json", "--quiet"});
    ASSERT_EQ(result.at("scores").size(), 1U);
    EXPECT_FALSE(result.at("scores")[0].contains("probability"));
    EXPECT_EQ(result.at("prediction"), result.at("scores")[0].at("sum"));
    ASSERT_EQ(result.at("transport").size(), 1U);
    expect_consistent(result, predicted(out, id));
    in_thousands = in_thousands || std::fabs(result.at("transport")[0].at("amount").get<double>()) > 20;
  }
  EXPECT_TRUE(in_thousands);
  EXPECT_EQ(json_of({"explain", out, "--node", "ann", "--json", "--quiet"}).at("label"), 1000.0);
}

TEST_F(Explain, DirectedGraphs) {
  const std::string out = train("directed", "team", {"--solver", "proximal", "--lambda", "10", "--directed"});
  for (const char* id : {"ann", "cyd", "dan"}) {
    const json result = json_of({"explain", out, "--node", id, "--class", "all", "--json", "--quiet"});
    expect_consistent(result, predicted(out, id));
    for (const json& shown : result.at("transport")) {
      for (const json& path : shown.at("paths")) {
        const bool receives = path.at("amount") > 0.0;
        for (size_t i = 1; i < path.at("path").size(); ++i) {
          const std::string a = path.at("path")[i - 1], b = path.at("path")[i];
          EXPECT_TRUE(contains(kEdges, "\n" + (receives ? b + "," + a : a + "," + b) + "\n"))
              << a << " - " << b;
        }
      }
    }
  }
}

TEST_F(Explain, ExactTransportAddsToProbabilities) {
  const std::string out = train("exact", "team", {"--solver", "exact"});
  for (const char* id : {"ann", "dan", "fay"}) {
    const json result = json_of({"explain", out, "--node", id, "--class", "all", "--json", "--quiet"});
    expect_consistent(result, predicted(out, id));
    for (const json& score : result.at("scores")) {
      EXPECT_GE(score.at("network").get<double>(), 0);
      EXPECT_LE(score.at("network").get<double>(), 1);
    }
  }
}

TEST_F(Explain, WithoutTransportOrWithoutEdges) {
  const std::string plain = train("plain", "team", {"--solver", "ce"});
  EXPECT_EQ(json_of({"explain", plain, "--node", "dan", "--json", "--quiet"}).at("transport"), nullptr);
  EXPECT_TRUE(contains(qw({"explain", plain, "--node", "dan", "--quiet"}).out,
                       "\nsolver ce has no transport: the network alone decides\n"));
  const std::string out = train("alone", "team", {"--solver", "bregman"});
  const json result = json_of({"explain", out, "--node", "gus", "--json", "--quiet"});
  EXPECT_TRUE(result.at("transport")[0].at("paths").empty());
  const std::string name = result.at("prediction");
  EXPECT_TRUE(contains(qw({"explain", out, "--node", "gus", "--quiet"}).out,
                       "\n" + name + ": the node has no edges, so nothing can reach it\n"));
}

// The first number of a row of the text that begins with these words.
std::vector<std::string> words_after(const std::string& text, const std::string& row) {
  for (const std::string& line : split(text, '\n')) {
    if (line.find(row) == std::string::npos) continue;
    std::vector<std::string> words;
    for (const std::string& word : split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    return words;
  }
  return {};
}

TEST_F(Explain, ANeighbourLeftOutIsAPredictionWithoutItsEdge) {
  const std::string out = train("left", "team", {"--solver", "ce"});
  const json all = json_of({"explain", out, "--node", "dan", "--class", "all", "--json", "--quiet"});
  const auto without =
      folder_.write("without.csv", "from,to\nann,bob\nbob,cyd\ndan,eve\neve,fay\nfay,ann\nann,cyd\n");
  const json changed = json_of({"explain", out, "--edges", without, "--nodes", folder_.path() / "nodes.csv",
                                "--node", "dan", "--class", "all", "--json", "--quiet"});
  for (size_t c = 0; c < 2; ++c) {
    const json& list = all.at("neighbours")[c];
    EXPECT_EQ(list.at("class"), all.at("scores")[c].at("class"));
    ASSERT_EQ(list.at("neighbours").size(), 2U);
    EXPECT_EQ(list.at("more"), (json{{"neighbours", 0}, {"not_computed", 0}}));
    for (const json& neighbour : list.at("neighbours")) {
      if (neighbour.at("node") != "cyd") continue;
      for (const auto& [change, score] :
           {std::pair{"score_change", "sum"}, std::pair{"probability_change", "probability"}}) {
        EXPECT_NEAR(
            neighbour.at(change).get<double>(),
            changed.at("scores")[c].at(score).get<double>() - all.at("scores")[c].at(score).get<double>(),
            1e-5);
      }
    }
  }
  const std::string text = qw({"explain", out, "--node", "dan", "--class", "red", "--quiet"}).out;
  EXPECT_TRUE(contains(text, "\nred: what changes without the edges to a neighbour\n")) << text;
  EXPECT_EQ(words_after(text, "cyd  ").at(1), "blue") << text;
  EXPECT_TRUE(contains(text, "\nred: gradient times input, ")) << text;
  EXPECT_FALSE(words_after(text, "x  ").empty()) << text;
}

TEST_F(Explain, SolversWithoutANetworkSayWhichLabelMovedIt) {
  const std::string out = train("spread", "team", {"--solver", "label-propagation", "--model", "none"});
  const json result = json_of({"explain", out, "--node", "dan", "--json", "--quiet"});
  EXPECT_EQ(result.at("transport"), nullptr);
  EXPECT_EQ(result.at("features"), nullptr);
  EXPECT_EQ(result.at("labels")[0].at("labels").size(), 4U);
  const std::string text = qw({"explain", out, "--node", "dan", "--quiet"}).out;
  EXPECT_TRUE(contains(text,
                       "\nsolver label-propagation has no transport: labels are spread over the edges, and "
                       "nothing else counts\n"));
  EXPECT_TRUE(contains(text, ": what changes without the label of a training node\n")) << text;
  const std::string alone = qw({"explain", out, "--node", "gus", "--quiet"}).out;
  EXPECT_TRUE(contains(alone, ": no training label reaches this node\n")) << alone;
  const std::string smooth = train("smooth", "team", {"--solver", "correct-and-smooth"});
  EXPECT_TRUE(contains(qw({"explain", smooth, "--node", "dan", "--quiet"}).out,
                       "has no transport: labels are spread over the edges and added to the network's\n"));
}

TEST_F(Explain, NetworksThatDoNotLookAtEdgesSaySo) {
  const std::string out = train("mlp", "team", {"--solver", "ce", "--model", "mlp"});
  EXPECT_EQ(json_of({"explain", out, "--node", "dan", "--json", "--quiet"}).at("neighbours"), nullptr);
  EXPECT_TRUE(contains(qw({"explain", out, "--node", "dan", "--quiet"}).out,
                       ": the network does not look at edges, so no neighbour counts\n"));
}

TEST_F(Explain, NamesOfAnyKind) {
  const std::string odd = "a \"b\" <i> \xF0\x9F\x98\x80";
  const std::string long_name(300, 'y');
  const auto quoted = [](const std::string& name) { return csv_field(name); };
  const auto edges = folder_.write("odd_edges.csv", "from,to\n" + quoted(odd) + ",b\nb," + long_name + "\n");
  const auto nodes =
      folder_.write("odd_nodes.csv", "id,x," + long_name + ",team\n" + quoted(odd) + ",1,2," + quoted(odd) +
                                         "\nb,2,1,blue\n" + long_name + ",3,5,\n");
  const std::string out = folder_.path() / "odd";
  const CommandResult trained =
      qw({"train", "--edges", edges, "--nodes", nodes, "--id", "id", "--target", "team", "--split",
          "random:train=1,val=0", "--epochs", "5", "--out", out, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  for (const std::string& node : {odd, long_name}) {
    const json result = json_of({"explain", out, "--node", node, "--json", "--quiet"});
    EXPECT_EQ(result.at("node"), node);
    EXPECT_EQ(qw({"explain", out, "--node", node, "--quiet"}).exit_code, 0);
  }
  const std::string page = folder_.path() / "odd.html";
  const CommandResult made = qw({"report", out, "--node", odd, "--node", long_name, "--out", page});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string html = read_file(page);
  EXPECT_FALSE(contains(html, "<i>"));
  EXPECT_TRUE(contains(html, "<h3>Node a &quot;b&quot; &lt;i&gt; \xF0\x9F\x98\x80</h3>"));
}

TEST_F(Explain, NodesThatNothingReaches) {
  // With a tiny weight of the labels, the cheapest flow is none.
  const std::string out = train("none", "team", {"--solver", "proximal", "--lambda", "1e-6"});
  const CommandResult shown = qw({"explain", out, "--node", "dan", "--class", "red", "--quiet"});
  EXPECT_TRUE(contains(shown.out, "\nred: transport brings nothing to this node\n"))
      << shown.out << shown.err;
}

TEST_F(Explain, BadRequestsAreOneLine) {
  const std::string out = train("errors", "team", {"--solver", "bregman"});
  expect_refused({"explain", out, "--node", "evee", "--quiet"}, 2,
                 "qw explain: --node 'evee' is no node of edges.csv; did you mean 'eve'?");
  expect_refused({"explain", out, "--node", "zacharias", "--quiet"}, 2,
                 "qw explain: --node 'zacharias' is no node of edges.csv");
  expect_refused({"explain", out, "--node", "dan", "--class", "blu", "--quiet"}, 2,
                 "qw explain: --class 'blu' is unknown; did you mean 'blue'? known: blue, red, all");
  expect_refused({"explain", out, "--quiet"}, 2, "qw: --node is required (see qw explain --help)");
  expect_refused({"explain", out, "--node", "dan", "--run", "7", "--quiet"}, 2,
                 "qw: " + out + " has one run, run 0, so there is no run 7");
  expect_refused({"explain", "/nowhere", "--node", "dan"}, 1,
                 "qw: /nowhere/config.json: cannot read: No such file or directory");
  const std::string karate = folder_.path() / "karate";
  ASSERT_EQ(qw({"train", "--data", "karate", "--solver", "ce", "--epochs", "2", "--out", karate, "--quiet"})
                .exit_code,
            0);
  expect_refused({"explain", karate, "--node", "34"}, 2,
                 "qw explain: --node '34' is no node of karate; its nodes are 0 to 33");
  folder_.write("edges.csv", "from,to\nann,bob\nbob,cyd\ncyd,dan\ndan,eve\neve,fay\nfay,ann\n");
  const CommandResult changed = qw({"explain", out, "--node", "dan"});
  EXPECT_EQ(changed.exit_code, 0);
  EXPECT_TRUE(contains(changed.err, "edges.csv: 1 edge differs from the training's")) << changed.err;
}

TEST(ExplainCommand, HelpShowsTheOptions) {
  EXPECT_TRUE(contains(qw({"--help"}).out, "explain"));
  const std::string help = qw({"explain", "--help"}).out;
  for (const char* option : {"--node", "--run", "--class", "--top", "--json"}) {
    EXPECT_TRUE(contains(help, option)) << option;
  }
}

}  // namespace
}  // namespace qw
