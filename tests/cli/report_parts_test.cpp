// The parts of a report that need a real training: several labels, flows, names as data has them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

using test::qw;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportParts : public ::testing::Test {
 protected:
  std::string report_of(std::vector<std::string> command) {
    command.insert(command.end(), {"--quiet", "--out", folder()});
    const test::CommandResult result = qw(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const test::CommandResult made = qw({"report", folder(), "--out", page()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return read_file(page());
  }
  std::string folder() const { return folder_.path() / "run"; }
  std::string page() const { return folder_.path() / "report.html"; }

  test::TemporaryFolder folder_;
};

TEST_F(ReportParts, TransportIsInNumbersAndPaths) {
  const std::string html = report_of({"train", "karate", "--epochs", "30"});
  for (const char* part : {"Transport moved ", " predictions (", "Of the test nodes, ", "Flow over edges",
                           "exactly zero", "The largest paths", " → "})
    EXPECT_THAT(html, HasSubstr(part));
  std::filesystem::remove(folder() + "/run-0/manifest.json");
  write_file_atomically(folder() + "/run-0/flow.safetensors", "no flow");
  EXPECT_EQ(qw({"report", folder(), "--out", page()}).exit_code, 1);
}

TEST_F(ReportParts, OfSeveralLabels) {
  std::string nodes = "id,x,p,q,r\n", edges = "a,b\n";
  for (int i = 0; i < 60; ++i) {
    nodes += fmt::format("n{},{},{},{},{}\n", i, i % 7, i % 7 > 3 ? 1 : 0, i % 2, i % 3 == 0 ? "" : "1");
    edges += fmt::format("n{},n{}\n", i, (i + 1) % 60);
  }
  folder_.write("n.csv", nodes);
  folder_.write("e.csv", edges);
  const std::string at = folder_.path();
  const std::string html = report_of({"train", "--edges", at + "/e.csv", "--nodes", at + "/n.csv", "--id",
                                      "id", "--target", "p,q,r", "--epochs", "20"});
  for (const char* part : {"How well each label is found", "Each label", "probability of a label",
                           "labels that the set leaves open", "share of labels that is right",
                           "Nodes by label", "changed the predicted labels of"})
    EXPECT_THAT(html, HasSubstr(part));
}

// Ids, classes and columns as no one should call them.
TEST_F(ReportParts, NamesOfTheDataAreText) {
  const std::vector<std::string> names{"<script>alert(1)</script>", "\"'quoted'\" & more", "\xF0\x9F\x98\x80",
                                       "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
                                       "\xE2\x80\xAEturned" + std::string(300, 'w')};
  std::string nodes = "id,</script><b>,class\n", edges = "a,b\n";
  const auto id = [&](int i) { return csv_field(fmt::format("{} {}", names[i % 5], i)); };
  for (int i = 0; i < 60; ++i) {
    nodes += fmt::format("{},{},{}\n", id(i), i % 5, csv_field(names[i % 5]));
    edges += fmt::format("{},{}\n", id(i), id((i + 5) % 60));
  }
  folder_.write("n.csv", nodes);
  folder_.write("e.csv", edges);
  const std::string at = folder_.path();
  const std::string html = report_of({"train", "--edges", at + "/e.csv", "--nodes", at + "/n.csv", "--id",
                                      "id", "--target", "class", "--epochs", "5"});
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  for (const std::string& name :
       {std::string("&lt;script&gt;alert(1)&lt;/script&gt;"), names[2], names[3], std::string(300, 'w')})
    EXPECT_THAT(html, HasSubstr(name));
  EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xAE")));
  const std::regex script("<script type=\"application/json\">([^<]*)</script>");
  int charts = 0;
  for (std::sregex_iterator it(html.begin(), html.end(), script), end; it != end; ++it, ++charts)
    EXPECT_TRUE(nlohmann::json::accept((*it)[1].str())) << (*it)[1].str().substr(0, 200);
  EXPECT_GT(charts, 8);
}

}  // namespace
}  // namespace qw
