// Files that were made part of the program (cmake/QwEmbed.cmake), by their path: "sweeps/ce.json".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace qw {

using EmbeddedFiles = std::map<std::string, std::string_view>;

const EmbeddedFiles& embedded_share();  // the folder share/
const EmbeddedFiles& embedded_paper();  // src/paper/data
const EmbeddedFiles& embedded_page();   // src/report/page

}  // namespace qw
