// Bytes on their way through a temporary file, so that memory holds only a piece of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace qw {

// Appended at the end, read from the front, gone with its object. No file is open between calls: there may be
// thousands.
class Spill {
 public:
  Spill(std::filesystem::path path, size_t buffer) : path_(std::move(path)), room_(buffer) {}
  Spill(Spill&&) noexcept = default;
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill();

  template <class T>
  void append(std::span<const T> items) {
    append_bytes(std::as_bytes(items));
  }
  template <class T>
  void put(const T& item) {
    append(std::span<const T>(&item, 1));
  }

  int64_t bytes() const { return written_ + static_cast<int64_t>(buffer_.size()); }
  template <class T>
  int64_t count() const {
    return bytes() / static_cast<int64_t>(sizeof(T));
  }

  // All of it, piece by piece.
  template <class T>
  void each(const std::function<void(std::span<const T>)>& visit) {
    static_assert(kPiece % sizeof(T) == 0);
    std::vector<T> room;
    each_piece([&](std::span<const std::byte> piece) {
      room.resize(piece.size() / sizeof(T));
      std::memcpy(room.data(), piece.data(), piece.size());
      visit(room);
    });
  }
  void each_piece(const std::function<void(std::span<const std::byte>)>& visit);

  void clear();  // the next append is the first

 private:
  static constexpr size_t kPiece = size_t{3} << 18;
  void append_bytes(std::span<const std::byte> bytes);
  void flush();

  std::filesystem::path path_;
  size_t room_;
  std::vector<std::byte> buffer_;
  int64_t written_ = 0;  // to the file
};

}  // namespace qw
