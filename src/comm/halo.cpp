#include "comm/halo.h"

#include <ATen/Functions.h>

#include <numeric>

namespace qw {

Halo::Halo(Comm& parts, HaloPlan plan)
    : parts_(parts),
      plan_(std::move(plan)),
      rows_(std::accumulate(plan_.received.begin(), plan_.received.end(), int64_t{0})) {}

const at::Tensor& Halo::sent_rows(const at::Device& device) const {
  if (device.is_cpu()) return plan_.sent_rows;
  if (!sent_rows_there_.defined()) sent_rows_there_ = plan_.sent_rows.to(device);
  return sent_rows_there_;
}

at::Tensor Halo::beside(const at::Tensor& own) const {
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = plan_.own + rows_;
  at::Tensor all = at::empty(shape, own.options());
  all.narrow(0, 0, plan_.own).copy_(own);
  parts_.exchange(all.narrow(0, plan_.own, rows_), plan_.received,
                  own.index_select(0, sent_rows(own.device())), plan_.sent);
  return all;
}

at::Tensor Halo::added_back(const at::Tensor& all) const {
  at::Tensor own = all.narrow(0, 0, plan_.own).clone();
  std::vector<int64_t> shape = all.sizes().vec();
  shape[0] = plan_.sent_rows.size(0);
  const at::Tensor received = at::empty(shape, all.options());
  parts_.exchange(received, plan_.sent, all.narrow(0, plan_.own, rows_).contiguous(), plan_.received);
  int64_t begin = 0;
  const at::Tensor sent = sent_rows(all.device());
  for (const int64_t count : plan_.sent) {  // no row comes twice from one part
    const at::Tensor rows = sent.narrow(0, begin, count);
    own.index_copy_(0, rows, own.index_select(0, rows).add_(received.narrow(0, begin, count)));
    begin += count;
  }
  return own;
}

}  // namespace qw
