#include "data/formats/pickle_builder.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/text.h"
#include "data/formats/utf8.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxTypeName = 16;
constexpr size_t kMaxCsrAttributes = 32;

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};

constexpr std::array kKnownGlobals = {
    KnownGlobal{"numpy.core.multiarray", "_reconstruct", PickleGlobal::kReconstructArray},
    KnownGlobal{"numpy._core.multiarray", "_reconstruct", PickleGlobal::kReconstructArray},
    KnownGlobal{"numpy.core.numeric", "_frombuffer", PickleGlobal::kArrayFromBuffer},
    KnownGlobal{"numpy._core.numeric", "_frombuffer", PickleGlobal::kArrayFromBuffer},
    KnownGlobal{"numpy", "ndarray", PickleGlobal::kArrayClass},
    KnownGlobal{"numpy", "dtype", PickleGlobal::kTypeClass},
    KnownGlobal{"scipy.sparse.csr", "csr_matrix", PickleGlobal::kCsrClass},
    KnownGlobal{"scipy.sparse._csr", "csr_matrix", PickleGlobal::kCsrClass},
    KnownGlobal{"collections", "defaultdict", PickleGlobal::kDefaultDict},
    KnownGlobal{"collections", "OrderedDict", PickleGlobal::kOrderedDict},
    KnownGlobal{"__builtin__", "list", PickleGlobal::kListClass},
    KnownGlobal{"builtins", "list", PickleGlobal::kListClass},
    KnownGlobal{"__builtin__", "dict", PickleGlobal::kDictClass},
    KnownGlobal{"builtins", "dict", PickleGlobal::kDictClass},
    KnownGlobal{"__builtin__", "object", PickleGlobal::kObjectClass},
    KnownGlobal{"builtins", "object", PickleGlobal::kObjectClass},
    KnownGlobal{"_codecs", "encode", PickleGlobal::kEncode},
    KnownGlobal{"copy_reg", "_reconstructor", PickleGlobal::kReconstructObject},
    KnownGlobal{"copyreg", "_reconstructor", PickleGlobal::kReconstructObject},
};

}  // namespace

const char* pickle_kind_name(const PickleNode& node) {
  constexpr std::array kNames = {"None",           "a bool",
                                 "an integer",     "a float",
                                 "text",           "a list",
                                 "a tuple",        "a dict",
                                 "a numpy array",  "a csr_matrix",
                                 "a class",        "a dtype",
                                 "an empty array", "an empty csr_matrix"};
  static_assert(kNames.size() == std::variant_size_v<PickleNode>);
  return kNames[node.index()];
}

PickleBuilder::PickleBuilder(PickleDocument& document, const PickleBytes& bytes)
    : document_(document), bytes_(bytes) {
  document_.nodes = {std::monostate{}, false, true};
}

uint32_t PickleBuilder::add(PickleNode node) {
  document_.nodes.push_back(std::move(node));
  return static_cast<uint32_t>(document_.nodes.size() - 1);
}

uint32_t PickleBuilder::add_text(std::string text) {
  return add(std::string_view(document_.storage->decoded.emplace_back(std::move(text))));
}

uint32_t PickleBuilder::global(std::string_view module, std::string_view name) {
  const auto known = std::find_if(kKnownGlobals.begin(), kKnownGlobals.end(), [&](const KnownGlobal& entry) {
    return entry.module == module && entry.name == name;
  });
  if (known == kKnownGlobals.end()) {
    bytes_.problem(
        fmt::format("asks for {}; only plain data is read and nothing in a pickle is ever executed",
                    in_quotes(fmt::format("{}.{}", module, name))));
  }
  return add(known->global);
}

uint32_t PickleBuilder::call(uint32_t callee, uint32_t arguments_tuple) {
  const std::span<const uint32_t> arguments = get<PickleTuple>(arguments_tuple, "a tuple of arguments").items;
  switch (get<PickleGlobal>(callee, "a class or function")) {
    case PickleGlobal::kReconstructArray:
      require(arguments.size() == 3 && is(arguments[0], PickleGlobal::kArrayClass),
              "_reconstruct(ndarray, ...)");
      return add(PickleUnbuiltArray{});
    case PickleGlobal::kArrayFromBuffer:
      require(arguments.size() == 4, "_frombuffer(buffer, dtype, shape, order)");
      return add(make_array(arguments[2], arguments[1], get<std::string_view>(arguments[3], "text") == "F",
                            arguments[0]));
    case PickleGlobal::kTypeClass: {
      require(!arguments.empty(), "dtype(name, ...)");
      const auto name = get<std::string_view>(arguments[0], "text");
      require(name.size() <= kMaxTypeName, "a plain type such as 'f4'");
      return add(PickleType{'=', name});
    }
    case PickleGlobal::kDefaultDict: {
      const bool with_known_factory = arguments.size() == 1 && (is(arguments[0], PickleGlobal::kListClass) ||
                                                                is(arguments[0], PickleGlobal::kDictClass));
      require(arguments.empty() || with_known_factory, "defaultdict(list)");
      return add(PickleDict{});
    }
    case PickleGlobal::kOrderedDict:
      require(arguments.empty(), "OrderedDict without arguments");
      return add(PickleDict{});
    case PickleGlobal::kEncode:
      return encode_latin1(arguments);
    case PickleGlobal::kReconstructObject:
      require(arguments.size() == 3 && is(arguments[0], PickleGlobal::kCsrClass) &&
                  is(arguments[1], PickleGlobal::kObjectClass) && arguments[2] == kNone,
              "_reconstructor(csr_matrix, object, None)");
      return add(PickleUnbuiltCsr{});
    default:
      bytes_.problem("calls a class that is not called in pickles of data");
  }
}

uint32_t PickleBuilder::create(uint32_t callee, uint32_t arguments) {
  require(is(callee, PickleGlobal::kCsrClass) &&
              get<PickleTuple>(arguments, "a tuple of arguments").items.empty(),
          "a new csr_matrix without arguments");
  return add(PickleUnbuiltCsr{});
}

// Python 3 writes bytes for old protocols as encode(text, 'latin1'). Each text is encoded once however often
// the pickle asks, or a small pickle could fill the memory.
uint32_t PickleBuilder::encode_latin1(std::span<const uint32_t> arguments) {
  constexpr const char* kExpected = "encode(text, 'latin1')";
  require(arguments.size() == 2, kExpected);
  const auto text = get<std::string_view>(arguments[0], "text");
  const auto codec = get<std::string_view>(arguments[1], "text");
  require(codec == "latin1" || codec == "latin-1", kExpected);
  if (const auto known = encoded_.find(arguments[0]); known != encoded_.end()) return known->second;
  const std::optional<std::u32string> code_points = decode_utf8(text);
  require(code_points.has_value(), "text in UTF-8");
  std::string encoded;
  encoded.reserve(code_points->size());
  for (const char32_t code_point : *code_points) {
    require(code_point <= 0xff, "text for 'latin1' without characters past U+00FF");
    encoded += static_cast<char>(code_point);
  }
  return encoded_[arguments[0]] = add_text(std::move(encoded));
}

void PickleBuilder::set_state(uint32_t target, uint32_t state) {
  PickleNode& node = document_.nodes[target];
  if (auto* type = std::get_if<PickleType>(&node)) {
    const auto& items = get<PickleTuple>(state, "the state of a dtype").items;
    require(items.size() >= 5 && items[2] == kNone && items[3] == kNone && items[4] == kNone,
            "a dtype without fields (structured arrays are not supported)");
    const auto order = get<std::string_view>(items[1], "text");
    require(order.size() == 1, "a byte order of one character");
    type->order = order.front();
  } else if (std::holds_alternative<PickleUnbuiltArray>(node)) {
    const auto& items = get<PickleTuple>(state, "the state of an array").items;
    require(items.size() == 5, "an array's (version, shape, dtype, order, data)");
    node = make_array(items[1], items[2], truth(items[3]), items[4]);
  } else if (std::holds_alternative<PickleUnbuiltCsr>(node)) {
    node = make_csr(get<PickleDict>(state, "the state of a csr_matrix").items);
  } else {
    bytes_.problem(fmt::format("gives a state to {}; expected a new array, dtype or csr_matrix",
                               pickle_kind_name(node)));
  }
}

std::shared_ptr<const NpyArray> PickleBuilder::make_array(uint32_t shape, uint32_t type, bool fortran_order,
                                                          uint32_t data) const {
  const auto& dtype = get<PickleType>(type, "a dtype");
  require(!dtype.name.starts_with('O'), "numbers or text (arrays of Python objects are not read)");
  const auto& extents = get<PickleTuple>(shape, "a shape").items;
  require(extents.size() <= kMaxDimensions, "an array of at most 64 dimensions");
  auto array = std::make_shared<NpyArray>();
  array->label = document_.label;
  array->descr = fmt::format("{}{}", dtype.order, dtype.name);
  for (const uint32_t extent : extents) array->shape.push_back(get<int64_t>(extent, "a length"));
  array->fortran_order = fortran_order;
  array->data = get<std::string_view>(data, "the bytes of an array");
  array->storage = document_.storage;
  check_array(*array);
  return array;
}

std::shared_ptr<const PickleCsr> PickleBuilder::make_csr(const std::vector<uint32_t>& state) const {
  require(state.size() <= 2 * kMaxCsrAttributes, "a csr_matrix of at most 32 attributes");
  const auto attribute = [&](std::string_view name) {
    for (size_t k = 0; k < state.size(); k += 2) {
      if (get<std::string_view>(state[k], "the name of an attribute") == name) return state[k + 1];
    }
    bytes_.problem(fmt::format("the csr_matrix lacks its attribute {}", in_quotes(name)));
  };
  const auto array = [&](std::string_view name) {
    return *get<std::shared_ptr<const NpyArray>>(attribute(name), "a numpy array");
  };
  const auto& shape = get<PickleTuple>(attribute("_shape"), "a shape").items;
  require(shape.size() == 2, "a csr_matrix of two dimensions");
  auto csr = std::make_shared<PickleCsr>();
  csr->rows = get<int64_t>(shape[0], "a length");
  csr->columns = get<int64_t>(shape[1], "a length");
  csr->data = array("data");
  csr->indices = array("indices");
  csr->indptr = array("indptr");
  return csr;
}

void PickleBuilder::require(bool condition, const char* expected) const {
  if (!condition) bytes_.problem(fmt::format("expected {}", expected));
}

bool PickleBuilder::is(uint32_t node, PickleGlobal global) const {
  const auto* found = std::get_if<PickleGlobal>(&document_.nodes[node]);
  return found != nullptr && *found == global;
}

bool PickleBuilder::truth(uint32_t node) const {
  if (const auto* integer = std::get_if<int64_t>(&document_.nodes[node])) return *integer != 0;
  return get<bool>(node, "a bool");
}

}  // namespace qw
