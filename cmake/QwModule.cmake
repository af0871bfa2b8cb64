# A module is a folder under src/ that becomes an object library; who may include whom is checked by
# tools/check_layers.py. Sources are found by their place, so adding a file is all it takes to add a thing.

function(qw_add_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT QW_HAS_CUDA)
    list(FILTER sources EXCLUDE REGEX "_cuda\\.cpp$")
  endif()
  add_library(qw_${name} OBJECT ${sources})
  target_include_directories(qw_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(qw_${name} PUBLIC ${ARGN} fmt::fmt nlohmann_json::nlohmann_json)
  if(TARGET OpenMP::OpenMP_CXX)
    target_link_libraries(qw_${name} PUBLIC OpenMP::OpenMP_CXX)
  endif()
endfunction()

# The standard headers that nearly every source includes, compiled once.
function(qw_precompile_headers target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory>
                            <optional> <span> <string> <string_view> <vector> <fmt/format.h>)
endfunction()

# LibTorch takes half a second to load: a few processes for all tests of a program instead of one for each.
function(qw_add_sharded_tests module label environment)
  set(shards 4)
  set(prefix ${module})
  if(NOT label STREQUAL module)
    set(prefix ${module}.${label})
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(name ${prefix}.${shard}of${shards})
    add_test(NAME ${name} COMMAND qw_${module}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index};${environment}")
  endforeach()
endfunction()

# One test program per module: tests/<module>/*_test.cpp, labelled with the module's name.
function(qw_add_tests module)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${module}/*_test.cpp)
  add_executable(qw_${module}_test ${sources})
  target_include_directories(qw_${module}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(qw_${module}_test PRIVATE qw_test_support ${ARGN})
  target_compile_options(qw_${module}_test PRIVATE -O1)  # what is tested is optimised; the tests need not be
  set_target_properties(qw_${module}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as the header that is reused
  if("qw_torch" IN_LIST ARGN)
    target_compile_definitions(qw_${module}_test PRIVATE FMT_HEADER_ONLY=1)
    target_precompile_headers(qw_${module}_test PRIVATE <ATen/ATen.h> <gtest/gtest.h>)
  else()
    target_precompile_headers(qw_${module}_test REUSE_FROM qw_test_support)
  endif()
  if("qw_torch" IN_LIST ARGN)
    qw_add_sharded_tests(${module} ${module} "")
    if(QW_HAS_CUDA)
      qw_add_sharded_tests(${module} cuda "QW_TEST_DEVICE=cuda")
    elseif(TARGET qw_torch_emulated AND NOT QW_SANITIZE)
      # Threads of the host are not what is emulated, and thousands of steps would take minutes.
      qw_add_sharded_tests(${module} emulated "LD_PRELOAD=$<TARGET_FILE:qw_torch_emulated>;\
GTEST_FILTER=-*Thread*:*SameBits*:QwLoss.*:FlowStep.Proximal*:*OfManyColumns")
    endif()
  else()
    gtest_discover_tests(qw_${module}_test TEST_PREFIX ${module}. NO_PRETTY_VALUES PROPERTIES LABELS ${module} TIMEOUT 300
                         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
