# Installs, moves what was installed, trains there, and builds programs against it as other people would.
# Variables: BUILD, SOURCE, WORK, GENERATOR, COMPILER, LIBDIR, ARCHITECTURE, TORCH.

# Runs a command that must succeed; `output` is what it printed. No library is found by the environment.
function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${ARGV}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${ARGV} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_output pattern)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "'${pattern}' is not in:\n${output}")
  endif()
endfunction()

# The program in `prefix` works, and takes nothing from the build tree.
function(expect_working prefix)
  run(${prefix}/bin/qw --version)
  file(GLOB binaries ${prefix}/bin/* ${prefix}/libexec/qw/* ${prefix}/${LIBDIR}/*.so)
  foreach(binary ${binaries})
    run(ldd ${binary})
    if(output MATCHES "${BUILD}/lib|not found")
      message(FATAL_ERROR "${binary} does not find its libraries in ${prefix}:\n${output}")
    endif()
  endforeach()
  if(TORCH)
    run(${prefix}/bin/qw train karate --epochs 20)
    expect_output("accuracy +[01]\\.")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(RENAME ${WORK}/installed ${WORK}/moved)
set(prefix ${WORK}/moved)
expect_working(${prefix})

run(${CMAKE_COMMAND} -E env DESTDIR=${WORK}/root ${CMAKE_COMMAND} --install ${BUILD} --prefix /usr)
expect_working(${WORK}/root/usr)

# The manual page has every command.
run(${prefix}/bin/qw --help)
string(REGEX REPLACE ".*Subcommands:\n" "" commands "${output}")
string(REGEX MATCHALL "\n  [a-z0-9]+" commands "\n${commands}")
run(gzip -dc ${prefix}/share/man/man1/qw.1.gz)
foreach(command ${commands})
  string(STRIP ${command} command)
  expect_output("\n\\.B ${command}\n")
endforeach()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/examples -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/examples)
run(${WORK}/examples/inspect_graph karate)
expect_output("34 nodes, 78 edges")
run(${WORK}/examples/certified_distance karate)
expect_output("status: optimal\ndistance: ([0-9.]+), certified to lie in \\[[0-9.]+, [0-9.]+\\]")
if(TORCH)
  run(${WORK}/examples/own_model)
  expect_output("accuracy: (1|0\\.[0-9]+) of the training nodes, 0\\.[7-9][0-9]* of the test nodes\nflow: [1-9][0-9]* of")
  run(${WORK}/examples/fit_predict)
  expect_output("40 of 40 right")
endif()

# Components that are not there are named.
file(WRITE ${WORK}/unknown/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(unknown LANGUAGES NONE)\n"
     "find_package(qw REQUIRED COMPONENTS nonsense)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${WORK}/unknown -B ${WORK}/unknown/build
                        -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_LIBRARY_ARCHITECTURE=${ARCHITECTURE}
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT failed)
  message(FATAL_ERROR "a component 'nonsense' was found")
endif()
string(REGEX REPLACE "[ \n]+" " " output "${output}")
expect_output("qw has no component 'nonsense'; it has: torch, learn")

find_program(pkg_config pkg-config)
if(NOT pkg_config)
  message(STATUS "pkg-config was not found: its files are not tried")
  return()
endif()
set(packages qw)
if(TORCH)
  list(APPEND packages qw-learn)
endif()
foreach(package ${packages})
  run(PKG_CONFIG_PATH=${prefix}/${LIBDIR}/pkgconfig ${pkg_config} --cflags --libs ${package})
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${COMPILER} -std=c++20 ${SOURCE}/examples/certified_distance.cpp -o ${WORK}/by_${package} ${flags}
      -Wl,-rpath,${prefix}/${LIBDIR})
  run(${WORK}/by_${package} karate)
  expect_output("status: optimal")
endforeach()
