#include "data/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

// Every test starts without the three variables; they come back afterwards.
class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"QW_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      saved_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      unsetenv(name);
    }
  }

  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST_F(CacheTest, TheFirstVariableThatIsSetDecides) {
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/qw");
  setenv("XDG_CACHE_HOME", "/var/caches", 1);
  EXPECT_EQ(cache_folder(), "/var/caches/qw");
  setenv("QW_CACHE_DIR", "here", 1);
  EXPECT_EQ(cache_folder(), "here");
}

TEST_F(CacheTest, EmptyVariablesAndARelativeXdgFolderAreSkipped) {
  setenv("QW_CACHE_DIR", "", 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/qw");
  setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/qw");
}

TEST_F(CacheTest, NoVariableIsAnError) {
  try {
    cache_folder();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "no folder for downloaded data: set QW_CACHE_DIR (XDG_CACHE_HOME and HOME are not set either)");
  }
}

TEST_F(CacheTest, CachedMeansEveryFileIsThere) {
  const fs::path root = fs::path(testing::TempDir()) / "qw_cache_test";
  fs::remove_all(root);
  setenv("QW_CACHE_DIR", root.c_str(), 1);
  DatasetCard card;
  card.name = "two-files";
  card.files = {{.name = "a"}, {.name = "b"}};
  EXPECT_EQ(dataset_folder(card), root / "datasets" / "two-files");
  EXPECT_FALSE(is_cached(card));
  fs::create_directories(dataset_folder(card));
  std::ofstream(dataset_folder(card) / "a") << "1";
  std::ofstream(dataset_folder(card) / "b.part") << "1";
  EXPECT_FALSE(is_cached(card));
  fs::create_directory(dataset_folder(card) / "b");
  EXPECT_FALSE(is_cached(card)) << "a folder is not a file";
  fs::remove(dataset_folder(card) / "b");
  fs::rename(dataset_folder(card) / "b.part", dataset_folder(card) / "b");
  EXPECT_TRUE(is_cached(card));
  fs::remove_all(root);
}

}  // namespace
}  // namespace qw
