// The files of share/, as they were when qw was built (cmake/QwEmbed.cmake).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace qw {

const std::map<std::string, std::string_view>& embedded_files();  // by path: "sweeps/ce.json"

}  // namespace qw
