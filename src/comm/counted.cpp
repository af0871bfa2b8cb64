#include "comm/counted.h"

#include <algorithm>
#include <chrono>

namespace qw {
namespace {

int64_t bytes_of(const at::Tensor& rows) { return static_cast<int64_t>(rows.nbytes()); }

}  // namespace

template <class Call>
void CountedComm::count(int64_t bytes, const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  traffic_.bytes += bytes;
  ++traffic_.calls;
}

void CountedComm::exchange(const at::Tensor& received, at::IntArrayRef received_rows, const at::Tensor& sent,
                           at::IntArrayRef sent_rows) {
  const int64_t row = sent.size(0) == 0 ? 0 : bytes_of(sent) / sent.size(0);
  const int64_t bytes = bytes_of(sent) - sent_rows[rank()] * row;
  count(bytes, [&] { of_.exchange(received, received_rows, sent, sent_rows); });
  traffic_.exchanged += bytes;
  traffic_.widest = std::max(traffic_.widest, row);
}

at::Tensor CountedComm::gather(const at::Tensor& mine, at::IntArrayRef rows) {
  at::Tensor all;
  count(bytes_of(mine) * (size() - 1), [&] { all = of_.gather(mine, rows); });
  return all;
}

void CountedComm::broadcast(const at::Tensor& values, int from) {
  count(rank() == from ? bytes_of(values) * (size() - 1) : 0, [&] { of_.broadcast(values, from); });
}

void CountedComm::barrier() {
  count(0, [&] { of_.barrier(); });
}

}  // namespace qw
