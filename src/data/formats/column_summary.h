// What a first pass over a node table learns about its columns, and what they are then taken for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/node_layout.h"
#include "data/formats/numbers.h"

namespace qw {

inline constexpr size_t kMostCategories = 1000;

enum class ColumnKind { kEmpty, kNumber, kTruth, kText };

// A cell and its line in the file.
struct CellPlace {
  std::string cell;
  int64_t line = 0;
};

// One end of a column's numbers, and the number next to it.
struct NumberEnd {
  std::optional<double> last, next;
  int64_t count = 0;  // of `last`

  // `sign` 1: the largest of them; -1: the smallest.
  void see(double number, int sign);
};

// The cells of a column as numbers with one decimal mark.
struct NumberTally {
  int64_t numbers = 0;
  int64_t marked = 0;     // numbers with a decimal mark
  int64_t ambiguous = 0;  // those of them that may have a thousands separator instead
  bool whole = true;
  double sum = 0;
  NumberEnd lowest, highest;
  CellPlace first_marked;
  CellPlace first_other;  // the first cell that is no number
};

struct ColumnSummary {
  ColumnKind kind = ColumnKind::kEmpty;  // known after take_columns()
  NumberFormat format;
  int64_t present = 0;
  std::map<std::string, int64_t, std::less<>> missing;  // cells by spelling; "" is the empty cell
  std::set<std::string, std::less<>> values;  // different cells, up to one more than kMostCategories
  int64_t truths = 0;                         // true, false, yes, no
  int64_t trues = 0;
  int64_t number_like = 0;  // numbers to people, whether we read them or not
  NumberTally point, comma;

  void see(std::string_view cell, int64_t line, const MissingSpellings& spellings);

  const NumberTally& tally() const { return format.decimal == ',' ? comma : point; }
  int64_t missing_count() const;
  double mean() const;
  // A cell of a column of numbers or truths (1 and 0).
  std::optional<double> number(std::string_view cell) const;
  // "2 empty cells", "3 missing cells (2 empty, 1 'NA')".
  std::string missing_text() const;
  // -999, 9999 and the like, several of them and far from all else, which many files write for "unknown":
  // "-999 in 12 rows, far from all other numbers; if it means unknown, say --missing=-999 ...". Else empty.
  std::string number_for_unknown() const;
  bool has_missing_words() const { return missing.size() > missing.count(""); }
};

// Goes over all rows, and returns one summary per column; only those of features and targets are filled.
struct TableSummary {
  int64_t rows = 0;
  std::vector<ColumnSummary> columns;
};
TableSummary summarise(const NodeTableText& table);

// Decides what each feature and target is: sets `kind` and `format`. Says in `notes` where a decimal comma
// was found. Throws qw::Error, with the line, on columns that are numbers to people but not to us, and on
// those with a slip in them; a target is let be when options.task says that it has classes.
void take_columns(const NodeTableText& table, const LoadOptions& options, TableSummary& summary,
                  std::vector<std::string>& notes);

}  // namespace qw
