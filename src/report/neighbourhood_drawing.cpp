#include "report/neighbourhood_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/marks.h"
#include "report/svg.h"

namespace qw {
namespace {

constexpr double kWidth = 600, kHeight = 480, kMargin = 48;
constexpr double kLegendRow = 22, kLegendName = 230;
constexpr double kRadius = 8, kRing = 15;
constexpr double kNameSize = 12, kNameWidth = 96, kWeightSize = 10;
constexpr double kThinnest = 1, kThickest = 5;
constexpr size_t kMostWeights = 30;  // edges that have their weights written at them
constexpr const char* kInk = "#222222";
constexpr const char* kEdgeColor = "#8a8f96";  // readable on white and on black
// Around names, so that they can be read on edges.
constexpr const char* kHalo =
    "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\"";
constexpr int kNoClass = 5;  // the look of nodes that have none
constexpr const char* kOtherClasses = "#999999";

struct Shape {
  const char* name;
  const char* part;  // of NamedNode
};
constexpr Shape kShapes[] = {{"trained", "train"}, {"validation", "val"}, {"test", "test"}, {"other", ""}};

const Shape& shape_of(const NamedNode& node) {
  for (const Shape& shape : kShapes) {
    if (node.part == shape.part) return shape;
  }
  return kShapes[3];
}

void draw_shape(Svg& svg, const Shape& shape, Point at, double size, const std::string& attributes) {
  const std::string part = shape.part;
  if (part == "train") {
    svg.rectangle({at.x - 0.9 * size, at.y - 0.9 * size}, 1.8 * size, 1.8 * size, attributes);
  } else if (part == "val") {
    svg.polygon({{at.x, at.y - 1.2 * size},
                 {at.x + 1.1 * size, at.y + 0.8 * size},
                 {at.x - 1.1 * size, at.y + 0.8 * size}},
                attributes);
  } else if (part == "test") {
    svg.circle(at, size, attributes);
  } else {
    svg.polygon({{at.x, at.y - 1.2 * size},
                 {at.x + 1.2 * size, at.y},
                 {at.x, at.y + 1.2 * size},
                 {at.x - 1.2 * size, at.y}},
                attributes);
  }
}

// Of as many classes as there are colours each has its own, in every drawing. Of more, those that most nodes
// of a drawing have get one, and the others share a grey.
class ClassColors {
 public:
  explicit ClassColors(const Neighbourhood& around) {
    std::map<int64_t, int> counts;
    for (const DrawnNode& node : around.nodes) {
      if (node.place >= 0) ++counts[node.place];
    }
    std::vector<std::pair<int, int64_t>> order;
    order.reserve(counts.size());
    for (const auto& [place, count] : counts) order.emplace_back(-count, place);
    std::sort(order.begin(), order.end());
    const bool enough = counts.empty() || counts.rbegin()->first < kColorCount;
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t place = order[i].second;
      const auto color = enough ? static_cast<int>(place) : static_cast<int>(i);
      if (color < kColorCount) colors_[place] = look_of(color).color;
    }
  }

  bool has(int64_t place) const { return colors_.contains(place); }
  const char* of(int64_t place) const {
    if (place < 0) return look_of(kNoClass).color;
    return has(place) ? colors_.at(place) : kOtherClasses;
  }

 private:
  std::map<int64_t, const char*> colors_;
};

// The positions of the nodes in the figure: moved and scaled, the same in both directions where that fills
// enough of it.
std::vector<Point> places_of(const Neighbourhood& around) {
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const DrawnNode& node : around.nodes) {
    left = std::min(left, node.x), right = std::max(right, node.x);
    low = std::min(low, node.y), high = std::max(high, node.y);
  }
  const double width = kWidth - 2 * kMargin, height = kHeight - 2 * kMargin;
  const auto scale_of = [](double room, double extent) { return extent > 0 ? room / extent : INFINITY; };
  double across = scale_of(width, right - left), up = scale_of(height, high - low);
  constexpr double kMostStretch = 2;
  const double least = std::min(across, up);
  const double base = std::isfinite(least) ? least : 1;
  across = std::min(across, kMostStretch * base), up = std::min(up, kMostStretch * base);
  std::vector<Point> places;
  for (const DrawnNode& node : around.nodes) {
    places.push_back({kWidth / 2 + across * (node.x - (left + right) / 2),
                      kHeight / 2 - up * (node.y - (low + high) / 2)});
  }
  return places;
}

// From `from` to `to`, cut short at both nodes, with a head at the end if asked for.
void draw_edge(Svg& svg, Point from, Point to, double width, bool head, const char* color) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < 1) return;
  const Point along{(to.x - from.x) / length, (to.y - from.y) / length};
  const auto at = [&](double distance, double aside) {
    return Point{from.x + along.x * distance - along.y * aside,
                 from.y + along.y * distance + along.x * aside};
  };
  const double end = length - (head ? kRing + 1 : kRadius), size = 4 + 0.9 * width;
  svg.line(at(kRadius, 0), at(head ? end - size : end, 0),
           fmt::format("stroke=\"{}\" stroke-width=\"{}\"", color, coordinate(width)));
  if (head) {
    svg.polygon({at(end, 0), at(end - 1.6 * size, 0.7 * size), at(end - 1.6 * size, -0.7 * size)},
                fmt::format("fill=\"{}\"", color));
  }
}

double thickness(double value, double largest) {
  return largest > 0 ? kThinnest + (kThickest - kThinnest) * std::fabs(value) / largest : kThinnest;
}

void draw_edges(Svg& svg, const Neighbourhood& around, const std::vector<Point>& places) {
  double heaviest = 0, most = 0;
  for (const DrawnEdge& edge : around.edges) {
    heaviest = std::max(heaviest, std::fabs(edge.weight));
    most = std::max(most, edge.flow);
  }
  for (const bool flows : {false, true}) {  // arrows lie above plain edges
    for (const DrawnEdge& edge : around.edges) {
      if ((edge.flow > 0) != flows) continue;
      const double width = flows                ? thickness(edge.flow, most)
                           : around.has_weights ? thickness(edge.weight, heaviest)
                                                : 1.5;
      draw_edge(svg, places[edge.from], places[edge.to], width, flows || around.directed,
                flows ? kInk : kEdgeColor);
    }
  }
  if (!around.has_weights || around.edges.size() > kMostWeights) return;
  svg.begin_group(kHalo);
  for (const DrawnEdge& edge : around.edges) {
    const Point a = places[edge.from], b = places[edge.to];
    svg.text({(a.x + b.x) / 2, (a.y + b.y) / 2 - 3}, fmt::format("{:.3g}", edge.weight),
             {.size = kWeightSize, .anchor = Anchor::kMiddle, .color = "#444444"});
  }
  svg.end_group();
}

std::string node_text(const DrawnNode& node) {
  std::string text = node.is.id + "\npredicted " + node.predicted.text();
  if (node.is.trains) text += "\ntrained as " + node.is.label.text();
  return text;
}

void draw_nodes(Svg& svg, const Neighbourhood& around, const std::vector<Point>& places,
                const ClassColors& colors) {
  for (size_t k = 0; k < around.nodes.size(); ++k) {
    const DrawnNode& node = around.nodes[k];
    if (k == 0)
      svg.circle(places[k], kRing, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"", kInk));
    draw_shape(svg, shape_of(node.is), places[k], kRadius,
               fmt::format("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"1\"", colors.of(node.place)));
  }
  svg.begin_group(kHalo);
  for (size_t k = 0; k < around.nodes.size(); ++k) {
    const DrawnNode& node = around.nodes[k];
    const double below = (k == 0 ? kRing : kRadius) + kNameSize + 3;
    const TextStyle style{.size = kNameSize, .anchor = Anchor::kMiddle, .bold = k == 0};
    const double x = std::clamp(places[k].x, kNameWidth / 2, kWidth - kNameWidth / 2);
    svg.text({x, places[k].y + below}, fit_text(node.is.id, kNameSize, kNameWidth), style);
    if (node.place < 0) {
      svg.text({x, places[k].y + below + kNameSize + 2},
               fit_text((node.is.trains ? node.is.label : node.predicted).text(), kNameSize, kNameWidth),
               {.size = kNameSize, .anchor = Anchor::kMiddle, .color = "#444444"});
    }
  }
  svg.end_group();
}

// What colours and shapes of the drawing mean, in as many rows as it takes; returns where it ends.
class Legend {
 public:
  Legend(Svg& svg, double top) : svg_(svg), at_{kMargin / 2, top} {}

  template <class Swatch>
  void add(const std::string& text, const Swatch& swatch) {
    const std::string shown = fit_text(text, kNameSize + 1, kLegendName);
    const double width = 26 + text_width(shown, kNameSize + 1) + 18;
    if (at_.x + width > kWidth) at_ = {kMargin / 2, at_.y + kLegendRow};
    swatch(Point{at_.x + 9, at_.y});
    svg_.text({at_.x + 22, at_.y + 4}, shown, {.size = kNameSize + 1});
    at_.x += width;
  }
  double bottom() const { return at_.y + kLegendRow; }

 private:
  Svg& svg_;
  Point at_;
};

double draw_legend(Svg& svg, const Neighbourhood& around, const ClassColors& colors, double top) {
  Legend legend(svg, top);
  std::map<int64_t, std::string> classes;
  for (const DrawnNode& node : around.nodes) {
    if (node.place >= 0) classes[node.place] = (node.is.trains ? node.is.label : node.predicted).text();
  }
  for (const auto& [place, name] : classes) {
    if (!colors.has(place)) continue;
    legend.add(name, [&, place = place](Point at) {
      svg.circle(at, 6, fmt::format("fill=\"{}\"", colors.of(place)));
    });
  }
  if (std::any_of(classes.begin(), classes.end(),
                  [&](const auto& each) { return !colors.has(each.first); })) {
    legend.add("other classes",
               [&](Point at) { svg.circle(at, 6, fmt::format("fill=\"{}\"", kOtherClasses)); });
  }
  for (const Shape& shape : kShapes) {
    const bool used = std::any_of(around.nodes.begin(), around.nodes.end(),
                                  [&](const DrawnNode& node) { return &shape_of(node.is) == &shape; });
    if (!used) continue;
    legend.add(shape.name, [&](Point at) {
      draw_shape(svg, shape, at, 6, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", kInk));
    });
  }
  return legend.bottom();
}

std::string counted(size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// What a reader who cannot see it needs to know.
std::string description_of(const Neighbourhood& around, const std::string& column) {
  const auto arrows = std::count_if(around.edges.begin(), around.edges.end(),
                                    [](const DrawnEdge& edge) { return edge.flow > 0; });
  std::string text = fmt::format("{} and {} around node {}.", counted(around.nodes.size(), "node"),
                                 counted(around.edges.size(), "edge"), around.nodes.front().is.id);
  text += around.nodes.front().place >= 0
              ? " Colours are the labels of training nodes and the predictions of others."
              : " Below each name: the label of a training node, the prediction of others.";
  if (arrows > 0)
    text += fmt::format(" Thick arrows, {} of them, are what transport moves for {}: the more, the thicker.",
                        arrows, column);
  if (around.directed) text += " Edges have directions.";
  if (around.has_weights)
    text += around.edges.size() > kMostWeights ? " Thick edges have large weights."
                                               : " Numbers are weights of edges.";
  if (around.neighbours_left_out > 0)
    text +=
        fmt::format(" {} of the node {} not drawn.", counted(around.neighbours_left_out, "more neighbour"),
                    around.neighbours_left_out == 1 ? "is" : "are");
  return text;
}

}  // namespace

NeighbourhoodDrawing draw_neighbourhood(const Neighbourhood& around, const std::string& column) {
  NeighbourhoodDrawing drawing;
  drawing.title = "Around node " + around.nodes.front().is.id;
  drawing.description = description_of(around, column);
  Svg svg;
  const std::vector<Point> places = places_of(around);
  draw_edges(svg, around, places);
  const ClassColors colors(around);
  draw_nodes(svg, around, places, colors);
  const double bottom = draw_legend(svg, around, colors, kHeight + 12);
  drawing.svg = svg.document(kWidth, bottom, drawing.title, drawing.description);
  for (const DrawnNode& node : around.nodes) {
    drawing.nodes.push_back(
        {node.is.id, node.is.part, node.is.trains ? node.is.label.text() : "", node.predicted.text()});
  }
  for (const DrawnEdge& edge : around.edges) {
    drawing.edges.push_back({around.nodes[edge.from].is.id, around.nodes[edge.to].is.id,
                             fmt::format("{:.4g}", edge.weight), fmt::format("{:.4g}", edge.flow)});
  }
  drawing.marks = nlohmann::ordered_json::array();
  for (size_t k = 0; k < places.size(); ++k) {
    drawing.marks.push_back({{"x", std::round(places[k].x)},
                             {"y", std::round(places[k].y)},
                             {"text", node_text(around.nodes[k])}});
  }
  return drawing;
}

}  // namespace qw
