// What the instructions of a pickle make: the values of a PickleDocument. Nothing here is looked up or called
// in Python; each known name stands for one way to fill in plain data.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/formats/pickle_bytes.h"
#include "data/formats/pickle_document.h"

namespace qw {

class PickleBuilder {
 public:
  static constexpr uint32_t kNone = 0;
  static constexpr uint32_t kFalse = 1;
  static constexpr uint32_t kTrue = 2;

  // `bytes` says where an error is.
  PickleBuilder(PickleDocument& document, const PickleBytes& bytes);

  // Each returns the new value's position.
  uint32_t add(PickleNode node);
  uint32_t add_text(std::string text);  // kept with the document
  uint32_t global(std::string_view module, std::string_view name);
  uint32_t call(uint32_t callee, uint32_t arguments);    // REDUCE
  uint32_t create(uint32_t callee, uint32_t arguments);  // NEWOBJ

  // BUILD: completes an array, a dtype or a csr_matrix, each once, a dtype any number of times.
  void set_state(uint32_t target, uint32_t state);

  template <class Value>
  Value& get(uint32_t node, const char* expected) const {
    auto* value = std::get_if<Value>(&document_.nodes[node]);
    if (value == nullptr) {
      bytes_.problem(fmt::format("expected {}, found {}", expected, pickle_kind_name(document_.nodes[node])));
    }
    return *value;
  }

 private:
  void require(bool condition, const char* expected) const;
  bool is(uint32_t node, PickleGlobal global) const;
  bool truth(uint32_t node) const;
  uint32_t encode_latin1(std::span<const uint32_t> arguments);
  std::shared_ptr<const NpyArray> make_array(uint32_t shape, uint32_t type, bool fortran_order,
                                             uint32_t data) const;
  std::shared_ptr<const PickleCsr> make_csr(const std::vector<uint32_t>& state) const;

  PickleDocument& document_;
  const PickleBytes& bytes_;
  std::unordered_map<uint32_t, uint32_t> encoded_;  // text -> its bytes
};

}  // namespace qw
