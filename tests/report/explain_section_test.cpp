// Drawings of neighbourhoods and the part of a report that explains nodes.
#include <gmock/gmock.h>

#include <regex>

#include "qw/core/error.h"
#include "report/sections.h"
#include "support/support.h"

namespace qw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNasty =
    "<script>alert(1)</script> \"quoted\" & 'more' \xF0\x9F\x98\x80 \xD7\xA9\xD7\x9C";

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

DrawnNode node_at(const std::string& id, const std::string& part, int64_t place, double x, double y) {
  DrawnNode node{{0, id, part, part == "train", {}}, {{place == 0 ? "red" : "blue"}, {}}, place, x, y};
  if (node.is.trains) node.is.label.names = {place == 0 ? "red" : "blue"};
  return node;
}

Neighbourhood star() {
  Neighbourhood around;
  around.nodes = {node_at("middle", "test", 0, 0, 0), node_at("a", "train", 0, 10, 0),
                  node_at("b", "val", 1, 0, 10), node_at("c", "", 1, -10, -10)};
  around.edges = {{0, 1, 1, 0}, {1, 2, 1, 0}, {2, 0, 1, 0.5}, {3, 0, 1, 0.25}};
  around.has_positions = true;
  return around;
}

TEST(NeighbourhoodDrawing, NodesEdgesArrowsAndWhatTheyMean) {
  const NeighbourhoodDrawing drawing = draw_neighbourhood(star(), "class red");
  EXPECT_EQ(drawing.title, "Around node middle");
  EXPECT_THAT(drawing.description, HasSubstr("4 nodes and 4 edges around node middle."));
  EXPECT_THAT(drawing.description,
              HasSubstr("Thick arrows, 2 of them, are what transport moves for class red"));
  EXPECT_THAT(drawing.svg, HasSubstr("<title>Around node middle</title>"));
  EXPECT_EQ(count(drawing.svg, "<line "), 4u);
  EXPECT_EQ(count(drawing.svg, "stroke=\"#222222\" stroke-width=\"5\""), 1u)
      << "the largest flow is thickest";
  for (const char* name : {"trained", "validation", "test", "other", "red", "blue"})
    EXPECT_THAT(drawing.svg, HasSubstr(std::string(">") + name + "<"));
  ASSERT_EQ(drawing.marks.size(), 4u);
  EXPECT_EQ(drawing.marks[1].at("text"), "a\npredicted red\ntrained as red");
}

TEST(NeighbourhoodDrawing, EverythingIsInside) {
  for (const double stretch : {1.0, 1e-9, 1e6}) {
    Neighbourhood around = star();
    for (DrawnNode& node : around.nodes) node.x *= stretch;
    const NeighbourhoodDrawing drawing = draw_neighbourhood(around, "red");
    for (const auto& mark : drawing.marks) {
      EXPECT_GE(mark.at("x").get<double>(), 0);
      EXPECT_LE(mark.at("x").get<double>(), 600);
      EXPECT_GE(mark.at("y").get<double>(), 0);
      EXPECT_LE(mark.at("y").get<double>(), 540);
    }
  }
  Neighbourhood alone;
  alone.nodes = {node_at("alone", "test", 0, 3, 3)};
  alone.has_positions = true;
  EXPECT_EQ(draw_neighbourhood(alone, "red").marks.size(), 1u);
}

TEST(NeighbourhoodDrawing, DirectionsWeightsAndWhatIsLeftOut) {
  Neighbourhood around = star();
  around.edges = {{0, 1, 2.5, 0}, {1, 0, 0.5, 0}};
  around.directed = around.has_weights = true;
  around.neighbours_left_out = 7;
  const NeighbourhoodDrawing drawing = draw_neighbourhood(around, "red");
  EXPECT_THAT(drawing.svg, HasSubstr(">2.5</text>"));
  around.edges.resize(1);
  around.neighbours_left_out = 1;
  EXPECT_THAT(
      draw_neighbourhood(around, "class red").description,
      AllOf(HasSubstr("4 nodes and 1 edge around"), HasSubstr("1 more neighbour of the node is not drawn")));
  EXPECT_THAT(drawing.description, HasSubstr("Edges have directions."));
  EXPECT_THAT(drawing.description, HasSubstr("7 more neighbours of the node are not drawn."));
  EXPECT_EQ(count(drawing.svg, "fill=\"#8a8f96\""), 2u) << "heads";
}

// Nine classes: colours that repeat would say that two of them are one.
TEST(NeighbourhoodDrawing, NoColourMeansTwoClasses) {
  Neighbourhood around;
  for (int i = 0; i < 9; ++i) {
    around.nodes.push_back(node_at(fmt::format("n{}", i), "train", i, i % 3, i));
    around.nodes.back().is.label.names = around.nodes.back().predicted.names = {fmt::format("class{}", i)};
  }
  around.nodes.push_back(around.nodes.back());
  around.has_positions = true;
  const std::string svg = draw_neighbourhood(around, "class class0").svg;
  std::map<std::string, int> colors;
  const std::regex entry("<circle [^>]*fill=\"(#[0-9a-f]+)\"/>\n<text");
  for (std::sregex_iterator it(svg.begin(), svg.end(), entry), end; it != end; ++it) ++colors[(*it)[1]];
  EXPECT_EQ(colors.size(), 8u) << "seven colours, and the grey of the others";
  for (const auto& [color, entries] : colors) EXPECT_EQ(entries, 1) << color;
  EXPECT_THAT(svg, HasSubstr(">class8<")) << "most nodes are of it";
  EXPECT_THAT(svg, HasSubstr(">other classes<"));
}

NodeExplanation nasty_explanation() {
  NodeExplanation explanation;
  explanation.node = {0, kNasty, "test", false, {}};
  explanation.task = Task::kClassification;
  explanation.predicted.names = {kNasty};
  explanation.scores = {{kNasty, 1, 0.5, 1.5, 0.75}, {std::string(300, 'x'), 0, 0, 0, 0.25}};
  ColumnExplanation column;
  column.name = kNasty;
  column.paths = {{0.5, {kNasty, "b"}, {1, "b", "train", true, {{kNasty}, {}}}}};
  column.neighbours = {{{1, kNasty, "", false, {}}, {-0.25, -0.125}}};
  column.features = {{kNasty, 0.5, 0.25, {-0.75, -0.0625}}};
  column.labels = {{{1, "b", "train", true, {{"red"}, {}}}, {0.03125, 0.015625}}};
  column.more_features.unknown = 1234;
  explanation.columns = {column};
  explanation.has_flow = explanation.has_network = explanation.spreads_labels = explanation.sees_edges = true;
  explanation.neighbours = 1;
  explanation.around = star();
  explanation.around.nodes[0].is.id = explanation.around.nodes[1].is.id = kNasty;
  explanation.around.nodes[2].is.id = std::string(300, 'x');
  return explanation;
}

ReportOptions explaining(const NodeExplanation& explanation) {
  ReportOptions options;
  options.nodes = {explanation.node.id};
  options.explain = [explanation](const std::vector<std::string>&) { return std::vector{explanation}; };
  return options;
}

TEST(ExplainSection, NamesFromTheDataAreText) {
  Page page("T");
  RunRecord record;
  add_explanations(page, record, explaining(nasty_explanation()));
  const std::string html = page.html();
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(count(html, "</script>"), 2u);
  EXPECT_GT(count(html, "&lt;script&gt;alert(1)&lt;/script&gt;"), 8u);
}

TEST(ExplainSection, TablesHaveTheNumbers) {
  Page page("T");
  RunRecord record;
  record.predicted.ids = {kNasty};
  record.predicted.labels = {"green"};
  add_explanations(page, record, explaining(nasty_explanation()));
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr("probability 0.750. It is a test node, and its label is green."));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">−0.25</td><td class=\"number\">−0.125</td>"));
  EXPECT_THAT(
      html,
      HasSubstr("<td class=\"number\">0.5</td><td class=\"number\">0.25</td><td class=\"number\">−0.75"));
  EXPECT_THAT(html, HasSubstr("1,234 neighbours, features or labels were not left out"));
  EXPECT_THAT(html, HasSubstr("<figure class=\"chart drawing\">"));
  EXPECT_THAT(html, Not(HasSubstr("Graphviz")));
}

TEST(ExplainSection, WithoutPositionsItSaysWhatIsMissing) {
  Page page("T");
  NodeExplanation explanation = nasty_explanation();
  explanation.around.has_positions = false;
  explanation.sees_edges = false;
  add_explanations(page, RunRecord(), explaining(explanation));
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr("Drawings of neighbourhoods need Graphviz"));
  EXPECT_THAT(html, HasSubstr("The network does not look at edges: no neighbour counts."));
  EXPECT_THAT(html, Not(HasSubstr("<figure class=\"chart drawing\">")));
  Page empty("T");
  add_explanations(empty, RunRecord(), {});
  EXPECT_THAT(empty.html(), Not(HasSubstr("Why these labels")));
}

// The ids that a page asks for.
std::vector<std::string> chosen_of(const RunRecord& record) {
  std::vector<std::string> chosen;
  ReportOptions options;
  options.explain = [&](const std::vector<std::string>& ids) {
    chosen = ids;
    return std::vector<NodeExplanation>();
  };
  Page page("T");
  add_explanations(page, record, options);
  return chosen;
}

TEST(ExplainSection, NodesThatAreWrongAndSureAndThoseThatAreUnsure) {
  RunRecord record;
  record.predicted.ids = {"a", "b", "c", "d", "e", "f"};
  record.predicted.predicted = {"x", "x", "x", "x", "x", "x"};
  record.predicted.labels = {"x", "y", "y", "y", "x", "x"};
  record.predicted.confidence = {0.9, 0.5, 0.95, 0.8, 0.4, 0.99};
  EXPECT_EQ(chosen_of(record), (std::vector<std::string>{"c", "d", "e", "b"}));
  RunRecord values;
  values.predicted.ids = {"a", "b", "c"};
  values.predicted.nodes = {0, 1, 2};
  values.predicted.value = {1, 2, 3};
  values.trained_on.targets = value_targets({1, 5, 2.5});
  EXPECT_EQ(chosen_of(values), (std::vector<std::string>{"b", "c"}));
}

TEST(ExplainSection, SaysWhyTheseNodes) {
  ReportOptions options;
  options.explain = [](const std::vector<std::string>&) { return std::vector{nasty_explanation()}; };
  const auto said = [&](const RunRecord& record) {
    Page page("T");
    add_explanations(page, record, options);
    return page.html();
  };
  RunRecord record;
  record.predicted.ids = {"a"};
  record.predicted.predicted = record.predicted.labels = {"x"};
  record.predicted.confidence = {0.9};
  EXPECT_THAT(said(record), HasSubstr("No test node is wrong; these are least sure"));
  record.predicted.labels = {"y"};
  EXPECT_THAT(said(record), HasSubstr("These test nodes are wrong and most sure of it"));
  RunRecord values;
  values.predicted.ids = {"a"};
  values.predicted.nodes = {0};
  values.predicted.value = {1};
  values.trained_on.targets = value_targets({3});
  EXPECT_THAT(said(values), HasSubstr("These test nodes have the largest errors"));
  EXPECT_THAT(said(values), HasSubstr("below 0, it raised the value."));
}

TEST(ExplainSection, WhatGoesWrongIsSaidUnlessNodesWereAskedFor) {
  RunRecord record;
  record.predicted.ids = {"a"};
  record.predicted.predicted = {"x"};
  record.predicted.labels = {"y"};
  record.predicted.confidence = {0.9};
  ReportOptions options;
  options.explain = [](const std::vector<std::string>&) -> std::vector<NodeExplanation> {
    throw Error("it is gone");
  };
  Page page("T");
  add_explanations(page, record, options);
  EXPECT_THAT(page.html(), HasSubstr("No node is explained: it is gone"));
  options.nodes = {"a"};
  EXPECT_THROW(add_explanations(page, record, options), Error);
}

}  // namespace
}  // namespace qw
