#include <bit>
#include <limits>

#include "data/formats/pickle_builder.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr uint32_t kUnset = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kNewestProtocol = 5;

// The stack machine. Opcodes are Python's own; each group of them says whether it knew the one it was given.
class Machine {
 public:
  explicit Machine(PickleDocument& document)
      : bytes_(document.storage->bytes, document.label), builder_(document, bytes_) {}

  uint32_t run() {
    for (unsigned char opcode = bytes_.opcode(); opcode != '.'; opcode = bytes_.opcode()) {
      if (!push_number(opcode) && !push_text(opcode) && !use_memo(opcode) && !make_container(opcode) &&
          !make_object(opcode) && !use_stack(opcode)) {
        bytes_.problem(fmt::format("instruction 0x{:02x} is unknown or does not build data", opcode));
      }
    }
    const uint32_t root = pop();
    if (!stack_.empty() || !marks_.empty()) bytes_.problem("the pickle ends with more than one value");
    if (bytes_.left() != 0)
      bytes_.problem(fmt::format("{} bytes follow the end of the pickle", bytes_.left()));
    return root;
  }

 private:
  bool push_number(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        push(PickleBuilder::kNone);
        break;
      case 0x88:
        push(PickleBuilder::kTrue);
        break;
      case 0x89:
        push(PickleBuilder::kFalse);
        break;
      case 'K':
        add(static_cast<int64_t>(bytes_.little(1)));
        break;
      case 'M':
        add(static_cast<int64_t>(bytes_.little(2)));
        break;
      case 'J':
        add(bytes_.long_integer(4));
        break;
      case 0x8a:
        add(bytes_.long_integer(bytes_.little(1)));
        break;
      case 0x8b:
        add(bytes_.long_integer(bytes_.little(4)));
        break;
      case 'G':
        add(std::bit_cast<double>(__builtin_bswap64(bytes_.little(8))));
        break;
      case 'F':
        add(bytes_.number_line());
        break;
      case 'I':
        push_integer_or_bool(bytes_.line());
        break;
      case 'L': {
        std::string_view digits = bytes_.line();
        if (digits.ends_with('L')) digits.remove_suffix(1);
        add(bytes_.integer(digits));
        break;
      }
      default:
        return false;
    }
    return true;
  }

  void push_integer_or_bool(std::string_view digits) {
    if (digits == "00" || digits == "01") {
      push(digits == "01" ? PickleBuilder::kTrue : PickleBuilder::kFalse);
    } else {
      add(bytes_.integer(digits));
    }
  }

  bool push_text(unsigned char opcode) {
    switch (opcode) {
      case 'U':
      case 'C':
      case 0x8c:
        add(bytes_.text(bytes_.little(1)));
        break;
      case 'T':
      case 'B':
      case 'X':
        add(bytes_.text(bytes_.little(4)));
        break;
      case 0x8d:
      case 0x8e:
      case 0x96:
        add(bytes_.text(bytes_.little(8)));
        break;
      case 'S':
        push(builder_.add_text(bytes_.bytes_line()));
        break;
      case 'V':
        push(builder_.add_text(bytes_.unicode_line()));
        break;
      default:
        return false;
    }
    return true;
  }

  bool use_stack(unsigned char opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        break;
      case '1':
        pop_mark();
        break;
      case '2':
        push(top());
        break;
      case '0':
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          pop();
        }
        break;
      case 0x80:
        if (const uint64_t protocol = bytes_.little(1); protocol > kNewestProtocol) {
          bytes_.problem(fmt::format("protocol {} of pickles; expected 0 to {}", protocol, kNewestProtocol));
        }
        break;
      case 0x95:
        if (const uint64_t size = bytes_.little(8); size > bytes_.left()) {
          bytes_.problem(fmt::format("a frame of {} bytes is cut short: {} are left", size, bytes_.left()));
        }
        break;
      default:
        return false;
    }
    return true;
  }

  bool use_memo(unsigned char opcode) {
    switch (opcode) {
      case 'p':
        memorise(static_cast<uint64_t>(bytes_.integer_line()));
        break;
      case 'q':
        memorise(bytes_.little(1));
        break;
      case 'r':
        memorise(bytes_.little(4));
        break;
      case 0x94:
        memorise(memo_.size());
        break;
      case 'g':
        recall(static_cast<uint64_t>(bytes_.integer_line()));
        break;
      case 'h':
        recall(bytes_.little(1));
        break;
      case 'j':
        recall(bytes_.little(4));
        break;
      default:
        return false;
    }
    return true;
  }

  bool make_container(unsigned char opcode) {
    switch (opcode) {
      case ')':
        add(PickleTuple{});
        break;
      case ']':
        add(PickleList{});
        break;
      case '}':
        add(PickleDict{});
        break;
      case 't':
        add(PickleTuple{pop_mark()});
        break;
      case 'l':
        add(PickleList{pop_mark()});
        break;
      case 'd':
        add(PickleDict{in_pairs(pop_mark())});
        break;
      case 0x85:
        add(PickleTuple{pop_many(1)});
        break;
      case 0x86:
        add(PickleTuple{pop_many(2)});
        break;
      case 0x87:
        add(PickleTuple{pop_many(3)});
        break;
      case 'a':
        extend<PickleList>(pop_many(1), "a list");
        break;
      case 'e':
        extend<PickleList>(pop_mark(), "a list");
        break;
      case 's':
        extend<PickleDict>(pop_many(2), "a dict");
        break;
      case 'u':
        extend<PickleDict>(in_pairs(pop_mark()), "a dict");
        break;
      default:
        return false;
    }
    return true;
  }

  bool make_object(unsigned char opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = bytes_.line();
        push(builder_.global(module, bytes_.line()));
        break;
      }
      case 0x93: {
        const uint32_t name = pop();
        const uint32_t module = pop();
        const auto module_text = builder_.get<std::string_view>(module, "text");
        push(builder_.global(module_text, builder_.get<std::string_view>(name, "text")));
        break;
      }
      case 'R':
      case 0x81: {
        const uint32_t arguments = pop();
        const uint32_t callee = pop();
        push(opcode == 'R' ? builder_.call(callee, arguments) : builder_.create(callee, arguments));
        break;
      }
      case 'b': {
        const uint32_t state = pop();
        builder_.set_state(top(), state);
        break;
      }
      default:
        return false;
    }
    return true;
  }

  void push(uint32_t node) { stack_.push_back(node); }
  void add(PickleNode node) { push(builder_.add(std::move(node))); }

  size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  uint32_t top() const {
    if (available() == 0) bytes_.problem("takes more values than there are");
    return stack_.back();
  }

  uint32_t pop() {
    const uint32_t node = top();
    stack_.pop_back();
    return node;
  }

  std::vector<uint32_t> pop_many(size_t count) {
    if (available() < count) bytes_.problem("takes more values than there are");
    const auto begin = stack_.end() - static_cast<ptrdiff_t>(count);
    std::vector<uint32_t> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }

  std::vector<uint32_t> pop_mark() {
    if (marks_.empty()) bytes_.problem("takes values back to a MARK that was never set");
    std::vector<uint32_t> values = pop_many(available());
    marks_.pop_back();
    return values;
  }

  std::vector<uint32_t> in_pairs(std::vector<uint32_t> values) const {
    if (values.size() % 2 != 0) bytes_.problem("a key without a value");
    return values;
  }

  template <class Container>
  void extend(const std::vector<uint32_t>& values, const char* expected) {
    std::vector<uint32_t>& items = builder_.get<Container>(top(), expected).items;
    items.insert(items.end(), values.begin(), values.end());
  }

  void memorise(uint64_t id) {
    if (id >= bytes_.size())
      bytes_.problem(fmt::format("memo {} in a pickle of {} bytes", id, bytes_.size()));
    if (id >= memo_.size()) memo_.resize(id + 1, kUnset);
    memo_[id] = top();
  }

  void recall(uint64_t id) {
    if (id >= memo_.size() || memo_[id] == kUnset) bytes_.problem(fmt::format("memo {} was never set", id));
    push(memo_[id]);
  }

  PickleBytes bytes_;
  PickleBuilder builder_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::vector<uint32_t> memo_;
};

}  // namespace

void run_pickle(PickleDocument& document) {
  if (document.storage->bytes.size() >= kUnset) fail(document.label + ": pickles are read up to 4 GiB");
  document.root = Machine(document).run();
}

}  // namespace qw
