// Rows of other parts beside one's own.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/comm.h"

namespace qw {

// What a part sends to each part, and what it receives from each. Its halo has what it receives, in the order
// of parts.
struct HaloPlan {
  int64_t own = 0;                // rows
  at::Tensor sent_rows;           // [rows] int64, of its own: those for part 0, then 1, and so on
  std::vector<int64_t> sent;      // how many for each part
  std::vector<int64_t> received;  // how many of each part
};

class Halo {
 public:
  // The comm must outlive it.
  Halo(Comm& parts, HaloPlan plan);

  int64_t rows() const { return rows_; }  // of the halo
  // Own rows [own, ...] and after them the halo's. All parts call it together.
  at::Tensor beside(const at::Tensor& own) const;
  // Such rows: those of the halo go to their owners, who add them to their own, in the order of the parts.
  at::Tensor added_back(const at::Tensor& all) const;

 private:
  const at::Tensor& sent_rows(const at::Device& device) const;

  Comm& parts_;
  HaloPlan plan_;
  mutable at::Tensor sent_rows_there_;  // on the GPU whose rows were asked for
  int64_t rows_;
};

}  // namespace qw
