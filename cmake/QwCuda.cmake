# The CUDA kernels: compiled wherever there is an nvcc, linked where LibTorch has CUDA, and everywhere else run
# on the CPU by tests/emulator.

include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(CMAKE_CUDA_ARCHITECTURES)
    set(QW_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})  # as asked for: LibTorch's CMake files forget it
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know nvcc 13
  endif()
  set(QW_HAS_NVCC ON)
  message(STATUS "nvcc ${CMAKE_CUDA_COMPILER_VERSION}: the CUDA kernels are compiled")
else()
  set(QW_HAS_NVCC OFF)
  message(STATUS "nvcc was not found: the CUDA kernels are not compiled, only emulated")
endif()

file(GLOB QW_CUDA_KERNELS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/*.cu)

# Every major architecture from 7.0 on that nvcc knows, and the first of all it knows: code of each, and for later ones
# what the driver compiles. nvcc 13 begins at 7.5.
function(qw_all_major_architectures result)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9]+" known "${known}")
  list(FILTER known EXCLUDE REGEX "^[1-6][0-9]$")
  list(SORT known COMPARE NATURAL)
  list(GET known 0 first)
  list(FILTER known INCLUDE REGEX "0$")
  list(PREPEND known ${first})
  list(REMOVE_DUPLICATES known)
  list(POP_BACK known last)
  list(TRANSFORM known APPEND -real)
  set(${result} ${known} ${last} PARENT_SCOPE)
endfunction()

# The kernels as an object library. Where LibTorch has no CUDA they are compiled only as a check: for one architecture.
function(qw_add_cuda_kernels name)
  add_library(${name} OBJECT ${QW_CUDA_KERNELS})
  set(architectures ${QW_CUDA_ARCHITECTURES})
  if(NOT architectures AND QW_HAS_CUDA)
    qw_all_major_architectures(architectures)
  elseif(NOT architectures)
    set(architectures 90)
  endif()
  message(STATUS "CUDA architectures: ${architectures} (CMAKE_CUDA_ARCHITECTURES)")
  set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Shared CUDA_ARCHITECTURES "${architectures}")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE --expt-relaxed-constexpr)
endfunction()

# qw_torch_parts again, with the CUDA kernels in place of the CPU's, run thread by thread: it makes any test of the
# operators a test of the kernels.
function(qw_add_emulated_torch)
  set(emulated)
  foreach(kernel ${QW_CUDA_KERNELS})
    get_filename_component(stem ${kernel} NAME_WE)
    set(copy ${CMAKE_BINARY_DIR}/emulated/${stem}_emulated.cpp)
    file(WRITE ${copy}.in "#include \"${kernel}\"\n")
    configure_file(${copy}.in ${copy} COPYONLY)
    list(APPEND emulated ${copy})
  endforeach()
  add_library(qw_emulated OBJECT ${emulated} ${CMAKE_SOURCE_DIR}/tests/emulator/emulator.cpp)
  target_include_directories(qw_emulated PRIVATE ${CMAKE_SOURCE_DIR}/tests/emulator ${CMAKE_SOURCE_DIR}/include
                                                 ${CMAKE_SOURCE_DIR}/src)
  # A fortified longjmp takes fibers for an attack. g++ for x86_64 takes what is loaded and used under one condition for
  # uninitialised.
  target_compile_options(qw_emulated PRIVATE -O2 -U_FORTIFY_SOURCE -Wno-unknown-pragmas -Wno-subobject-linkage
                                             -Wno-uninitialized -Wno-maybe-uninitialized)
  file(GLOB operators CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/ops/*.cpp)
  add_library(qw_ops_emulated OBJECT ${operators})
  target_compile_definitions(qw_ops_emulated PRIVATE QW_HAS_CUDA=0 QW_CUDA_EMULATOR=1)
  target_compile_options(qw_ops_emulated PRIVATE -O1 -Wno-maybe-uninitialized)  # as qw_ops
  target_include_directories(qw_ops_emulated PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(qw_ops_emulated PRIVATE torch fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX)  # as qw_ops
  target_precompile_headers(qw_ops_emulated REUSE_FROM qw_ops)
  add_library(qw_torch_emulated_parts INTERFACE)
  target_sources(qw_torch_emulated_parts INTERFACE $<TARGET_OBJECTS:qw_kernels> $<TARGET_OBJECTS:qw_emulated>
                 $<TARGET_OBJECTS:qw_ops_emulated>)
  target_link_libraries(qw_torch_emulated_parts INTERFACE torch fmt::fmt $<LINK_ONLY:OpenMP::OpenMP_CXX>)
endfunction()
