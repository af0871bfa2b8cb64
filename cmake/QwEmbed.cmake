# Files become part of a library, so that a program finds them wherever it is installed.
# qw_embed(<target> <folder> <function>): the function, of src/core/embedded.h, gives them by their path in <folder>.

function(qw_embed target folder function)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*)
  set(entries "")
  foreach(name ${files})
    file(READ ${folder}/${name} text)
    string(APPEND entries "    {\"${name}\", R\"QW_FILE(${text})QW_FILE\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "#include \"core/embedded.h\"

namespace qw {

const EmbeddedFiles& ${function}() {
  static const EmbeddedFiles kFiles{
${entries}  };
  return kFiles;
}

}  // namespace qw
")
  target_sources(${target} PRIVATE ${source})
endfunction()
