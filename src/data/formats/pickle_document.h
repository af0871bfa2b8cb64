// What a pickle is read into: all values in one array, pointing at each other by position. So nothing is ever
// copied deeply, a cycle leaks nothing, and destruction does not recurse.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/formats/pickle.h"

namespace qw {

// The names that a pickle may mention.
enum class PickleGlobal {
  kReconstructArray,
  kArrayFromBuffer,
  kArrayClass,
  kTypeClass,
  kCsrClass,
  kDefaultDict,
  kOrderedDict,
  kListClass,
  kDictClass,
  kObjectClass,
  kEncode,
  kReconstructObject
};

struct PickleList {
  std::vector<uint32_t> items;
};
struct PickleTuple {
  std::vector<uint32_t> items;
};
struct PickleDict {
  std::vector<uint32_t> items;  // key, value, key, value, ...
};
struct PickleType {  // a numpy dtype: byte order and "f4"
  char order = '=';
  std::string_view name;
};
struct PickleUnbuiltArray {};
struct PickleUnbuiltCsr {};

using PickleNode =
    std::variant<std::monostate, bool, int64_t, double, std::string_view, PickleList, PickleTuple, PickleDict,
                 std::shared_ptr<const NpyArray>, std::shared_ptr<const PickleCsr>, PickleGlobal, PickleType,
                 PickleUnbuiltArray, PickleUnbuiltCsr>;

// What text points into; arrays keep it alive.
struct PickleStorage {
  std::string bytes;
  std::deque<std::string> decoded;  // a deque: growing does not move its strings
};

struct PickleDocument {
  std::string label;
  std::shared_ptr<PickleStorage> storage;
  std::vector<PickleNode> nodes;
  uint32_t root = 0;
};

const char* pickle_kind_name(const PickleNode& node);  // "a list"

// Runs the instructions in document.storage->bytes; throws qw::Error. The result may still have cycles.
void run_pickle(PickleDocument& document);

}  // namespace qw
