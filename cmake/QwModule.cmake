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

# A shared library of the objects it is linked with; other projects call it qw::<name>.
function(qw_add_shared_library target name)
  set(exported ${CMAKE_SOURCE_DIR}/cmake/exported.map)
  add_library(${target} SHARED)
  add_library(qw::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} SOVERSION 0 LINKER_LANGUAGE CXX LINK_DEPENDS ${exported})
  if(NOT QW_WHEEL)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION})
  endif()
  target_link_options(${target} PRIVATE LINKER:--version-script=${exported})
  if(NOT QW_SANITIZE AND NOT QW_FUZZ)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

# The standard headers that nearly every source includes, compiled once.
function(qw_precompile_headers target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory>
                            <optional> <span> <string> <string_view> <vector> <fmt/format.h>)
endfunction()

# LibTorch takes half a second to load: a few processes for all tests of a program instead of one for each.
function(qw_add_sharded_tests module label program environment)
  set(shards 4)
  set(prefix ${module})
  if(NOT label STREQUAL module)
    set(prefix ${module}.${label})
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(name ${prefix}.${shard}of${shards})
    add_test(NAME ${name} COMMAND ${program} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index};${environment}")
  endforeach()
endfunction()

# What all tests are compiled with.
function(qw_compile_tests target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE qw_test_support)
  target_compile_options(${target} PRIVATE -O1)  # what is tested is optimised; the tests need not be
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as the header that is reused
endfunction()

# One test program per module: tests/<module>/*_test.cpp, labelled with the module's name.
function(qw_add_tests module)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${module}/*_test.cpp)
  add_executable(qw_${module}_test ${sources})
  qw_compile_tests(qw_${module}_test)
  target_link_libraries(qw_${module}_test PRIVATE qw_parts ${ARGN})
  target_precompile_headers(qw_${module}_test REUSE_FROM qw_test_support)
  gtest_discover_tests(qw_${module}_test TEST_PREFIX ${module}. NO_PRETTY_VALUES PROPERTIES LABELS ${module} TIMEOUT 300
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_TIMEOUT 60)
endfunction()

# The same for modules that need LibTorch, whose objects beside those of the operators are given. Linked a second time, with
# the emulator in place of the kernels, they are tests of the CUDA code.
function(qw_add_torch_tests module)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${module}/*_test.cpp)
  set(cases qw_${module}_cases)
  add_library(${cases} OBJECT ${sources})
  qw_compile_tests(${cases})
  target_link_libraries(${cases} PRIVATE torch)
  target_precompile_headers(${cases} REUSE_FROM qw_torch_test_support)

  set(program qw_${module}_test)
  add_executable(${program} $<TARGET_OBJECTS:${cases}>)
  set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${program} PRIVATE ${ARGN} qw_torch_parts qw_parts qw_test_support)
  qw_add_sharded_tests(${module} ${module} ${program} "")
  if(QW_HAS_CUDA)
    qw_add_sharded_tests(${module} cuda ${program} "QW_TEST_DEVICE=cuda")
  elseif(TARGET qw_torch_emulated_parts AND NOT QW_SANITIZE)
    set(emulated qw_${module}_emulated_test)
    add_executable(${emulated} $<TARGET_OBJECTS:${cases}>)
    set_target_properties(${emulated} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${emulated} PRIVATE ${ARGN} qw_torch_emulated_parts qw_parts qw_test_support)
    # Threads of the host are not what is emulated, and thousands of steps would take minutes.
    qw_add_sharded_tests(${module} emulated ${emulated} "\
GTEST_FILTER=-*Thread*:*SameBits*:QwLoss.*:FlowStep.Proximal*:*OfManyColumns")
  endif()
endfunction()
