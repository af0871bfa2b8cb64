// Pickles by hand, with the instructions that Python 2 wrote for Planetoid's files (protocol 2).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qw::test {

inline std::string little(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t k = 0; k < size; ++k) bytes += static_cast<char>(value >> (8 * k));
  return bytes;
}

inline std::string pickled(const std::string& program) { return "\x80\x02" + program + "."; }

inline std::string op_integer(int64_t value) {
  if (value >= 0 && value < 256) return "K" + little(value, 1);
  if (value >= 0 && value < 65536) return "M" + little(value, 2);
  return "J" + little(value, 4);
}

inline std::string op_text(std::string_view text) {
  if (text.size() < 256) return "U" + little(text.size(), 1) + std::string(text);
  return "T" + little(text.size(), 4) + std::string(text);
}

inline std::string op_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

inline std::string op_tuple(const std::vector<std::string>& items) {
  std::string program = "(";
  for (const std::string& item : items) program += item;
  return program + "t";
}

inline std::string op_integers(const std::vector<int64_t>& values) {
  std::string program = "](";
  for (const int64_t value : values) program += op_integer(value);
  return program + "e";
}

inline std::string op_dtype(const std::string& name, const std::string& order) {
  const std::string state =
      op_tuple({op_integer(3), op_text(order), "N", "N", "N", op_integer(-1), op_integer(-1), op_integer(0)});
  return op_global("numpy", "dtype") + op_text(name) + op_integer(0) + op_integer(1) + "\x87R" + state + "b";
}

inline std::string op_array(const std::string& type, const std::vector<int64_t>& shape,
                            const std::string& data, bool fortran = false) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(op_integer(extent));
  const std::string unbuilt = op_global("numpy.core.multiarray", "_reconstruct") +
                              op_global("numpy", "ndarray") + op_integer(0) + "\x85" + op_text("b") + "\x87R";
  const std::string order = fortran ? "\x88" : "\x89";
  return unbuilt +
         op_tuple({op_integer(1), op_tuple(extents), op_dtype(type.substr(1), type.substr(0, 1)), order,
                   op_text(data)}) +
         "b";
}

template <class Number>
std::string op_vector(const std::string& type, const std::vector<Number>& values) {
  std::string data(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return op_array(type, {static_cast<int64_t>(values.size())}, data);
}

inline std::string op_csr(int64_t rows, int64_t columns, const std::vector<int32_t>& indptr,
                          const std::vector<int32_t>& indices, const std::vector<float>& data) {
  const std::string state = "}(" + op_text("_shape") + op_integer(rows) + op_integer(columns) + "\x86" +
                            op_text("maxprint") + op_integer(50) + op_text("indices") +
                            op_vector("<i4", indices) + op_text("indptr") + op_vector("<i4", indptr) +
                            op_text("data") + op_vector("<f4", data) + "u";
  return op_global("scipy.sparse.csr", "csr_matrix") + ")\x81" + state + "b";
}

// defaultdict(list) from node to neighbours.
inline std::string op_graph(const std::vector<std::pair<int64_t, std::vector<int64_t>>>& lists) {
  std::string program = op_global("collections", "defaultdict") + op_global("__builtin__", "list") + "\x85R(";
  for (const auto& [node, neighbours] : lists) program += op_integer(node) + op_integers(neighbours);
  return program + "u";
}

}  // namespace qw::test
