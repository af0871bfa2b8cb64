// Checksums of the files in a folder: manifest.json, {"schema": 1, "files": {"model.json": "<sha256>", ...}}.
// One changed bit in a model changes predictions without a word; here it is noticed when the file is read.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace qw {

inline constexpr const char* kManifestFile = "manifest.json";

class Manifest {
 public:
  explicit Manifest(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Throws qw::Error when the folder has none, or one that is not in order.
  static Manifest read(const std::filesystem::path& folder);
  static Manifest parse(std::string_view text, const std::filesystem::path& folder);
  static bool exists_in(const std::filesystem::path& folder);

  void add(const std::string& name);                             // a file that is there
  void add(const std::string& name, std::string_view contents);  // one that is about to be
  void write() const;                                            // atomically

  bool lists(const std::string& name) const { return files_.contains(name); }
  // Throws qw::Error, naming the file, when it is not listed, is gone, or is not what it was.
  void check(const std::string& name) const;
  // Its contents, checked.
  std::string contents(const std::string& name) const;

 private:
  const std::string& checksum(const std::string& name) const;

  std::filesystem::path folder_;
  std::map<std::string, std::string> files_;
};

}  // namespace qw
