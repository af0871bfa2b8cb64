// Long runs of blanks are read in linear time: each of these takes a second at most, and would take the
// better part of an hour if every blank line or cell were looked at once for every other.
#include "data/formats/csv.h"
#include "data/readers/reader.h"
#include "support/support.h"

namespace qw {
namespace {

constexpr int kMany = 3'000'000;

int64_t count_rows(CsvScanner& scanner) {
  std::vector<std::string_view> fields;
  int64_t rows = 0;
  while (scanner.next(fields)) ++rows;
  return rows;
}

TEST(CsvBlanks, BlankRowsOfOneColumn) {
  for (const std::string line_end : {"\n", "\r\n"}) {
    std::string text = "age" + line_end;
    for (int k = 0; k < kMany; ++k) text += line_end;
    CsvScanner scanner(text, "n.csv");
    scanner.keep_blank_rows();
    EXPECT_EQ(count_rows(scanner), 1) << "only blank lines follow";
    text += "7" + line_end + line_end;
    CsvScanner with_end(text, "n.csv");
    with_end.keep_blank_rows();
    EXPECT_EQ(count_rows(with_end), kMany + 2);
    EXPECT_EQ(with_end.line(), kMany + 2);
    CsvScanner skipping(text, "n.csv");
    EXPECT_EQ(count_rows(skipping), 2);
  }
}

TEST(CsvBlanks, BlankLinesAndCellsOfATable) {
  const std::string blanks(kMany, ' ');
  const std::string blank_lines(kMany, '\n');
  LoadOptions options;
  options.edges = "e.csv";
  options.nodes = "n.csv";
  options.target = "team";
  const MemoryFiles files({{"e.csv", blank_lines + "a,b\n" + blank_lines + "x,y" + blanks + "\n" + blanks +
                                         "\ny,x\n" + blank_lines},
                           {"n.csv", "id,age,team\n" + blank_lines + "x," + blanks + "1,red\ny," + blanks +
                                         ",blue" + blanks + "\n" + blank_lines}});
  const Dataset dataset = kCsvReader.read(files, "", options);
  EXPECT_EQ(dataset.graph.num_nodes(), 2);
  EXPECT_EQ(dataset.graph.num_edges(), 1);
  EXPECT_EQ(dataset.targets.names, (std::vector<std::string>{"blue", "red"}));
}

TEST(CsvBlanks, ANodeTableOfOneColumn) {
  LoadOptions options;
  options.edges = "e.csv";
  options.nodes = "n.csv";
  options.id = "row-number";
  options.target = "age";
  const MemoryFiles files(
      {{"e.csv", "a,b\n0,1\n"}, {"n.csv", "age\n1" + std::string(kMany / 10, '\n') + "2\n"}});
  EXPECT_EQ(kCsvReader.read(files, "", options).graph.num_nodes(), kMany / 10 + 1);
}

}  // namespace
}  // namespace qw
