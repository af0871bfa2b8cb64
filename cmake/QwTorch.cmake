# LibTorch: Debian's by default, any newer one by CMAKE_PREFIX_PATH; the `cuda` preset asks python3 where its own is.

if(QW_CUDA AND NOT CMAKE_PREFIX_PATH)
  execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
                  OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    list(APPEND CMAKE_PREFIX_PATH ${torch_prefix})
  endif()
endif()

find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "LibTorch was not found. Install Debian's libtorch-dev (make deps does), or name another with "
                      "-DCMAKE_PREFIX_PATH=/path/to/libtorch, or build without it: -DQW_TORCH=OFF")
endif()
message(STATUS "LibTorch ${Torch_VERSION} in ${TORCH_INSTALL_PREFIX}")

# PyPI's libtorch.so exports parts of an old C++ library, std::filesystem::remove_all among them, which do not work: the real
# one stands before it wherever both are linked.
link_libraries(stdc++)

# PyPI's LibTorch brings headers of its own fmt, which need not be the fmt that is linked: what includes them has it header-only.
find_file(QW_FMT_OF_TORCH fmt/format.h PATHS ${TORCH_INSTALL_PREFIX}/include NO_DEFAULT_PATH)
if(QW_FMT_OF_TORCH AND NOT TORCH_INSTALL_PREFIX STREQUAL "/usr")
  set_property(TARGET torch APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
endif()

set(QW_LIBTORCH_VERSION ${Torch_VERSION})
if(TORCH_CUDA_LIBRARIES OR TARGET torch_cuda)
  set(QW_HAS_CUDA 1)
elseif(QW_CUDA)
  message(FATAL_ERROR "The LibTorch in ${TORCH_INSTALL_PREFIX} has no CUDA; name one that has with -DCMAKE_PREFIX_PATH")
endif()

# Several processes work together by c10d's Gloo, whose headers Debian has in libgloo-dev. PyPI's LibTorch has none; there
# Python makes the groups.
find_path(QW_GLOO_INCLUDE gloo/config.h)
find_file(QW_GLOO_OF_TORCH torch/csrc/distributed/c10d/ProcessGroupGloo.hpp PATHS ${TORCH_INSTALL_PREFIX}/include NO_DEFAULT_PATH)
find_file(QW_NAMED_GROUPS torch/csrc/distributed/c10d/GroupRegistry.hpp PATHS ${TORCH_INSTALL_PREFIX}/include NO_DEFAULT_PATH)
set(QW_HAS_GLOO OFF)
set(QW_HAS_NAMED_GROUPS OFF)
if(QW_NAMED_GROUPS AND NOT TORCH_INSTALL_PREFIX STREQUAL "/usr")
  set(QW_HAS_NAMED_GROUPS ON)
elseif(QW_GLOO_INCLUDE AND QW_GLOO_OF_TORCH)
  set(QW_HAS_GLOO ON)
else()
  message(STATUS "Gloo was not found: processes cannot work together")
endif()
