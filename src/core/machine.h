// The machine that this process runs on, in words: what a reader of measured times wants to know.
#pragma once

#include <string>

namespace qw {

std::string processor_name();  // "Intel(R) Xeon(R) Processor"; the architecture where the system has no name

// The name in the text of /proc/cpuinfo; empty: there is none.
std::string processor_name_in(const std::string& cpuinfo);

// On which this process may run: at least 1.
int usable_cores();

}  // namespace qw
