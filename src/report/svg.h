// Writing SVG: elements one after the other, coordinates with at most two decimals, text escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qw {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

// Size and weight of a text, and how it stands.
struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  bool upwards = false;  // turned by 90 degrees, reading upwards
  const char* color = "#222222";
};

class Svg {
 public:
  // `attributes` are more of them as written: "stroke=\"#000000\"".
  void line(Point from, Point to, std::string_view attributes);
  void rectangle(Point corner, double width, double height, std::string_view attributes);
  void polyline(const std::vector<Point>& points, std::string_view attributes);
  void polygon(const std::vector<Point>& points, std::string_view attributes);
  void circle(Point center, double radius, std::string_view attributes);
  void text(Point at, std::string_view text, const TextStyle& style);
  // What follows, until end_group(), belongs together.
  void begin_group(std::string_view attributes);
  void end_group();
  // What follows, until end_window(), is in <g class="marks"> inside an <svg class="window"> of this place,
  // so that a page can move it and cut off what leaves the window.
  void begin_window(Point corner, double width, double height);
  void end_window();

  // The document, with a title and a description that programs read aloud.
  std::string document(double width, double height, std::string_view title,
                       std::string_view description) const;
  // All of it as one element: <svg ATTRIBUTES ...>.
  std::string piece(double width, double height, std::string_view attributes) const;

 private:
  std::string body_;
};

std::string coordinate(double value);           // 12.3456 -> "12.35", 3.0 -> "3", -0.001 -> "0"
std::string escape_xml(std::string_view text);  // what XML cannot hold, or turns text around: U+FFFD

// UTF-8 with U+FFFD for characters that change the direction of all that follows.
std::string without_turns(std::string_view text);

// About as wide as a sans-serif font draws it.
double text_width(std::string_view text, double size);
// `text`, or as much of its beginning as fits, with an ellipsis.
std::string fit_text(std::string_view text, double size, double width);
// The lines of `text`, cut between words so that each fits if its words do.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

}  // namespace qw
