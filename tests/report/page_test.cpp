#include "report/page.h"

#include <regex>

#include "support/support.h"

namespace qw {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr const char* kNasty =
    "<script>alert(1)</script> \"quoted\" & 'more' \xF0\x9F\x98\x80 \xD7\xA9\xD7\x9C";

Page nasty_page() {
  Page page(kNasty);
  page.lead(kNasty);
  page.warning(kNasty);
  page.section(kNasty);
  page.paragraph(kNasty);
  page.code(kNasty);
  page.facts({{kNasty, kNasty}});
  page.table({kNasty, {{kNasty, false}, {"n", true}}, {{kNasty, "1"}}});
  Panel panel{.title = kNasty, .x_label = kNasty, .kind = PanelKind::kBars, .categories = {kNasty}};
  panel.series = {{.name = kNasty, .y = {1}}, {.name = "b", .y = {2}}};
  page.chart({kNasty, kNasty, {panel}, 1});
  return page;
}

TEST(Page, NamesFromTheDataAreText) {
  const std::string html = nasty_page().html();
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(count(html, "<script"), 2u);  // the chart's values and the page's own
  EXPECT_EQ(count(html, "</script>"), 2u);
  EXPECT_GT(count(html, "&lt;script&gt;alert(1)&lt;/script&gt;"), 8u);
  EXPECT_GT(count(html, "\xF0\x9F\x98\x80"), 8u);
}

TEST(Page, NeedsNothingElse) {
  const std::string html = nasty_page().html();
  const std::string without_namespace =
      std::regex_replace(html, std::regex("http://www.w3.org/2000/svg"), "");
  EXPECT_EQ(without_namespace.find("http"), without_namespace.find("http-equiv"));
  EXPECT_EQ(count(without_namespace, "http"), 1u);
  EXPECT_EQ(html.find(" src="), std::string::npos);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(Page, AChartHasItsValuesBehindIt) {
  Page page("T");
  page.section("S");
  Panel lines{.x_label = "epoch", .y_label = "loss"};
  lines.series = {{.name = "train", .x = {0, 1}, .y = {0.5, 0.25}, .spread = {0.1, 0.2}},
                  {.name = "val", .x = {0}, .y = {0.75}}};
  Panel uneven{.kind = PanelKind::kIntervals, .categories = {"few"}};
  uneven.series = {{.name = "share", .y = {0.9}, .spread = {0.2}, .spread_above = {0.1}}};
  Panel matrix{
      .x_label = "predicted", .y_label = "true", .kind = PanelKind::kMatrix, .categories = {"a", "b"}};
  matrix.series = {{.name = "a", .y = {3, 1}}, {.name = "b", .y = {0, 5}}};
  page.chart({"Two", "what it shows", {lines, matrix, uneven}, 2});
  const std::string html = page.html();
  EXPECT_NE(html.find("<figcaption><strong>Two</strong> what it shows</figcaption>"), std::string::npos);
  EXPECT_NE(html.find("<tr><td>train</td><td class=\"number\">1</td><td class=\"number\">0.25</td><td "
                      "class=\"number\">0.2</td></tr>"),
            std::string::npos);
  EXPECT_NE(html.find("<tr><td>few</td><td class=\"number\">0.9</td><td class=\"number\">0.2</td><td "
                      "class=\"number\">0.1</td></tr>"),
            std::string::npos);
  EXPECT_NE(html.find("<tr><td>b</td><td class=\"number\">0</td><td class=\"number\">5</td></tr>"),
            std::string::npos);
  EXPECT_NE(html.find("<title>Two</title>"), std::string::npos);  // of the drawing
  const std::smatch found = [&] {
    static std::smatch match;
    std::regex_search(html, match, std::regex("<script type=\"application/json\">(.*)</script>"));
    return match;
  }();
  const auto panels = nlohmann::json::parse(found[1].str());
  EXPECT_EQ(panels.at(0).at("series").at(0).at("y").at(1), 0.25);
  EXPECT_EQ(panels.at(1).at("kind"), "matrix");
}

TEST(Page, CellsCanStandOut) {
  Page page("T");
  page.table({"C", {{"a", false}, {"b", true}}, {{"x", "1"}, {"<y>", "2"}}, {{1, 0}}});
  const std::string html = page.html();
  EXPECT_NE(html.find("<td>x</td>"), std::string::npos);
  EXPECT_NE(html.find("<td><strong>&lt;y&gt;</strong></td>"), std::string::npos);
}

TEST(Page, TheLegendIsMadeOfButtons) {
  const std::string html = nasty_page().html();
  EXPECT_EQ(count(html, "aria-pressed=\"true\""), 2u);
  EXPECT_NE(html.find("<button type=\"button\" data-series=\"1\" aria-pressed=\"true\">"), std::string::npos);
}

// A character that turns the direction of text would do so to all that follows it.
TEST(Page, NothingTurnsTheTextAround) {
  Page page(
      "a\xE2\x80\xAE"
      "b");
  page.paragraph(
      "c\xE2\x81\xA6"
      "d");
  const std::string html = page.html();
  EXPECT_EQ(html.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_NE(html.find("<p>c\xEF\xBF\xBD"
                      "d</p>"),
            std::string::npos);
}

TEST(Page, SectionsAreInTheContents) {
  Page page("T");
  page.section("One");
  page.section("Two");
  const std::string html = page.html();
  EXPECT_NE(html.find("<a href=\"#part-1\">Two</a>"), std::string::npos);
  EXPECT_EQ(count(html, "<section"), count(html, "</section>"));
}

}  // namespace
}  // namespace qw
