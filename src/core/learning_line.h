// How learning goes, on one line of a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qw {

// One of the eight blocks from low to high for each value. More values than `width` are taken together, as
// many to a block as to any other, by their mean; fewer give a shorter line. A blank stands where no value is
// finite.
std::string sparkline(std::span<const double> values, int width);

struct LearningLine {
  std::string title;  // "run 3 of 10"; may be empty
  int64_t epoch = 0;  // from 1
  int64_t epochs = 0;
  std::string measure;             // "accuracy"
  std::span<const double> values;  // after each epoch so far
  double best = 0;                 // of them
  double loss = 0;                 // of the last step
  std::string rest;                // "up to 12 s", "done"
};

// "run 3 of 10  ▁▃▅▆▇▇▇█  epoch 8/200  accuracy 0.8123  up to 12 s  best 0.8140  loss 0.4321", of at most
// `width` columns: what stands last is left out first, then the sparkline, and then the end is cut off.
std::string learning_line(const LearningLine& line, int width, bool unicode);

}  // namespace qw
