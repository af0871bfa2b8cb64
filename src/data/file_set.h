// Where a reader finds its files: a folder on disk, or memory (tests and fuzzing).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace qw {

class FileSet {
 public:
  FileSet() = default;
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;
  virtual ~FileSet() = default;

  virtual bool has(const std::string& name) const = 0;
  virtual std::string read(const std::string& name) const = 0;   // raw bytes; throws when absent
  virtual std::string label(const std::string& name) const = 0;  // how an error message calls the file
  virtual std::vector<std::string> names() const = 0;  // plain files, sorted, sub-folders not entered

  // `name` as text: read as it is or, when its name ends in ".gz", unpacked.
  std::string read_text(const std::string& name) const;
};

class FolderFiles : public FileSet {
 public:
  explicit FolderFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  bool has(const std::string& name) const override;
  std::string read(const std::string& name) const override;
  std::string label(const std::string& name) const override;
  std::vector<std::string> names() const override;

 private:
  std::filesystem::path path_of(const std::string& name) const;

  std::filesystem::path folder_;
};

class MemoryFiles : public FileSet {
 public:
  explicit MemoryFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  bool has(const std::string& name) const override { return files_.contains(name); }
  std::string read(const std::string& name) const override;
  std::string label(const std::string& name) const override { return name; }
  std::vector<std::string> names() const override;

 private:
  std::map<std::string, std::string> files_;
};

}  // namespace qw
