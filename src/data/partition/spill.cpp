#include "data/partition/spill.h"

#include "data/partition/output.h"

namespace qw {

Spill::~Spill() { clear(); }

void Spill::clear() {
  std::error_code ignored;
  if (written_ > 0 && !path_.empty()) std::filesystem::remove(path_, ignored);
  written_ = 0;
  buffer_.clear();
}

void Spill::append_bytes(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > room_) flush();
  if (bytes.size() > room_) {
    written_ += append_to_file(path_, bytes, written_ == 0);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void Spill::flush() {
  if (!buffer_.empty()) written_ += append_to_file(path_, buffer_, written_ == 0);
  buffer_.clear();
}

void Spill::each_piece(const std::function<void(std::span<const std::byte>)>& visit) {
  if (written_ > 0) {
    flush();
    read_pieces(path_, kPiece, visit);
  } else if (!buffer_.empty()) {
    visit(buffer_);
  }
}

}  // namespace qw
