// Data out of Python pickles, without Python and without running anything.
//
// A pickle is a program for a small stack machine that may call any function of the installation that loads
// it. This reader carries out the instructions that build data (protocols 0 to 5) and knows a fixed list of
// names: numpy's arrays and types, scipy's csr_matrix, defaultdict, OrderedDict, and the helpers that pickles
// of these call. Every other name is refused.
//
// Memory is bounded by a multiple of the input; values that contain themselves, lie deeper than
// kMaxPickleDepth or unfold, through shared parts, to far more than the input are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/npy.h"

namespace qw {

inline constexpr int kMaxPickleDepth = 64;

// kText is bytes as well as text: Python 2 does not tell them apart. kOther is a class or function itself.
enum class PickleKind { kNone, kBool, kInteger, kFloat, kText, kList, kTuple, kDict, kArray, kCsr, kOther };

// A scipy csr_matrix as it was stored; what its arrays say about each other is not checked.
struct PickleCsr {
  int64_t rows = 0;
  int64_t columns = 0;
  NpyArray data;
  NpyArray indices;
  NpyArray indptr;
};

struct PickleDocument;

// One value, valid as long as its Pickle. Each accessor throws qw::Error ("ind.cora.graph: expected a dict,
// found a list") when the value is of another kind.
class PickleValue {
 public:
  PickleValue(const PickleDocument& document, uint32_t node) : document_(&document), node_(node) {}

  PickleKind kind() const;
  bool as_bool() const;
  int64_t as_integer() const;
  double as_float() const;
  std::string_view as_text() const;
  std::vector<PickleValue> as_list() const;                          // of a list or tuple
  std::vector<int64_t> as_integers() const;                          // of a list or tuple of integers
  std::vector<std::pair<PickleValue, PickleValue>> as_dict() const;  // in order; a key may stand twice
  const NpyArray& as_array() const;
  const PickleCsr& as_csr() const;

 private:
  const PickleDocument* document_;
  uint32_t node_;
};

class Pickle {
 public:
  // Throws qw::Error with the byte at fault. `label` names the file in errors.
  Pickle(std::string bytes, std::string label);

  PickleValue root() const;

 private:
  std::shared_ptr<const PickleDocument> document_;
};

}  // namespace qw
