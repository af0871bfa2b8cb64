# Makes what was staged for each package a Debian package: no run paths, since the libraries are the system's, and the
# documents that every package has.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

foreach(component program libraries development)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr)

  file(GLOB_RECURSE binaries ${root}/bin/* ${root}/libexec/* ${root}/lib/*.so.*)
  foreach(binary ${binaries})
    if(NOT IS_SYMLINK ${binary})
      file(RPATH_REMOVE FILE ${binary})  # does nothing where there is none
    endif()
  endforeach()

  set(documents ${root}/share/doc/${package})
  configure_file(${CPACK_QW_PACKAGING}/copyright ${documents}/copyright COPYONLY)
  execute_process(COMMAND gzip -9nc ${CPACK_QW_CHANGELOG} OUTPUT_FILE ${documents}/changelog.gz
                  COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${CPACK_QW_PACKAGING}/${package}.lintian-overrides)
    configure_file(${CPACK_QW_PACKAGING}/${package}.lintian-overrides ${root}/share/lintian/overrides/${package} COPYONLY)
  endif()
endforeach()
