#include "core/learning_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace qw {
namespace {

constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr int kShortestSparkline = 8;
constexpr int kLongestSparkline = 40;
constexpr const char* kBetween = "  ";

// The mean of those that are finite; NaN of none.
double mean_of(std::span<const double> values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return sum / count;
}

std::vector<double> taken_together(std::span<const double> values, size_t width) {
  const size_t count = std::min(width, values.size());
  std::vector<double> means;
  for (size_t k = 0; k < count; ++k) {
    const size_t begin = k * values.size() / count, end = (k + 1) * values.size() / count;
    means.push_back(mean_of(values.subspan(begin, end - begin)));
  }
  return means;
}

// Shares with four decimals; errors of large values with five digits.
std::string number(double value) {
  return std::abs(value) < 100 ? fmt::format("{:.4f}", value) : fmt::format("{:.5g}", value);
}

size_t room_of(const std::string& piece) { return piece.size() + std::string_view(kBetween).size(); }

}  // namespace

std::string sparkline(std::span<const double> values, int width) {
  const std::vector<double> means = taken_together(values, static_cast<size_t>(std::max(0, width)));
  std::vector<double> finite;
  std::copy_if(means.begin(), means.end(), std::back_inserter(finite),
               [](double mean) { return std::isfinite(mean); });
  if (finite.empty()) return std::string(means.size(), ' ');
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  const double range = *high - *low;
  std::string line;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      line += ' ';
      continue;
    }
    const double share = range > 0 ? (mean - *low) / range : 0.5;
    line += kBlocks[std::min(kBlocks.size() - 1, static_cast<size_t>(share * kBlocks.size()))];
  }
  return line;
}

std::string learning_line(const LearningLine& line, int width, bool unicode) {
  const size_t room = static_cast<size_t>(std::max(0, width));
  const std::string epoch = fmt::format("epoch {}/{}", line.epoch, line.epochs);
  const double last = line.values.empty() ? std::nan("") : line.values.back();
  std::string end = epoch + kBetween + line.measure + " " + number(last);
  const std::string begin = line.title.empty() ? "" : line.title + kBetween;
  const size_t needed = begin.size() + end.size();
  size_t sparkline_room = 0;
  const size_t gap = std::string_view(kBetween).size();
  if (unicode && needed + kShortestSparkline + gap <= room) sparkline_room = kShortestSparkline + gap;
  for (const std::string& piece : {line.rest, "best " + number(line.best), "loss " + number(line.loss)}) {
    if (piece.empty()) continue;
    if (begin.size() + end.size() + sparkline_room + room_of(piece) > room) break;
    end += kBetween + piece;
  }
  if (sparkline_room == 0) return (begin + end).substr(0, room);
  const size_t left = room - begin.size() - end.size() - gap;
  const int longest = std::min(kLongestSparkline, static_cast<int>(left));
  return begin + sparkline(line.values, longest) + kBetween + end;
}

}  // namespace qw
