// Tensors in safetensors files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/safetensors.h"
#include "qw/nn/parameters.h"

namespace qw {

// A file's tensor as it stands: its own type, on the CPU.
at::Tensor tensor_from(const StoredTensor& stored);

// Writes named tensors (float32, float64, int32, int64, uint8, bool) atomically, in the order given.
void write_tensors(const std::filesystem::path& path, const std::vector<Buffer>& tensors,
                   const SafetensorsMetadata& metadata = {});

// The same with a checksum of all that is in the file among its metadata, and back: throws qw::Error when
// that is not right.
void write_checked_tensors(const std::filesystem::path& path, const std::vector<Buffer>& tensors,
                           SafetensorsMetadata metadata);
SafetensorsFile read_checked_tensors(const std::filesystem::path& path);
// Of such a file's contents; `name` opens errors.
SafetensorsFile checked_tensors_from(std::string contents, const std::string& name);

std::vector<Buffer> read_tensors(const std::filesystem::path& path);

// Copies tensor for tensor into those of the same names; throws qw::Error, naming `from`, when one is
// missing, left over or has another shape.
void copy_by_name(const std::vector<Buffer>& tensors, const std::vector<Buffer>& into,
                  const std::string& from);

}  // namespace qw
