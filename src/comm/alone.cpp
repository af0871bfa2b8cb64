#include "comm/comm.h"

namespace qw {
namespace {

class Alone : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(const at::Tensor& received, at::IntArrayRef, const at::Tensor& sent,
                at::IntArrayRef) override {
    received.copy_(sent);
  }
  at::Tensor gather(const at::Tensor& mine, at::IntArrayRef) override { return mine; }
  void broadcast(const at::Tensor&, int) override {}
  void barrier() override {}
};

}  // namespace

std::unique_ptr<Comm> alone() { return std::make_unique<Alone>(); }

}  // namespace qw
