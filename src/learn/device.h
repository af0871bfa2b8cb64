// Where to learn.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace qw {

// "cpu", "cuda" or "cuda:1"; throws qw::UsageError on another name, and qw::Error where there is no such
// device.
at::Device device_named(const std::string& name);

}  // namespace qw
