#include "qw/data/card.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "core/sha256.h"
#include "support/skip_report.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST(Card, NamesAreUniqueAndFoundAgain) {
  std::set<std::string> names;
  for (const DatasetCard& card : dataset_cards()) {
    EXPECT_TRUE(names.insert(card.name).second) << card.name;
    EXPECT_EQ(find_card(card.name), &card);
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(find_card("no-such-name"), nullptr);
  EXPECT_EQ(find_card(""), nullptr);
}

TEST(Card, EveryFieldIsFilledIn) {
  for (const DatasetCard& card : dataset_cards()) {
    SCOPED_TRACE(card.name);
    EXPECT_FALSE(card.title.empty());
    EXPECT_FALSE(card.source.empty());
    EXPECT_FALSE(card.reader.empty());
    EXPECT_GT(card.nodes, 0);
    EXPECT_GT(card.edges, 0);
    EXPECT_GT(card.features, 0);
    EXPECT_EQ(card.classes == 0, card.options.task == "regression");
    EXPECT_NE(card.classes, 1);
    EXPECT_EQ(card.directed, card.options.directed);
    EXPECT_FALSE(card.files.empty());
    std::set<std::string> names;
    for (const FileCard& file : card.files) {
      EXPECT_TRUE(names.insert(file.name).second) << file.name;
      EXPECT_TRUE(is_sha256(file.sha256)) << file.name;
      EXPECT_TRUE(file.url.empty() || file.url.starts_with("https://")) << file.url;
      EXPECT_TRUE(!file.published_bytes_differ || !file.url.empty()) << file.name;
    }
    for (const std::string& named : {card.entry, card.options.edges, card.options.nodes}) {
      EXPECT_TRUE(named.empty() || names.contains(named)) << named;
    }
  }
}

TEST(Card, CountyFacebookIsOnlyInMirrors) {
  const DatasetCard* card = find_card("county-facebook");
  ASSERT_NE(card, nullptr);
  for (const FileCard& file : card->files) EXPECT_EQ(file.url, "");
  EXPECT_EQ(card->options.target, "MedianIncome");
}

TEST(Card, LeakingGraphsCarryAWarning) {
  for (const DatasetCard& card : dataset_cards()) {
    const bool leaks = card.name.starts_with("chameleon") || card.name == "squirrel";
    EXPECT_EQ(card.warning.find("duplicate nodes") != std::string::npos, leaks) << card.name;
  }
}

TEST(Card, SharedFilesHaveTheirChecksums) {
  const fs::path shared = "../shared/datasets";
  QW_SKIP_WITHOUT(shared);
  for (const DatasetCard& card : dataset_cards()) {
    for (const FileCard& file : card.files) {
      const fs::path path = shared / card.mirror_folder() / file.name;
      ASSERT_TRUE(fs::is_regular_file(path)) << path;
      EXPECT_EQ(sha256_hex_of_file(path), file.sha256) << path;
    }
  }
}

}  // namespace
}  // namespace qw
