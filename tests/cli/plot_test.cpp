// `qw plot` on tables and figures as people have them.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

using test::expect_refused;
using test::qw;

class Plot : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    folder_.write(name, text);
    return folder_.path() / name;
  }
  std::string drawn(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"plot"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const test::CommandResult result = qw(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  test::TemporaryFolder folder_;
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_F(Plot, ATableBecomesLinesOrBars) {
  const std::string lines = drawn({write("t.csv", "epoch,loss,note\n0,3,a\n1,2,b\n2,NA,c\n")});
  EXPECT_EQ(count(lines, "<polyline"), 1u);  // a column of text is left out
  EXPECT_EQ(count(lines, "<circle"), 2u);    // a missing number is a gap
  EXPECT_THAT(lines, ::testing::HasSubstr(">epoch<"));
  const std::string bars = drawn({write("b.csv", "model;accuracy\ngcn;0.8\nmlp;0.6\n"), "--title", "A & B"});
  EXPECT_THAT(bars, ::testing::HasSubstr(">mlp<"));
  EXPECT_THAT(bars, ::testing::HasSubstr("A &amp; B"));
}

TEST_F(Plot, EpochsOfATrainingAreDrawn) {
  const std::string file =
      write("metrics.jsonl", "{\"epoch\":0,\"loss\":3,\"val\":0.5}\n{\"epoch\":1,\"loss\":2,\"val\":0.6}\n");
  EXPECT_EQ(count(drawn({file}), "<polyline"), 2u);
  EXPECT_EQ(count(drawn({file, "--y", "val"}), "<polyline"), 1u);
}

TEST_F(Plot, RowsAreCountedOrMakeAMatrix) {
  const std::string counted =
      drawn({write("h.csv", "v\n1\n1\n2\n9\n"), "--kind", "histogram", "--bins", "4"});
  EXPECT_THAT(counted, ::testing::HasSubstr(">rows<"));
  const std::string file = write("m.csv", "true,a,b\na,5,1\nb,0,4\n");
  const std::string matrix = drawn({file, "--kind", "matrix"});
  EXPECT_EQ(count(matrix, "fill-opacity"), 4u);
  const std::string intervals = drawn({file, "--kind", "intervals", "--y", "a"});
  EXPECT_THAT(intervals, ::testing::HasSubstr(">b<"));
}

TEST_F(Plot, AFigureIsDrawnToAFile) {
  const std::string figure =
      write("f.json", R"({"title": "F", "series": [{"name": "s", "x": [0, 1], "y": [1, 2]}]})");
  const std::string out = folder_.path() / "f.svg";
  EXPECT_EQ(drawn({figure, "--out", out}), "");
  EXPECT_EQ(count(read_file(out), "<polyline"), 1u);
  expect_refused({"plot", figure, "--kind", "bars"}, 2,
                 "qw plot: --kind, --x and --y are for tables; a figure in JSON says them itself");
  expect_refused({"plot", figure, "--out", "f.gif"}, 2, "qw plot: --out 'f.gif' must end in .svg or .png");
}

TEST_F(Plot, WhatCannotBeDrawnIsSaid) {
  const std::string file = write("t.csv", "name,score\na,1\nb,x\n");
  expect_refused({"plot", file, "--y", "scor"}, 2,
                 "qw plot: --y 'scor' is unknown; did you mean 'score'? known: name, score");
  expect_refused({"plot", file, "--x", "nam"}, 2,
                 "qw plot: --x 'nam' is unknown; did you mean 'name'? known: name, score");
  expect_refused({"plot", file}, 1, "qw: " + file + ": has no column of numbers beside 'name'");
  expect_refused({"plot", file, "--y", "score"}, 1,
                 "qw: " + file + ": column 'score' has text where numbers are drawn");
  const std::string named = write("n.csv", "name,score\na,1\n");
  expect_refused({"plot", named, "--kind", "lines"}, 1,
                 "qw: " + named + ": column 'name' has text where numbers are drawn");
  const std::string uneven = write("u.csv", "a,b\n1,2\n3\n");
  expect_refused({"plot", uneven}, 1, "qw: " + uneven + ":3: 1 fields, the header has 2");
  const std::string empty = write("e.csv", "a,b\n");
  expect_refused({"plot", empty}, 1, "qw: " + empty + ": has no rows to draw");
  const std::string lines = write("l.jsonl", "{\"a\":1}\n[2]\n");
  expect_refused({"plot", lines}, 1, "qw: " + lines + ": row 2 is no JSON object");
}

}  // namespace
}  // namespace qw
