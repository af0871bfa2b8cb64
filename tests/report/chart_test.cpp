#include "qw/report/chart.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "core/file.h"
#include "report/svg.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;

  double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
  std::vector<Point> points() const {
    std::vector<Point> points;
    const std::regex pair("([-0-9.]+),([-0-9.]+)");
    const std::string& text_of = attributes.at("points");
    for (std::sregex_iterator it(text_of.begin(), text_of.end(), pair), end; it != end; ++it) {
      points.push_back({std::stod((*it)[1]), std::stod((*it)[2])});
    }
    return points;
  }
};

// Reads the XML that to_svg may write; a failure of the test for anything that is not well-formed.
std::vector<Element> parse(const std::string& xml) {
  std::vector<Element> elements;
  std::vector<std::string> open;
  std::string rest = xml;
  const std::regex declaration(R"(^<\?xml version="1\.0" encoding="UTF-8"\?>\n)");
  EXPECT_TRUE(std::regex_search(rest, declaration));
  rest = std::regex_replace(rest, declaration, "");
  const std::regex tag(R"re(<(/?)([a-z]+)((?: [a-z0-9:-]+="[^"<>]*")*) ?(/?)>([^<>]*))re", std::regex::icase);
  size_t at = 0;
  for (std::sregex_iterator it(rest.begin(), rest.end(), tag), end; it != end; ++it) {
    const std::smatch& match = *it;
    EXPECT_EQ(static_cast<size_t>(match.position()), at) << rest.substr(at, 80);
    at = match.position() + match.length();
    if (match[1] == "/") {
      EXPECT_EQ(open.empty() ? "nothing is open" : open.back(), match[2]);
      if (!open.empty()) open.pop_back();
      continue;
    }
    Element element{match[2], {}, match[5]};
    const std::string attributes = match[3];
    const std::regex attribute(R"re(([A-Za-z0-9:-]+)="([^"]*)")re");
    for (std::sregex_iterator a(attributes.begin(), attributes.end(), attribute); a != end; ++a) {
      EXPECT_TRUE(element.attributes.emplace((*a)[1], (*a)[2]).second) << "an attribute stands once";
    }
    if (match[4] != "/") open.push_back(match[2]);
    elements.push_back(std::move(element));
  }
  EXPECT_EQ(at, rest.size());
  EXPECT_TRUE(open.empty());
  EXPECT_FALSE(std::regex_search(xml, std::regex("&(?!(amp|lt|gt|quot);)")));
  return elements;
}

std::vector<Element> named(const std::vector<Element>& elements, const std::string& name) {
  std::vector<Element> found;
  std::copy_if(elements.begin(), elements.end(), std::back_inserter(found),
               [&](const Element& element) { return element.name == name; });
  return found;
}

std::vector<std::string> texts(const std::vector<Element>& elements) {
  std::vector<std::string> found;
  for (const Element& element : named(elements, "text")) found.push_back(element.text);
  return found;
}

bool has_text(const std::vector<Element>& elements, const std::string& text) {
  const std::vector<std::string> all = texts(elements);
  return std::find(all.begin(), all.end(), text) != all.end();
}

// Bars are the rectangles that are neither the page nor swatches, which have strokes.
std::vector<Element> bars_of(const std::vector<Element>& elements) {
  std::vector<Element> found;
  for (const Element& element : named(elements, "rect")) {
    if (element.attributes.at("fill") != "#ffffff" && !element.attributes.contains("stroke"))
      found.push_back(element);
  }
  return found;
}

void expect_inside_the_page(const std::string& svg) {
  const std::vector<Element> elements = parse(svg);
  const double width = elements.front().number("width"), height = elements.front().number("height");
  EXPECT_EQ(elements.front().attributes.at("viewBox"), "0 0 " + elements.front().attributes.at("width") +
                                                           " " + elements.front().attributes.at("height"));
  const auto inside = [&](double x, double y) {
    EXPECT_TRUE(x >= 0 && x <= width && y >= 0 && y <= height) << x << ' ' << y;
  };
  for (const Element& element : elements) {
    if (element.name == "line") {
      inside(element.number("x1"), element.number("y1"));
      inside(element.number("x2"), element.number("y2"));
    } else if (element.name == "rect") {
      inside(element.number("x"), element.number("y"));
      inside(element.number("x") + element.number("width"), element.number("y") + element.number("height"));
    } else if (element.name == "circle") {
      inside(element.number("cx") - element.number("r"), element.number("cy") - element.number("r"));
      inside(element.number("cx") + element.number("r"), element.number("cy") + element.number("r"));
    } else if (element.name == "text") {
      inside(element.number("x"), element.number("y"));
    } else if (element.attributes.contains("points")) {
      for (const Point& point : element.points()) inside(point.x, point.y);
    }
  }
  EXPECT_FALSE(std::regex_search(svg, std::regex("[0-9]\\.[0-9]{3,}"))) << "two decimals are enough";
  EXPECT_FALSE(std::regex_search(svg, std::regex("nan|inf|[0-9]e[-+]", std::regex::icase)));
}

Figure lines_figure() {
  Panel panel{.title = "Cora", .x_label = "lambda", .y_label = "accuracy", .log_x = true};
  panel.series = {{"ce", {0.01, 0.1, 1, 10}, {70, 72, 74, 76}, {1, 1, 2, 1}},
                  {"bregman", {0.01, 1}, {71, 75}, {}}};
  return {"Accuracy", "two lines", {panel}, 1};
}

Figure bars_figure(std::vector<double> values, std::vector<double> spread) {
  Panel panel{.title = "time", .kind = PanelKind::kBars};
  for (size_t i = 0; i < values.size(); ++i) panel.categories.push_back("b" + std::to_string(i));
  panel.series = {{"seconds", {}, std::move(values), std::move(spread)}};
  return {"Runtime", "", {panel}, 1};
}

// Everything that could go wrong with data, in six panels.
Figure odd_figure() {
  const Series nothing{"nothing", {1, 2}, {NAN, INFINITY}, {}}, empty{"empty", {}, {}, {}};
  const Series one{"one", {1}, {2}, {0.5}}, equal{"equal", {1, 2, 3}, {0.7, 0.7, 0.7}, {}};
  const Series gap{"gap", {1, 2, 3, 4, 5}, {1, 2, NAN, 4, 5}, {1, 1, 1, NAN, 9}};
  const Series wide{"wide", {1e-7, 1, 1e9, -1}, {1e-3, 1e6, 1e12, 0}, {1, 1, 1e13, 1}};
  Figure figure{"Odd <things> & \"more\" \x01 \xff", "a < b", {}, 3};
  figure.panels.push_back({.title = "nothing", .x_label = "x", .y_label = "y", .series = {nothing, empty}});
  figure.panels.push_back({.title = "one", .x_label = "x", .y_label = "y", .series = {one, equal, gap}});
  figure.panels.push_back({.title = std::string(200, 'm'), .log_x = true, .log_y = true, .series = {wide}});
  figure.panels.push_back(
      {.title = "bars",
       .kind = PanelKind::kBars,
       .categories = {"a", std::string(99, 'x'), "many words in one place", ""},
       .series = {{"b", {}, {-2, 3, NAN, 1e6}, {1, 1, 1, 1}}, {"c", {}, {1, 2, 3, -4}, {}}}});
  figure.panels.push_back({.title = "log bars",
                           .kind = PanelKind::kBars,
                           .log_y = true,
                           .categories = {"a", "b", "c"},
                           .series = {{"b", {}, {1, 0, 1e5}, {2, 1, 1}}}});
  figure.panels.push_back(
      {.title = "bins",
       .kind = PanelKind::kHistogram,
       .log_y = true,
       .series = {{"bins", {-1, 0, 1, 2}, {1, 0, 1e-3}, {}}, {"gaps", {0, 1, 2}, {NAN, 1}, {}}, empty}});
  return figure;
}

TEST(Chart, IsWellFormedAndInsideThePage) {
  expect_inside_the_page(to_svg(lines_figure()));
  expect_inside_the_page(to_svg(bars_figure({3, 4}, {0.1, 0.2})));
  expect_inside_the_page(to_svg(odd_figure()));
  Figure many = lines_figure();
  for (int i = 0; i < 30; ++i)
    many.panels[0].series.push_back({"series number " + std::to_string(i), {1}, {80}, {}});
  expect_inside_the_page(to_svg(many));
}

TEST(Chart, SameFigureSameBytes) { EXPECT_EQ(to_svg(odd_figure()), to_svg(odd_figure())); }

TEST(Chart, TextIsEscapedAndReadAloud) {
  const std::vector<Element> elements = parse(to_svg(odd_figure()));
  EXPECT_EQ(elements.front().attributes.at("role"), "img");
  EXPECT_EQ(named(elements, "title").front().text,
            "Odd &lt;things&gt; &amp; &quot;more&quot; \xEF\xBF\xBD \xEF\xBF\xBD");
  EXPECT_EQ(named(elements, "desc").front().text, "a &lt; b");
  const Element page = named(elements, "rect").front();
  EXPECT_EQ(page.attributes.at("fill"), "#ffffff");
  EXPECT_EQ(page.attributes.at("width"), elements.front().attributes.at("width"));
}

TEST(Chart, LinesLieWhereTheirLogarithmsSay) {
  const std::vector<Element> elements = parse(to_svg(lines_figure()));
  const std::vector<Element> lines = named(elements, "polyline");
  ASSERT_EQ(lines.size(), 2U);
  const std::vector<Point> ce = lines[0].points(), bregman = lines[1].points();
  ASSERT_EQ(ce.size(), 4U);
  for (size_t i = 2; i < ce.size(); ++i) {
    EXPECT_NEAR(ce[i].x - ce[i - 1].x, ce[1].x - ce[0].x, 0.02) << "decades are equally far";
    EXPECT_NEAR(ce[i].y - ce[i - 1].y, ce[1].y - ce[0].y, 0.02) << "and so are 70, 72, 74, 76";
  }
  EXPECT_LT(ce[1].y, ce[0].y) << "up is more";
  EXPECT_NEAR(bregman[0].x, ce[0].x, 0.01);
  EXPECT_NEAR(bregman[1].x, ce[2].x, 0.01);
  EXPECT_NEAR(bregman[0].y, (ce[0].y + ce[1].y) / 2, 0.02) << "71 is between 70 and 72";
}

TEST(Chart, BandsAndWhiskersHaveTheirHalfWidths) {
  Figure figure = lines_figure();
  figure.panels[0].series.pop_back();
  const auto line = named(parse(to_svg(figure)), "polyline").front().points();
  const double unit = (line[0].y - line[1].y) / 2;  // of one point of accuracy
  const auto band = named(parse(to_svg(figure)), "polygon").front().points();
  ASSERT_EQ(band.size(), 8U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(line[i].y - band[i].y, figure.panels[0].series[0].spread[i] * unit, 0.03);
    EXPECT_NEAR(band[7 - i].y - line[i].y, figure.panels[0].series[0].spread[i] * unit, 0.03);
  }
  figure.panels[0].spread_style = SpreadStyle::kWhiskers;
  const std::vector<Element> elements = parse(to_svg(figure));
  EXPECT_TRUE(named(elements, "polygon").empty());
  int whiskers = 0;
  for (const Element& each : named(elements, "line")) {
    if (each.attributes.at("stroke") != "#0072b2" || each.number("x1") != each.number("x2")) continue;
    const double spread = figure.panels[0].series[0].spread[whiskers++];
    EXPECT_NEAR(each.number("y1") - each.number("y2"), 2 * spread * unit, 0.03);
  }
  EXPECT_EQ(whiskers, 4);
}

TEST(Chart, GapsBreakLines) {
  Figure figure = lines_figure();
  figure.panels[0].log_x = false;
  figure.panels[0].series = {{"gap", {1, 2, 3, 4, 5, 6}, {1, 2, NAN, 4, INFINITY, 6}, {}}};
  const std::vector<Element> elements = parse(to_svg(figure));
  ASSERT_EQ(named(elements, "polyline").size(), 1U) << "lone points have no line";
  EXPECT_EQ(named(elements, "polyline")[0].points().size(), 2U);
  EXPECT_EQ(named(elements, "circle").size(), 4U) << "but markers";
}

TEST(Chart, BarsAreAsHighAsTheirValues) {
  const std::vector<Element> elements = parse(to_svg(bars_figure({1, 2, 4}, {0.5, 0, 1})));
  const std::vector<Element> bars = bars_of(elements);
  ASSERT_EQ(bars.size(), 3U);
  const double unit = bars[0].number("height");
  EXPECT_NEAR(bars[1].number("height"), 2 * unit, 0.02);
  EXPECT_NEAR(bars[2].number("height"), 4 * unit, 0.03);
  EXPECT_NEAR(bars[0].number("y") + unit, bars[2].number("y") + bars[2].number("height"), 0.02) << "one base";
  for (const char* text : {"b0", "b1", "b2", "1", "2", "4"}) EXPECT_TRUE(has_text(elements, text)) << text;
  std::vector<double> whiskers;
  for (const Element& each : named(elements, "line")) {
    if (each.attributes.at("stroke") == "#222222" && each.number("x1") == each.number("x2"))
      whiskers.push_back(each.number("y1") - each.number("y2"));
  }
  ASSERT_EQ(whiskers.size(), 2U);
  EXPECT_NEAR(whiskers[0], unit, 0.02);
  EXPECT_NEAR(whiskers[1], 2 * unit, 0.03);
}

TEST(Chart, BarsBelowZeroHangFromIt) {
  const std::vector<Element> bars = bars_of(parse(to_svg(bars_figure({2, -1}, {}))));
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(bars[1].number("y"), bars[0].number("y") + bars[0].number("height"), 0.02);
  EXPECT_NEAR(bars[0].number("height"), 2 * bars[1].number("height"), 0.03);
}

TEST(Chart, SeriesShareACategoryWhereBothHaveAValue) {
  Figure figure = bars_figure({1, NAN, 3}, {});
  figure.panels[0].series.push_back({"other", {}, {NAN, 2, 3}, {}});
  const std::vector<Element> bars = bars_of(parse(to_svg(figure)));
  ASSERT_EQ(bars.size(), 4U);
  for (const Element& bar : bars) EXPECT_EQ(bar.number("width"), bars[0].number("width"));
  EXPECT_EQ(bars[0].attributes.at("fill"), bars[2].attributes.at("fill"));
  EXPECT_NE(bars[0].attributes.at("fill"), bars[1].attributes.at("fill"));
  EXPECT_GE(bars[3].number("x"), bars[2].number("x") + bars[2].number("width")) << "side by side";
}

double area(const std::vector<Point>& outline) {
  double twice = 0;
  for (size_t i = 0; i < outline.size(); ++i) {
    const Point &a = outline[i], &b = outline[(i + 1) % outline.size()];
    twice += a.x * b.y - b.x * a.y;
  }
  return std::fabs(twice) / 2;
}

TEST(Chart, HistogramsOfDensityOneHaveTheSameArea) {
  Panel panel{.title = "flow", .kind = PanelKind::kHistogram};
  panel.series = {{"narrow", {-1, 0, 1}, {0.75, 0.25}, {}}, {"wide", {-4, -1, 2, 4}, {0.1, 0.2, 0.05}, {}}};
  const std::vector<Element> shapes = named(parse(to_svg({"", "", {panel}, 1})), "polygon");
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0].points().size(), 6U) << "two steps and two feet";
  EXPECT_NEAR(area(shapes[0].points()) / area(shapes[1].points()), 1, 1e-3);
}

TEST(Chart, OneLegendForAllPanels) {
  Figure figure = lines_figure();
  figure.panels.push_back(figure.panels[0]);
  figure.panels[1].series[0].name = "third";
  figure.panels[1].series.push_back({"unseen", {1}, {NAN}, {}});
  std::vector<std::string> all = texts(parse(to_svg(figure)));
  for (const char* name : {"ce", "bregman", "third"})
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
  EXPECT_EQ(std::count(all.begin(), all.end(), "unseen"), 0);
  figure = lines_figure();
  figure.panels[0].series.pop_back();
  EXPECT_FALSE(has_text(parse(to_svg(figure)), "ce")) << "one name needs no legend";
}

TEST(Chart, EmptyPanelsSaySo) {
  const std::vector<Element> elements = parse(to_svg(odd_figure()));
  const std::vector<std::string> all = texts(elements);
  EXPECT_EQ(std::count(all.begin(), all.end(), "no data"), 1);
}

TEST(Chart, LongTextIsCut) {
  const std::vector<std::string> all = texts(parse(to_svg(odd_figure())));
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [](const std::string& text) { return text.size() > 90; }));
  EXPECT_EQ(fit_text("short", 10, 100), "short");
  EXPECT_EQ(fit_text("aaaaaaaaaa", 10, 30), "aaaa…");
  EXPECT_EQ(fit_text("ööööö", 10, 18), "öö…") << "by characters, not by bytes";
  EXPECT_EQ(wrap_text("algorithm 2\nwith J = 5", 10, 70),
            (std::vector<std::string>{"algorithm 2", "with J = 5"}));
  EXPECT_EQ(wrap_text("aaa bbb ccc", 10, 43), (std::vector<std::string>{"aaa bbb", "ccc"}));
  EXPECT_TRUE(wrap_text("", 10, 43).empty());
}

TEST(Chart, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of([] { to_svg({"f", "", {}, 1}); }), "chart 'f': has no panels");
  Figure figure = lines_figure();
  figure.columns = 0;
  EXPECT_EQ(error_of([&] { to_svg(figure); }), "chart 'Accuracy': 0 columns, at least 1 is needed");
  figure = lines_figure();
  figure.panels[0].series[0].x.pop_back();
  EXPECT_EQ(error_of([&] { to_svg(figure); }), "chart 'Cora', series 'ce': 3 x for 4 y, expected 4");
  figure = lines_figure();
  figure.panels[0].series[0].spread.pop_back();
  EXPECT_EQ(error_of([&] { to_svg(figure); }), "chart 'Cora', series 'ce': 3 spreads for 4 y, expected 4");
  figure = lines_figure();
  figure.panels[0].series[0].spread_above = {1};
  EXPECT_EQ(error_of([&] { to_svg(figure); }),
            "chart 'Cora', series 'ce': 1 spreads above for 4 y, expected 4");
  figure = bars_figure({1, 2}, {});
  figure.panels[0].categories.pop_back();
  EXPECT_EQ(error_of([&] { to_svg(figure); }),
            "chart 'time', series 'seconds': 1 categories for 2 y, expected 2");
  figure.panels[0].kind = PanelKind::kHistogram;
  figure.panels[0].series[0].x = {1, 2};
  EXPECT_EQ(error_of([&] { to_svg(figure); }),
            "chart 'time', series 'seconds': 2 edges of bins for 2 y, expected 3");
  figure.panels[0].series[0].x = {1, 2, 2};
  EXPECT_EQ(error_of([&] { to_svg(figure); }),
            "chart 'time', series 'seconds': the edges of bins do not rise");
}

bool has_converter() { return std::system("command -v rsvg-convert > /dev/null") == 0; }

TEST(Png, IsTwiceAsLarge) {
  if (!has_converter()) GTEST_SKIP() << "rsvg-convert is not installed";
  const test::TemporaryFolder folder;
  const std::string svg = to_svg(lines_figure());
  write_png(folder.write("-o.svg", svg), folder.path() / "chart.png");
  const std::string png = read_file(folder.path() / "chart.png");
  ASSERT_GT(png.size(), 24U);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  const auto big_endian = [&](size_t at) {
    return std::accumulate(png.begin() + at, png.begin() + at + 4, 0.0, [](double sum, char byte) {
      return 256 * sum + static_cast<unsigned char>(byte);
    });
  };
  const Element page = parse(svg).front();
  EXPECT_NEAR(big_endian(16), 2 * page.number("width"), 1);
  EXPECT_NEAR(big_endian(20), 2 * page.number("height"), 1);
}

// A confusion matrix: the darkest cell is the largest value, and rows stand in the order of the series.
TEST(Chart, MatrixCellsAreAsDarkAsTheirValues) {
  Panel panel{.kind = PanelKind::kMatrix, .categories = {"a", "b"}};
  panel.series = {{.name = "a", .y = {8, 2}}, {.name = "b", .y = {0, NAN}}};
  const std::string svg = to_svg({"Confusion", "", {panel}, 1});
  expect_inside_the_page(svg);
  const std::vector<Element> cells = bars_of(parse(svg));
  ASSERT_EQ(cells.size(), 3u);  // nothing is drawn where there is no number
  EXPECT_NEAR(cells[0].number("fill-opacity"), 0.7, 1e-9);
  EXPECT_NEAR(cells[1].number("fill-opacity"), 0.06 + 0.64 / 4, 0.006);
  EXPECT_NEAR(cells[2].number("fill-opacity"), 0.06, 1e-9);
  EXPECT_LT(cells[0].number("x"), cells[1].number("x"));
  EXPECT_LT(cells[0].number("y"), cells[2].number("y"));
  EXPECT_TRUE(has_text(parse(svg), "8"));
}

// Row i of the names has the interval [y - spread, y + spread] on the axis below.
TEST(Chart, IntervalsLieOnTheAxisBelow) {
  Panel panel{.x_label = "points", .kind = PanelKind::kIntervals, .categories = {"graph", "features"}};
  panel.series = {{.name = "difference", .y = {4, -2}, .spread = {2, 2}}};
  const std::string svg = to_svg({"Verdicts", "", {panel}, 1});
  expect_inside_the_page(svg);
  std::vector<Element> intervals;
  for (const Element& line : named(parse(svg), "line")) {
    if (line.attributes.at("stroke") == "#0072b2") intervals.push_back(line);
  }
  ASSERT_EQ(intervals.size(), 2u);
  const auto middle = [](const Element& line) { return (line.number("x1") + line.number("x2")) / 2; };
  const double unit = (middle(intervals[0]) - middle(intervals[1])) / 6;  // 4 and -2
  for (const Element& line : intervals) EXPECT_NEAR(line.number("x2") - line.number("x1"), 4 * unit, 0.05);
  EXPECT_LT(intervals[0].number("y1"), intervals[1].number("y1"));
  EXPECT_TRUE(has_text(parse(svg), "graph"));
}

// As an interval of a share near 1 is, which ends at 1.
TEST(Chart, IntervalsMayBeWiderOnOneSide) {
  Panel panel{.kind = PanelKind::kIntervals, .categories = {"a", "b"}};
  panel.series = {{.name = "share", .y = {0.5, 0.9}, .spread = {0.25, 0.2}, .spread_above = {0.25, 0.1}}};
  std::vector<Element> intervals;
  for (const Element& line : named(parse(to_svg({"Shares", "", {panel}, 1})), "line")) {
    if (line.attributes.at("stroke") == "#0072b2") intervals.push_back(line);
  }
  ASSERT_EQ(intervals.size(), 2u);
  const double unit = (intervals[0].number("x2") - intervals[0].number("x1")) / 0.5;
  EXPECT_NEAR(intervals[1].number("x2") - intervals[1].number("x1"), 0.3 * unit, 0.05);
  EXPECT_NEAR(intervals[1].number("x2") - intervals[0].number("x2"), 0.25 * unit, 0.05);  // 1 and 0.75
  EXPECT_TRUE(has_text(parse(to_svg({"Shares", "", {panel}, 1})), "1.0")) << "and no more";
  EXPECT_FALSE(has_text(parse(to_svg({"Shares", "", {panel}, 1})), "1.2"));
}

TEST(Chart, PointsAreNotJoined) {
  Panel panel{.kind = PanelKind::kPoints, .diagonal = true};
  panel.series = {{.name = "few", .x = {0, 1, 2}, .y = {0, 1, 2}}};
  const std::vector<Element> few = parse(to_svg({"Points", "", {panel}, 1}));
  ASSERT_EQ(named(few, "circle").size(), 3u);
  EXPECT_TRUE(named(few, "polyline").empty());
  // They lie on the diagonal.
  Element diagonal;
  for (const Element& line : named(few, "line")) {
    if (line.attributes.contains("stroke-dasharray")) diagonal = line;
  }
  const Element point = named(few, "circle")[1];
  EXPECT_NEAR(point.number("cx"), (diagonal.number("x1") + diagonal.number("x2")) / 2, 0.02);
  EXPECT_NEAR(point.number("cy"), (diagonal.number("y1") + diagonal.number("y2")) / 2, 0.02);
  panel.series[0].x.assign(500, 1);
  panel.series[0].y.assign(500, 1);
  EXPECT_EQ(named(parse(to_svg({"Points", "", {panel}, 1})), "circle").size(), 500u);
}

TEST(Chart, ThinLinesLieBelowTheirMean) {
  Figure figure;
  figure.panels = {{.series = {{"all", {0, 1, 2}, {3, 4, 5}, {}},
                               {"all", {0, 1, 2}, {2, 4, 6}, {}, true},
                               {"all", {0, 1, 2}, {4, 4, 4}, {}, true}}}};
  const std::vector<Element> lines = named(parse(to_svg(figure)), "polyline");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_LT(lines[0].number("stroke-width"), 1);
  EXPECT_LT(lines[1].number("stroke-width"), 1);
  EXPECT_GT(lines[2].number("stroke-width"), 1) << "the mean comes last, above the others";
  EXPECT_EQ(lines[0].attributes.at("stroke"), lines[2].attributes.at("stroke"));
  EXPECT_EQ(named(parse(to_svg(figure)), "circle").size(), 3u) << "markers are the mean's alone";
}

// An axis for each series, a line for each entry; the first is drawn last, on top of the others.
TEST(Chart, ParallelAxesHaveALineForEachEntry) {
  Panel panel{.kind = PanelKind::kParallel};
  panel.series = {{.name = "lr", .y = {0.01, 1, 0.1}},
                  {.name = "solver", .y = {0, 1, 0}, .names = {"ce", "bregman"}},
                  {.name = "score", .y = {3, 1, NAN}}};
  const std::string svg = to_svg({"Choices", "", {panel}, 1});
  expect_inside_the_page(svg);
  const std::vector<Element> elements = parse(svg);
  const std::vector<Element> lines = named(elements, "polyline");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].points().size(), 2u);  // it has no score
  ASSERT_EQ(lines[2].points().size(), 3u);
  EXPECT_EQ(lines[2].attributes.at("stroke"), "#d55e00");
  // lr spans two decades and so is logarithmic: 0.1 lies half way.
  EXPECT_NEAR(lines[0].points()[0].y, (lines[1].points()[0].y + lines[2].points()[0].y) / 2, 0.02);
  EXPECT_GT(lines[2].points()[1].y, lines[1].points()[1].y);  // "ce" is the lower one
  for (const char* text : {"lr", "solver", "score", "ce", "bregman", "0.01"})
    EXPECT_TRUE(has_text(elements, text)) << text;
  const auto refusal = [&] { return error_of([&] { to_svg({"", "", {panel}, 1}); }); };
  panel.series[1].y[0] = 2;
  EXPECT_EQ(refusal(), "chart '', series 'solver': a value has none of the 2 names");
  panel.series[1].y = {0};
  EXPECT_EQ(refusal(), "chart '', series 'solver': 3 values of the first axis for 1 y, expected 1");
}

// Numbers too wide to stand beside each other get fewer ticks.
TEST(Chart, TicksHaveRoomForTheirLabels) {
  Panel panel{.kind = PanelKind::kPoints};
  panel.series = {{.name = "a", .x = {0, 987654321}, .y = {0, 1}}};
  const std::vector<Element> all = named(parse(to_svg({"", "", {panel}, 2})), "text");
  double last = -1e9;
  for (const Element& text : all) {
    if (text.attributes.at("text-anchor") != "middle" || text.text.empty()) continue;
    EXPECT_GT(text.number("x") - last, 60) << text.text;
    last = text.number("x");
  }
}

}  // namespace
}  // namespace qw
