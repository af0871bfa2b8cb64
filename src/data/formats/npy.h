// numpy's .npy arrays and .npz archives of them, without Python.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/zip.h"

namespace qw {

// An array as it is stored; the accessors convert. Copies share the bytes.
struct NpyArray {
  std::string label;           // names it in errors
  std::string descr;           // numpy's name of the type: "<f4", "|b1", "<U19", "|O"
  std::vector<int64_t> shape;  // empty: a single number
  bool fortran_order = false;  // the first index runs fastest
  std::string_view data;       // inside what `storage` keeps alive
  std::shared_ptr<const void> storage;

  int64_t size() const;      // items; the product of `shape`
  bool is_object() const;    // Python objects: recognised, never unpickled
  bool is_string() const;    // bytes or unicode
  bool is_floating() const;  // f2, f4 or f8

  // All items in C order (the last index fastest), whatever the stored order, byte order and type among bool,
  // integers and floating point. Throws qw::Error with the label on any other type; integers also on an item
  // that is not integral or out of range, bools on one that is not 0 or 1. Floating point is rounded and may
  // be NaN or infinite.
  std::vector<float> as_float() const;
  std::vector<double> as_double() const;
  std::vector<int32_t> as_int32() const;
  std::vector<int64_t> as_int64() const;
  std::vector<bool> as_bool() const;

  // Items of a bytes or unicode array (as UTF-8) in C order, without the padding NULs. Throws qw::Error on
  // another type and on what is not a code point.
  std::vector<std::string> as_strings() const;
};

// Throws qw::Error unless type and shape are possible and, for other than object arrays, `data` is exactly as
// long as they say.
void check_array(const NpyArray& array);

// A whole .npy file, versions 1 to 3. Throws qw::Error with the byte at fault.
NpyArray read_npy(std::string bytes, std::string label);

// A .npy file (version 1, C order). The shape's product must be the number of values.
std::string write_npy(const std::vector<float>& values, const std::vector<int64_t>& shape);
std::string write_npy(const std::vector<double>& values, const std::vector<int64_t>& shape);
std::string write_npy(const std::vector<int32_t>& values, const std::vector<int64_t>& shape);
std::string write_npy(const std::vector<int64_t>& values, const std::vector<int64_t>& shape);
std::string write_npy(const std::vector<bool>& values, const std::vector<int64_t>& shape);
std::string write_npy(const std::vector<std::string>& values,
                      const std::vector<int64_t>& shape);  // UTF-8 -> unicode

// Arrays by name, "adj_data" for the entry "adj_data.npy". Each is unpacked when it is loaded, its errors
// start with "pubmed.npz: adj_data".
class NpzArchive {
 public:
  NpzArchive(std::string bytes, std::string label);  // throws as ZipArchive does

  const std::string& label() const { return label_; }
  bool has(const std::string& name) const { return archive_.has(name + ".npy"); }
  bool is_object(const std::string& name) const { return load(name).is_object(); }
  NpyArray load(const std::string& name) const;  // throws qw::Error when absent or bad

 private:
  std::string label_;
  ZipArchive archive_;
};

}  // namespace qw
