// Included last, after a blank line: from there on at::randn, at::zeros and the other makers of tensors make
// them on the device under test, QW_TEST_DEVICE (cpu unless set; cuda). Random numbers are drawn on the CPU
// and moved, so that every device sees the same.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "support/device.h"

namespace qw::test {

// As c10 prints it: "cpu", "cuda:0".
inline std::string device_name() { return ::at::empty({0}).to(device()).device().str(); }

}  // namespace qw::test

// Inside namespace qw, at::NAME finds these before LibTorch's own.
namespace qw::at {

using namespace ::at;  // NOLINT(google-build-using-namespace): it stands for LibTorch's

#define QW_ON_DEVICE(maker)                                        \
  template <class... Arguments>                                    \
  ::at::Tensor maker(::at::IntArrayRef shape, Arguments... rest) { \
    return ::at::maker(shape, rest...).to(::qw::test::device());   \
  }
QW_ON_DEVICE(empty)
QW_ON_DEVICE(zeros)
QW_ON_DEVICE(ones)
QW_ON_DEVICE(rand)
QW_ON_DEVICE(randn)
#undef QW_ON_DEVICE

#define QW_ON_DEVICE(maker)                                    \
  template <class... Arguments>                                \
  ::at::Tensor maker(Arguments... arguments) {                 \
    return ::at::maker(arguments...).to(::qw::test::device()); \
  }
QW_ON_DEVICE(arange)
QW_ON_DEVICE(linspace)
QW_ON_DEVICE(eye)
QW_ON_DEVICE(randperm)
QW_ON_DEVICE(scalar_tensor)
#undef QW_ON_DEVICE

template <class... Arguments>
::at::Tensor full(::at::IntArrayRef shape, const ::at::Scalar& value, Arguments... rest) {
  return ::at::full(shape, value, rest...).to(::qw::test::device());
}
template <class... Arguments>
::at::Tensor randint(int64_t high, ::at::IntArrayRef shape, Arguments... rest) {
  return ::at::randint(high, shape, rest...).to(::qw::test::device());
}
template <class... Arguments>
::at::Tensor randint(int64_t low, int64_t high, ::at::IntArrayRef shape, Arguments... rest) {
  return ::at::randint(low, high, shape, rest...).to(::qw::test::device());
}
template <class Value, class... Arguments>
::at::Tensor tensor(std::initializer_list<Value> values, Arguments... rest) {
  return ::at::tensor(values, rest...).to(::qw::test::device());
}
template <class Value, class... Arguments>
::at::Tensor tensor(const std::vector<Value>& values, Arguments... rest) {
  return ::at::tensor(values, rest...).to(::qw::test::device());
}
inline ::at::Tensor randn_like(const ::at::Tensor& like) {
  return ::at::randn(like.sizes(), like.scalar_type()).to(like.device());
}

}  // namespace qw::at
