// Files: whole reads, and writes that either happen or do not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qw {

// What the system says of an errno, in words that help.
std::string reason_of(int error_number);

// The whole file; throws qw::Error naming the path and the system's reason, also of what is larger than the
// memory there is. A pipe is read to its end; devices without an end are refused.
std::string read_file(const std::filesystem::path& path);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder: a reader sees
// the old file or the new one, never a part, also after a crash. Missing parent folders are made. A symbolic
// link is followed; what is no regular file is refused. The first write to a folder removes the temporary
// files that killed processes left there.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

// Renames `from` to `to` (same file system) and syncs both the file and the folder of `to`.
void publish_file(const std::filesystem::path& from, const std::filesystem::path& to);

// A name in the folder of `path` that no other process uses, for a file on its way to `path`.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

// Whether `part` has such a name, of a process that is gone. A writer holds a lock on its file: one in
// another container has a number that means nothing here.
bool is_abandoned(const std::filesystem::path& part);

}  // namespace qw
