# Compiler, flags and third-party libraries, once for the whole tree.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Hidden but for what public headers declare (qw/core/export.h). Clang goes by the namespace where a thing is defined, not
# where it was declared first: what it compiles exports everything of ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(QW_CCACHE ccache)
if(QW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Clones of the project, wherever they are, share what is compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${QW_CCACHE})
endif()

# No -march=native: what is built here runs on any machine of the architecture. No contraction to fused
# multiply-add: generated data has the same bits on every platform.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Werror=return-type;-ffp-contract=off>")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-psabi>")  # false alarms of g++ 12 inside std::string
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>")  # takes spans for owners
  endif()
endif()
if(QW_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()
if(QW_SANITIZE OR QW_FUZZ)
  set(QW_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${QW_SANITIZERS}>")
  add_link_options(${QW_SANITIZERS})
endif()

if(QW_FUZZ)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>")  # coverage of the library is what guides the fuzzer
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
if(NOT QW_FUZZ)
  find_package(CLI11 REQUIRED)
endif()
if(NOT QW_FUZZ)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
# METIS cuts graphs where it is there; a wheel holds what every machine has.
set(QW_HAS_METIS 0)
if(QW_METIS AND NOT QW_FUZZ AND NOT QW_WHEEL)
  find_path(QW_METIS_INCLUDE metis.h)
  find_library(QW_METIS_LIBRARY metis)
  if(QW_METIS_INCLUDE AND QW_METIS_LIBRARY)
    set(QW_HAS_METIS 1)
  else()
    message(STATUS "METIS was not found: qw data partition has no --method metis")
  endif()
endif()
set(QW_LIBTORCH_VERSION "")
set(QW_HAS_CUDA 0)
if(QW_TORCH)
  include(QwCuda)
  include(QwTorch)
endif()
set(QW_HAS_POSTGRES 0)
if(QW_TORCH AND QW_SWEEP)
  if(QW_POSTGRES)
    find_path(QW_LIBPQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql pgsql)
    find_library(QW_LIBPQ_LIBRARY pq)
    if(QW_LIBPQ_INCLUDE AND QW_LIBPQ_LIBRARY)
      set(QW_HAS_POSTGRES 1)
    else()
      message(STATUS "libpq was not found: --store takes files only, no postgresql://... (libpq-dev)")
    endif()
  endif()
  find_package(SQLite3)
  if(NOT SQLite3_FOUND)
    message(FATAL_ERROR "SQLite was not found: qw sweep and qw reproduce keep their results in it. Install Debian's "
                        "libsqlite3-dev (make deps does), or name another with -DCMAKE_PREFIX_PATH=/path/to/sqlite, or "
                        "build without these two: -DQW_SWEEP=OFF")
  endif()
  if(NOT TARGET SQLite3::SQLite3)
    add_library(SQLite3::SQLite3 ALIAS SQLite::SQLite3)  # its older name
  endif()
endif()
