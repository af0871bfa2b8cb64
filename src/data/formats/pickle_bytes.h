// The bytes of a pickle, read from front to back with every length checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qw {

class PickleBytes {
 public:
  PickleBytes(std::string_view bytes, const std::string& label) : bytes_(bytes), label_(label) {}

  unsigned char opcode();  // starts the next instruction

  // Operands. All throw, through problem(), when the bytes end too early or do not read as what is asked for.
  std::string_view text(uint64_t size);
  uint64_t little(size_t size);         // an unsigned number of `size` <= 8 bytes, the lowest first
  int64_t long_integer(uint64_t size);  // two's complement
  std::string_view line();              // without its end
  int64_t integer_line();
  double number_line();
  std::string bytes_line();    // Python's repr of bytes, unescaped
  std::string unicode_line();  // raw-unicode-escape, as UTF-8

  int64_t integer(std::string_view digits) const;
  size_t size() const { return bytes_.size(); }
  size_t left() const { return bytes_.size() - at_; }

  // Throws qw::Error at the current instruction.
  [[noreturn]] void problem(std::string_view what) const;

 private:
  std::string_view take(uint64_t size, const char* what);
  uint32_t hexadecimal(std::string_view around, size_t at, size_t digits) const;

  std::string_view bytes_;
  const std::string& label_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
};

}  // namespace qw
