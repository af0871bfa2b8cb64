# cpack: a relocatable archive (TGZ) and Debian packages (DEB), both from what cmake --install installs.

set(CPACK_PACKAGE_NAME qw)
set(CPACK_PACKAGE_VENDOR "The qw authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "learns node labels on graphs with the Quasi-Wasserstein loss")
set(CPACK_PACKAGE_CONTACT "The qw authors <qw@users.noreply.qw-authors.org>")
set(CPACK_PACKAGE_FILE_NAME qw-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program libraries development)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)  # one archive of everything
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME qw)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libqw0)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libqw-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)

set(about "It treats the known labels of a graph as one set, moves label mass along\nedges by optimal transport, and trains a \
graph neural network together\nwith that transport.\n")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${about}This package has the program qw.")
set(CPACK_COMPONENT_LIBRARIES_DESCRIPTION "${about}This package has the libraries.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${about}This package has what C++ programs need.")

# What the library package tells dpkg: who needs it, and that ldconfig must run.
set(control ${CMAKE_BINARY_DIR}/packaging)
set(shlibs "libqw 0 libqw0 (>= ${PROJECT_VERSION})\n")
if(QW_TORCH)
  string(APPEND shlibs "libqw_torch 0 libqw0 (>= ${PROJECT_VERSION})\nlibqw_learn 0 libqw0 (>= ${PROJECT_VERSION})\n")
endif()
file(WRITE ${control}/shlibs "${shlibs}")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libqw0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
if(QW_TORCH)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libtorch-dev, nlohmann-json3-dev")
endif()
# Where dpkg-shlibdeps finds our libraries, which are in no package yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/debian.cmake)
set(CPACK_QW_PACKAGING ${CMAKE_SOURCE_DIR}/packaging)
set(CPACK_QW_CHANGELOG ${CMAKE_BINARY_DIR}/changelog)
configure_file(${CMAKE_SOURCE_DIR}/packaging/changelog.in ${CPACK_QW_CHANGELOG} @ONLY)
include(CPack)
