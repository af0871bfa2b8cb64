#include "report/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/text.h"

namespace qw {
namespace {

constexpr const char* kFonts = "Helvetica, Arial, 'DejaVu Sans', sans-serif";
constexpr std::string_view kUnknownCharacter = "\xEF\xBF\xBD";

// nlohmann's writer replaces bytes that are no UTF-8.
std::string valid_utf8(std::string_view text) {
  using Json = nlohmann::json;
  return Json::parse(json_text(Json(text))).get<std::string>();
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// Characters that change the direction of all that follows: U+202A to U+202E, U+2066 to U+2069.
bool turns_text_around(std::string_view character) {
  return (character >= "\xE2\x80\xAA" && character <= "\xE2\x80\xAE") ||
         (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

std::string points_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    if (!text.empty()) text += ' ';
    text += coordinate(point.x) + ',' + coordinate(point.y);
  }
  return text;
}

}  // namespace

std::string coordinate(double value) {
  const double rounded = std::round(value * 100) / 100;
  return fmt::format("{:.10g}", rounded == 0 ? 0.0 : rounded);
}

std::string without_turns(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool turns = turns_text_around(text.substr(i, 3));
    plain += turns ? kUnknownCharacter : text.substr(i, 1);
    if (turns) i += 2;
  }
  return plain;
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : without_turns(valid_utf8(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\t':
      case '\n':
      case '\r':
        escaped += ' ';
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          escaped += kUnknownCharacter;
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

double text_width(std::string_view text, double size) {
  double widths = 0;  // of one unit of size
  for (const char c : text) {
    if (!begins_character(c)) continue;
    const bool narrow = std::string_view(".,:;'|!iljftr- ()[]").find(c) != std::string_view::npos;
    widths += narrow ? 0.33 : c == 'm' || c == 'w' || c == 'M' || c == 'W' ? 0.87 : 0.6;
  }
  return widths * size;
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  const double room = width - text_width("…", size);
  size_t end = 0;
  for (size_t next = 0; next <= text.size(); ++next) {
    if (next < text.size() && !begins_character(text[next])) continue;
    if (text_width(text.substr(0, next), size) > room) break;
    end = next;
  }
  return std::string(trim(text.substr(0, end))) + "…";
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    lines.emplace_back();
    for (const std::string& word : split(line, ' ')) {
      const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
      if (lines.back().empty() || text_width(longer, size) <= width) {
        lines.back() = longer;
      } else {
        lines.push_back(word);
      }
    }
  }
  return lines;
}

void Svg::line(Point from, Point to, std::string_view attributes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", coordinate(from.x),
                       coordinate(from.y), coordinate(to.x), coordinate(to.y), attributes);
}

void Svg::rectangle(Point corner, double width, double height, std::string_view attributes) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(corner.x),
                       coordinate(corner.y), coordinate(width), coordinate(height), attributes);
}

void Svg::polyline(const std::vector<Point>& points, std::string_view attributes) {
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", points_text(points), attributes);
}

void Svg::polygon(const std::vector<Point>& points, std::string_view attributes) {
  body_ += fmt::format("<polygon points=\"{}\" {}/>\n", points_text(points), attributes);
}

void Svg::circle(Point center, double radius, std::string_view attributes) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>\n", coordinate(center.x),
                       coordinate(center.y), coordinate(radius), attributes);
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  const std::string x = coordinate(at.x), y = coordinate(at.y);
  body_ += fmt::format(
      "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}{}>{}</text>\n", x, y,
      coordinate(style.size), kAnchors[static_cast<int>(style.anchor)], style.color,
      style.bold ? " font-weight=\"bold\"" : "",
      style.upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", x, y) : "", escape_xml(text));
}

void Svg::begin_group(std::string_view attributes) { body_ += fmt::format("<g {}>\n", attributes); }

void Svg::end_group() { body_ += "</g>\n"; }

void Svg::begin_window(Point corner, double width, double height) {
  const std::string x = coordinate(corner.x), y = coordinate(corner.y), w = coordinate(width),
                    h = coordinate(height);
  body_ += fmt::format(
      "<svg class=\"window\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" "
      "viewBox=\"{0} {1} {2} {3}\" overflow=\"visible\">\n<g class=\"marks\">\n",
      x, y, w, h);
}

void Svg::end_window() { body_ += "</g>\n</svg>\n"; }

std::string Svg::piece(double width, double height, std::string_view attributes) const {
  const std::string w = coordinate(width), h = coordinate(height);
  return fmt::format("<svg {2} width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">{3}</svg>", w, h,
                     attributes, body_);
}

std::string Svg::document(double width, double height, std::string_view title,
                          std::string_view description) const {
  const std::string w = coordinate(width), h = coordinate(height);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" "
      "font-family=\"{2}\">\n<title>{3}</title>\n<desc>{4}</desc>\n"
      "<rect x=\"0\" y=\"0\" width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{5}</svg>\n",
      w, h, kFonts, escape_xml(title), escape_xml(description), body_);
}

}  // namespace qw
