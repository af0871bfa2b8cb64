# cmake --install: the program, the library, its headers, and what find_package(qw) needs.
include(CMakePackageConfigHelpers)

install(TARGETS qw EXPORT qw-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(QW_TORCH)
  install(TARGETS qw_torch qw_learning EXPORT qw-torch-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS qw_learn_cli RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/qw)
  install(EXPORT qw-torch-targets NAMESPACE qw:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qw)
endif()
install(TARGETS qw_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/qw DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT qw-targets NAMESPACE qw:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qw)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/qwConfig.cmake.in ${CMAKE_BINARY_DIR}/qwConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qw)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/qwConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/qwConfig.cmake ${CMAKE_BINARY_DIR}/qwConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qw)
