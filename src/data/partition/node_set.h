// A set of numbers 0 .. size - 1 as one bit each, and how many of them are smaller than a number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace qw {

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(int64_t size) : bits_((size + kBits - 1) / kBits, 0) {}

  void add(int64_t number) { bits_[number / kBits] |= uint64_t{1} << (number % kBits); }
  // The same, with room for any number.
  void insert(int64_t number) {
    if (number / kBits >= static_cast<int64_t>(bits_.size()))
      bits_.resize(std::max<size_t>(number / kBits + 1, bits_.size() * 3 / 2), 0);
    add(number);
  }
  bool has(int64_t number) const {
    return number / kBits < static_cast<int64_t>(bits_.size()) &&
           ((bits_[number / kBits] >> (number % kBits)) & 1) != 0;
  }
  int64_t count() const {
    int64_t total = 0;
    for (const uint64_t word : bits_) total += std::popcount(word);
    return total;
  }

  // Ascending.
  template <class Visit>
  void each(const Visit& visit) const {
    for (size_t at = 0; at < bits_.size(); ++at) {
      for (uint64_t left = bits_[at]; left != 0; left &= left - 1)
        visit(static_cast<int64_t>(at) * kBits + std::countr_zero(left));
    }
  }

  void unite(const NodeSet& other) {
    if (other.bits_.size() > bits_.size()) bits_.resize(other.bits_.size(), 0);
    for (size_t at = 0; at < other.bits_.size(); ++at) bits_[at] |= other.bits_[at];
  }

  // Makes rank() ready; numbers that are added later do not count.
  void number() {
    before_.resize(bits_.size());
    int32_t total = 0;
    for (size_t at = 0; at < bits_.size(); ++at) {
      before_[at] = total;
      total += std::popcount(bits_[at]);
    }
  }
  int64_t rank(int64_t number) const {
    const uint64_t below = bits_[number / kBits] & ((uint64_t{1} << (number % kBits)) - 1);
    return before_[number / kBits] + std::popcount(below);
  }

 private:
  static constexpr int64_t kBits = 64;
  std::vector<uint64_t> bits_;
  std::vector<int32_t> before_;  // of each word
};

}  // namespace qw
