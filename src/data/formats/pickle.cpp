#include "data/formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/formats/pickle_document.h"
#include "qw/core/error.h"

namespace qw {
namespace {

const std::vector<uint32_t>* children(const PickleNode& node) {
  if (const auto* list = std::get_if<PickleList>(&node)) return &list->items;
  if (const auto* tuple = std::get_if<PickleTuple>(&node)) return &tuple->items;
  if (const auto* dict = std::get_if<PickleDict>(&node)) return &dict->items;
  return nullptr;
}

// Walks what the root reaches, each node once and without recursion, and refuses cycles, depth and unfolding.
class TreeCheck {
 public:
  explicit TreeCheck(const PickleDocument& document)
      : document_(document),
        visits_(document.nodes.size()),
        limit_(4096 + 16 * static_cast<uint64_t>(document.storage->bytes.size())) {}

  void run() {
    open(document_.root);
    while (!path_.empty()) {
      const uint32_t node = path_.back();
      Visit& visit = visits_[node];
      const std::vector<uint32_t>* items = children(document_.nodes[node]);
      if (items == nullptr || visit.next == items->size()) {
        close(node);
      } else {
        descend(node, (*items)[visit.next++]);
      }
    }
  }

 private:
  enum class State : uint8_t { kUnseen, kOpen, kDone };
  struct Visit {
    State state = State::kUnseen;
    int height = 1;
    size_t next = 0;
    uint64_t unfolded = 1;  // how many nodes a walk that does not remember would meet
  };

  void open(uint32_t node) {
    visits_[node].state = State::kOpen;
    path_.push_back(node);
  }

  void close(uint32_t node) {
    visits_[node].state = State::kDone;
    path_.pop_back();
    if (!path_.empty()) absorb(path_.back(), node);
  }

  void descend(uint32_t parent, uint32_t child) {
    switch (visits_[child].state) {
      case State::kUnseen:
        open(child);
        break;
      case State::kOpen:
        fail(document_.label + ": the pickle holds a value that contains itself");
      case State::kDone:
        absorb(parent, child);
        break;
    }
  }

  void absorb(uint32_t parent, uint32_t child) {
    Visit& visit = visits_[parent];
    visit.height = std::max(visit.height, visits_[child].height + 1);
    visit.unfolded += visits_[child].unfolded;
    if (visit.height > kMaxPickleDepth) {
      fail(fmt::format("{}: the pickle nests more than {} values", document_.label, kMaxPickleDepth));
    }
    if (visit.unfolded > limit_) {
      fail(fmt::format("{}: the {} bytes of the pickle unfold to more than {} values", document_.label,
                       document_.storage->bytes.size(), limit_));
    }
  }

  const PickleDocument& document_;
  std::vector<Visit> visits_;
  std::vector<uint32_t> path_;
  uint64_t limit_;
};

template <class Value>
const Value& expect(const PickleDocument& document, uint32_t node, const char* expected) {
  const auto* value = std::get_if<Value>(&document.nodes[node]);
  if (value == nullptr) {
    fail(fmt::format("{}: expected {}, found {}", document.label, expected,
                     pickle_kind_name(document.nodes[node])));
  }
  return *value;
}

const std::vector<uint32_t>& sequence(const PickleDocument& document, uint32_t node) {
  if (const auto* tuple = std::get_if<PickleTuple>(&document.nodes[node])) return tuple->items;
  return expect<PickleList>(document, node, "a list").items;
}

}  // namespace

Pickle::Pickle(std::string bytes, std::string label) {
  const auto document = std::make_shared<PickleDocument>();
  document->label = std::move(label);
  document->storage = std::make_shared<PickleStorage>();
  document->storage->bytes = std::move(bytes);
  run_pickle(*document);
  TreeCheck(*document).run();
  document_ = document;
}

PickleValue Pickle::root() const { return {*document_, document_->root}; }

PickleKind PickleValue::kind() const {
  const size_t alternative = document_->nodes[node_].index();
  return static_cast<PickleKind>(std::min(alternative, static_cast<size_t>(PickleKind::kOther)));
}

bool PickleValue::as_bool() const { return expect<bool>(*document_, node_, "a bool"); }
int64_t PickleValue::as_integer() const { return expect<int64_t>(*document_, node_, "an integer"); }
double PickleValue::as_float() const { return expect<double>(*document_, node_, "a float"); }
std::string_view PickleValue::as_text() const { return expect<std::string_view>(*document_, node_, "text"); }

std::vector<PickleValue> PickleValue::as_list() const {
  std::vector<PickleValue> values;
  for (const uint32_t item : sequence(*document_, node_)) values.emplace_back(*document_, item);
  return values;
}

std::vector<int64_t> PickleValue::as_integers() const {
  const std::vector<uint32_t>& items = sequence(*document_, node_);
  std::vector<int64_t> values;
  values.reserve(items.size());
  for (const uint32_t item : items) values.push_back(expect<int64_t>(*document_, item, "an integer"));
  return values;
}

std::vector<std::pair<PickleValue, PickleValue>> PickleValue::as_dict() const {
  const std::vector<uint32_t>& items = expect<PickleDict>(*document_, node_, "a dict").items;
  std::vector<std::pair<PickleValue, PickleValue>> entries;
  entries.reserve(items.size() / 2);
  for (size_t k = 0; k < items.size(); k += 2) {
    entries.emplace_back(PickleValue(*document_, items[k]), PickleValue(*document_, items[k + 1]));
  }
  return entries;
}

const NpyArray& PickleValue::as_array() const {
  return *expect<std::shared_ptr<const NpyArray>>(*document_, node_, "a numpy array");
}

const PickleCsr& PickleValue::as_csr() const {
  return *expect<std::shared_ptr<const PickleCsr>>(*document_, node_, "a scipy csr_matrix");
}

}  // namespace qw
