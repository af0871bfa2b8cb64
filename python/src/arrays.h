// numpy arrays to vectors, and back without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace qw::python {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <class T>
std::vector<T> vector_of(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

// An array that owns the vector.
template <class T>
py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<T>(std::move(shape), kept->data(), owner);
}

template <class T>
py::array_t<T> array_of(std::vector<T> values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return array_of(std::move(values), {size});
}

template <class T>
py::array_t<T> copy_of(std::span<const T> values) {
  return array_of(std::vector<T>(values.begin(), values.end()));
}

}  // namespace qw::python
