// A tensor that was looked at, without keeping it alive, so that what was found need not be found again.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <optional>

namespace qw::ops {

// Known again by its memory, its place there and torch's count of its changes.
class SeenTensor {
 public:
  // May be undefined.
  explicit SeenTensor(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_inference()) {  // whose changes nobody counts
      never_ = tensor.defined();
      return;
    }
    storage_.emplace(tensor.storage().getWeakStorageImpl());
    data_ = tensor.data_ptr();
    type_ = tensor.scalar_type();
    version_ = version_of(tensor);
    sizes_ = tensor.sizes().vec();
    strides_ = tensor.strides().vec();
  }

  // Whether it is this one, and has not changed.
  bool is(const at::Tensor& tensor) const {
    if (never_) return false;
    if (!tensor.defined() || !storage_.has_value()) return !tensor.defined() && !storage_.has_value();
    return !tensor.is_inference() && tensor.data_ptr() == data_ && !storage_->expired() &&
           storage_->_unsafe_get_target() == tensor.storage().unsafeGetStorageImpl() &&
           tensor.scalar_type() == type_ && version_of(tensor) == version_ && tensor.sizes() == sizes_ &&
           tensor.strides() == strides_;
  }

  // Whether it is no more.
  bool gone() const { return storage_.has_value() && storage_->expired(); }

 private:
  static uint32_t version_of(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->version_counter().current_version();
  }

  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage_;  // its place, not its memory
  const void* data_ = nullptr;
  at::ScalarType type_ = at::ScalarType::Undefined;
  uint32_t version_ = 0;
  std::vector<int64_t> sizes_, strides_;
  bool never_ = false;
};

}  // namespace qw::ops
