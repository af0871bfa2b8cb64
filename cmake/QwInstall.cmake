# cmake --install: the programs, the libraries, their headers, and what find_package(qw) and pkg-config need.
# Everything finds everything by relative paths: the installed folder can be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/qw)

# qw_install_library(<target> <name>): the library, its CMake targets, its pkg-config file. Libraries look for each other in
# their own folder, and for a LibTorch that is not the system's where it was found.
function(qw_install_library target name)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${target} EXPORT ${name}-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries NAMELINK_COMPONENT development)
  install(EXPORT ${name}-targets NAMESPACE qw:: DESTINATION ${package_dir} COMPONENT development)
  configure_file(${CMAKE_SOURCE_DIR}/packaging/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# For the pkg-config files.
file(RELATIVE_PATH QW_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" QW_PC_PREFIX ${QW_PC_PREFIX})
if(QW_TORCH)
  get_target_property(torch_includes torch INTERFACE_INCLUDE_DIRECTORIES)
  list(TRANSFORM torch_includes PREPEND -I)
  list(JOIN torch_includes " " QW_PC_TORCH_CFLAGS)
  set(torch_libraries torch torch_cpu c10)
  if(QW_HAS_CUDA)
    list(APPEND torch_libraries torch_cuda c10_cuda)
  endif()
  list(TRANSFORM torch_libraries PREPEND -l)
  list(JOIN torch_libraries " " QW_PC_TORCH_LIBS)
  set(QW_PC_TORCH_LIBS "-L${TORCH_INSTALL_PREFIX}/lib ${QW_PC_TORCH_LIBS}")
endif()

qw_install_library(qw qw)
add_custom_target(qw_installed DEPENDS qw qw_cli)  # all that is installed
install(TARGETS qw_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(QW_TORCH)
  qw_install_library(qw_torch qw-torch)
  qw_install_library(qw_learning qw-learn)
  add_dependencies(qw_installed qw_torch qw_learning qw_learn_cli)
  set_target_properties(qw_learn_cli PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS qw_learn_cli RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/qw COMPONENT program)
endif()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/qw DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/qwConfig.cmake.in ${CMAKE_BINARY_DIR}/qwConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/qwConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/qwConfig.cmake ${CMAKE_BINARY_DIR}/qwConfigVersion.cmake DESTINATION ${package_dir}
        COMPONENT development)

configure_file(${CMAKE_SOURCE_DIR}/packaging/qw.1.in ${CMAKE_BINARY_DIR}/qw.1 @ONLY)
execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/qw.1 OUTPUT_FILE ${CMAKE_BINARY_DIR}/qw.1.gz
                COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${CMAKE_BINARY_DIR}/qw.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)

include(${CMAKE_CURRENT_LIST_DIR}/QwPackages.cmake)
