# Files of share/ become part of the library, so that a program finds them wherever it is installed.
# qw_embed(<target> <folder>): embedded_files() of src/study/embedded.h gives them, by their path in <folder>.

function(qw_embed target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*)
  set(entries "")
  foreach(name ${files})
    file(READ ${folder}/${name} text)
    string(APPEND entries "    {\"${name}\", R\"QW_FILE(${text})QW_FILE\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "#include \"study/embedded.h\"

namespace qw {

const std::map<std::string, std::string_view>& embedded_files() {
  static const std::map<std::string, std::string_view> kFiles{
${entries}  };
  return kFiles;
}

}  // namespace qw
")
  target_sources(${target} PRIVATE ${source})
endfunction()
