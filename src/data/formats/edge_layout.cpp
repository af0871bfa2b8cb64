#include "data/formats/edge_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/excerpt.h"
#include "core/text.h"
#include "data/formats/end_names.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kNoColumn = EdgeLayout::kNoColumn;
constexpr size_t kSampleRows = 100;
using Sample = std::vector<std::vector<std::string>>;  // the first rows
constexpr const char* kSaysDirected =
    "the file says that its edges are directed, but they are read without direction; --directed keeps it";

bool is_number(std::string_view field) {
  const auto number = parse_number(trim(field));
  return number && std::isfinite(*number);
}

// What is known before the first row.
struct Preamble {
  size_t end = 0;  // where the first row begins
  int64_t lines = 0;
  char separator = '\0';  // that a line "sep=;" names
  std::vector<std::string_view> comments;
};

Preamble read_preamble(std::string_view text, bool comments) {
  Preamble preamble;
  const SeparatorLine named = separator_line(text);
  preamble.separator = named.separator;
  preamble.end = named.end;
  preamble.lines = named.end > 0 ? 1 : 0;
  while (preamble.end < text.size()) {
    const size_t end = std::min(text.find('\n', preamble.end), text.size());
    const std::string_view line = text.substr(preamble.end, end - preamble.end);
    const bool is_comment = comments && is_comment_line(line);
    if (!is_comment && !is_blank_line(line)) break;
    if (is_comment) preamble.comments.push_back(line);
    preamble.end = std::min(end + 1, text.size());
    ++preamble.lines;
  }
  return preamble;
}

// KONECT's first line is "% bip weighted": sym, asym or bip. SNAP writes "# Directed graph (each ...".
void heed_comments(const Preamble& preamble, const LoadOptions& options, EdgeLayout& layout) {
  bool bipartite = false, directed = false;
  for (const std::string_view comment : preamble.comments) {
    std::istringstream words{lower(comment.substr(1))};
    std::string first, second;
    words >> first >> second;
    bipartite |= comment.front() == '%' && first == "bip";
    directed |= (comment.front() == '%' && first == "asym") ||
                (comment.front() == '#' && first == "directed" && second.starts_with("graph"));
  }
  layout.bipartite = options.bipartite == "yes" || (bipartite && options.bipartite == "auto");
  if (bipartite && options.bipartite == "auto") {
    layout.notes.emplace_back(
        "the file says 'bip': its two columns count their nodes apart, as left:1 and right:1; --bipartite no "
        "makes equal ids one node");
  }
  if (directed && !options.directed) {
    layout.notes.emplace_back(kSaysDirected);
  }
}

std::vector<std::string> asked_columns(const LoadOptions& options) {
  std::vector<std::string> asked;
  for (const std::string& name :
       {options.source, options.destination, options.edge_cost, options.edge_weight}) {
    if (!name.empty()) asked.push_back(name);
  }
  return asked;
}

// Whether the first row names the columns.
void judge_first_row(const std::vector<std::string_view>& fields, const LoadOptions& options,
                     EdgeLayout& layout) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const std::string_view field : fields) names.emplace_back(trim(field));
  const bool known_ends = ends_by_name(names).found();
  if (options.header != "auto") {
    layout.has_header = options.header == "yes";
  } else if (is_number(fields[0]) && is_number(fields[1])) {
    layout.has_header = false;
  } else {
    const std::vector<std::string> asked = asked_columns(options);
    const bool has_asked = std::any_of(asked.begin(), asked.end(), [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
    const bool certain = known_ends || has_asked;
    const bool may_be_edge = layout.style.separator == ' ' || layout.style.attributes;
    layout.has_header = certain || !may_be_edge;
    layout.header_is_guess = !certain;
  }
  layout.names_are_ends = layout.has_header && known_ends;
  if (layout.has_header) return;
  for (size_t column = 0; column < fields.size(); ++column)
    layout.names.push_back(std::to_string(column + 1));
}

bool counts_rows(const Sample& sample, size_t column) {
  const auto first = sample.empty() ? std::nullopt : parse_integer(sample[0][column]);
  if (!first || (*first != 0 && *first != 1)) return false;
  for (size_t row = 0; row < sample.size(); ++row) {
    if (parse_integer(sample[row][column]) != *first + static_cast<int64_t>(row)) return false;
  }
  return true;
}

void say_ends(EdgeLayout& layout) {
  layout.notes.push_back(
      fmt::format("edges go from column {} to column {}; --source and --destination name others",
                  in_quotes(layout.names[layout.tail]), in_quotes(layout.names[layout.head])));
}

// The columns that the options name; of what they leave open, what the header says; else the first two.
void choose_ends(const LoadOptions& options, const Sample& sample, EdgeLayout& layout) {
  const CsvHeader header{layout.label, layout.names};
  const auto named = [&](const std::string& name, const char* option) {
    return name.empty() ? kNoColumn : header.column(name, option);
  };
  layout.tail = named(options.source, "--source");
  layout.head = named(options.destination, "--destination");
  const EndColumns known = layout.has_header ? ends_by_name(layout.names) : EndColumns{};
  if (layout.tail == kNoColumn && layout.head == kNoColumn) {
    const bool index_first = !known.found() && layout.width >= 3 && layout.has_header &&
                             is_unnamed(layout.names[0]) && counts_rows(sample, 0);
    const EndColumns ends = known.found() ? known : index_first ? EndColumns{1, 2} : EndColumns{0, 1};
    layout.tail = ends.tail;
    layout.head = ends.head;
    if (layout.tail != 0 || layout.head != 1) say_ends(layout);
    return;
  }
  // One end by name leaves its partner, or the other of the first two columns.
  if (layout.head == kNoColumn)
    layout.head = known.tail == layout.tail ? known.head : layout.tail == 1 ? 0 : 1;
  if (layout.tail == kNoColumn)
    layout.tail = known.head == layout.head ? known.tail : layout.head == 0 ? 1 : 0;
  if (layout.tail == layout.head) {
    fail_usage(fmt::format("{}: --source and --destination are the same column, {}", layout.label,
                           in_quotes(layout.names[layout.tail])));
  }
}

// A cost or weight is a column or, in a file of networkx, an attribute.
void choose_value(const std::string& name, const char* option, const EdgeLayout& layout, size_t& column,
                  std::string& attribute) {
  if (name.empty()) return;
  const bool is_column = std::find(layout.names.begin(), layout.names.end(), name) != layout.names.end();
  if (layout.style.attributes && !is_column) {
    attribute = name;
  } else {
    column = CsvHeader{layout.label, layout.names}.column(name, option);
  }
}

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0; });
}

// "ann knows bob", "1 -> 2": what stands between the ends is no end. A weighted star, whose second end is the
// same in all rows, has numbers in its third column only.
void refuse_relation(const LoadOptions& options, const Sample& sample, const EdgeLayout& layout) {
  if (!options.source.empty() || !options.destination.empty() || layout.names_are_ends) return;
  if (layout.width < 3 || layout.style.attributes || layout.tail != 0 || layout.head != 1 || sample.empty())
    return;
  const std::string& word = sample[0][1];
  const auto all = [&](const auto& holds) { return std::all_of(sample.begin(), sample.end(), holds); };
  const bool is_same = all([&](const auto& row) { return row[1] == word; });
  const bool is_sign = !word.empty() && !has_letters(word);
  if (!is_same || is_number(word) || word.empty() || (sample.size() < 2 && !is_sign)) return;
  const bool is_star =
      all([](const auto& row) { return is_number(row[2]) && !is_number(row[0]); }) && !is_sign;
  if (is_star) return;
  const bool header_is_row = layout.has_header && layout.names[1] == word;
  const bool by_name = layout.has_header && !header_is_row;
  fail_usage(fmt::format(
      "{}: column {} is {} in all rows, which is no end of an edge; {}--source {} --destination {} reads "
      "edges from the first column to the third",
      layout.label, by_name ? in_quotes(layout.names[1]) : "'2'", in_quotes(word),
      header_is_row ? "--header no " : "", by_name ? printable(layout.names[0]) : "1",
      by_name ? printable(layout.names[2]) : "3"));
}

bool may_have_decimal_commas(const EdgeLayout& layout) {
  return layout.style.separator == ';' || layout.style.separator == '\t';
}

// Costs and weights of which all are numbers with a decimal comma, and some certainly have one.
void find_decimal_commas(const Sample& sample, EdgeLayout& layout) {
  if (!may_have_decimal_commas(layout)) return;
  std::vector<std::string> columns;
  bool is_certain = false;
  for (const size_t column : {layout.cost, layout.weight}) {
    if (column == kNoColumn) continue;
    bool has_commas = false;
    for (const auto& row : sample) {
      if (!parse_finite(row[column], {','})) return;
      has_commas = has_commas || row[column].find(',') != std::string::npos;
      is_certain =
          is_certain || (row[column].find(',') != std::string::npos && !is_ambiguous(row[column], ','));
    }
    if (has_commas) columns.push_back(in_quotes(layout.names[column]));
  }
  if (!is_certain) return;
  layout.numbers = {','};
  layout.notes.push_back(
      fmt::format("the comma in the numbers of {} {} was taken for a decimal mark; --decimal . says that it "
                  "is none",
                  columns.size() == 1 ? "column" : "columns", name_list(columns, " and ")));
}

bool is_used(const Sample& sample, size_t column, const EdgeLayout& layout) {
  return column == layout.tail || column == layout.head || column == layout.cost || column == layout.weight ||
         (is_unnamed(layout.names[column]) && counts_rows(sample, column));
}

// Numbers, perhaps with gaps.
bool has_numbers(const Sample& sample, size_t column, const EdgeLayout& layout) {
  bool has_one = false;
  for (const auto& row : sample) {
    const bool is_one =
        is_number(row[column]) || (may_have_decimal_commas(layout) && parse_finite(row[column], {','}));
    if (!is_one && !row[column].empty()) return false;
    has_one = has_one || is_one;
  }
  return has_one;
}

// Where nothing but their place says that the first two columns are the ends, any other might be one.
std::string ends_by_place(const EdgeLayout& layout) {
  if (layout.names_are_ends || layout.tail != 0 || layout.head != 1) return "";
  return fmt::format(
      "; edges go from column {} to column {}, the first two: --source and --destination name "
      "others",
      in_quotes(layout.names[0]), in_quotes(layout.names[1]));
}

// A column of numbers that nobody asked for may well be a weight.
void say_unused(const Sample& sample, EdgeLayout& layout) {
  std::vector<std::string> unused, shown;
  for (size_t column = 0; column < layout.width; ++column) {
    if (sample.empty() || is_used(sample, column, layout)) continue;
    if (layout.style.attributes && column + 1 == layout.width) {
      for (const auto& [name, value] : attributes_of(sample[0][column])) {
        const bool taken = name == layout.cost_attribute || name == layout.weight_attribute;
        if (!taken && is_number(value)) unused.emplace_back(name);
      }
    } else if (has_numbers(sample, column, layout)) {
      unused.push_back(layout.names[column]);
    }
  }
  if (unused.empty()) return;
  for (const std::string& name : unused) shown.push_back(in_quotes(name));
  layout.notes.push_back(fmt::format(
      "{} {} not used; --edge-weight {} would read {} as weights, --edge-cost as transport costs{}",
      (shown.size() == 1 ? "column " : "columns ") + name_list(shown), shown.size() == 1 ? "is" : "are",
      printable(unused[0]), shown.size() == 1 ? "it" : "the first", ends_by_place(layout)));
}

// A column of text that nobody asked for may well be an end.
void say_unused_text(const Sample& sample, EdgeLayout& layout) {
  std::vector<std::string> unused;
  const size_t columns = layout.width - (layout.style.attributes ? 1 : 0);
  for (size_t column = 0; column < columns; ++column) {
    if (is_used(sample, column, layout) || has_numbers(sample, column, layout)) continue;
    const bool is_empty =
        std::all_of(sample.begin(), sample.end(), [&](const auto& row) { return row[column].empty(); });
    if (!is_empty) unused.push_back(in_quotes(layout.names[column]));
  }
  if (unused.empty()) return;
  layout.notes.push_back(fmt::format(
      "{} {} of text {} not used; --source and --destination name the ends of edges",
      unused.size() == 1 ? "column" : "columns", name_list(unused), unused.size() == 1 ? "is" : "are"));
}

// Gephi writes a column Type of Directed or Undirected.
void heed_type_column(const Sample& sample, bool directed, EdgeLayout& layout) {
  const auto type = std::find_if(layout.names.begin(), layout.names.end(),
                                 [](const std::string& name) { return lower(name) == "type"; });
  if (directed || type == layout.names.end()) return;
  const auto column = static_cast<size_t>(type - layout.names.begin());
  if (std::any_of(sample.begin(), sample.end(),
                  [&](const auto& row) { return lower(row[column]) == "directed"; }))
    layout.notes.emplace_back(kSaysDirected);
}

Sample read_sample(const EdgeLayout& layout) {
  EdgeRowScanner scanner(layout.rows, layout.label, layout.style, layout.first_line);
  Sample sample;
  std::vector<std::string_view> fields;
  while (sample.size() < kSampleRows && scanner.next(fields)) {
    if (fields.size() != layout.width) break;  // the reader of the rows says what is wrong
    sample.emplace_back();
    for (const std::string_view field : fields) sample.back().emplace_back(trim(field));
  }
  return sample;
}

// What other programs write graphs in, and what a server answers instead of a file.
void refuse_other_format(std::string_view first_row, const std::string& label) {
  const std::string_view row = trim(first_row);
  const bool is_markup = row.starts_with("<?xml") || row.starts_with("<graphml") ||
                         lower(row).starts_with("<!doctype") || lower(row).starts_with("<html") ||
                         row.starts_with("<gexf");
  const bool is_json =
      row == "{" || row == "[" || row.starts_with("{\"") || row.starts_with("[[") || row.starts_with("[{");
  const bool is_gml = row == "graph [" || row == "graph" || row.starts_with("Creator \"");
  const bool is_dot = row.starts_with("digraph ") || (row.starts_with("graph ") && row.ends_with("{"));
  const char* kind = is_markup ? "XML or HTML"
                     : is_json ? "JSON"
                     : is_gml  ? "GML"
                     : is_dot  ? "Graphviz's dot"
                               : nullptr;
  if (kind == nullptr) return;
  fail(fmt::format("{}: looks like {}, not like rows of edges; write those, as networkx.write_edgelist does",
                   label, kind));
}

// Users and the films they saw may both count from 1.
void say_two_kinds(const Sample& sample, EdgeLayout& layout) {
  if (layout.bipartite || layout.names_are_ends || !layout.has_header || layout.style.attributes) return;
  const std::string &from = layout.names[layout.tail], &to = layout.names[layout.head];
  if (!name_two_kinds(from, to)) return;
  std::set<std::string> tails;
  for (const auto& row : sample) tails.insert(row[layout.tail]);
  const bool shared = std::any_of(sample.begin(), sample.end(),
                                  [&](const auto& row) { return tails.contains(row[layout.head]); });
  if (!shared) return;
  layout.notes.push_back(fmt::format(
      "the same id in columns {} and {} is one node; --bipartite yes counts them apart, as left:1 and "
      "right:1",
      in_quotes(from), in_quotes(to)));
}

void require_two_ends(const std::vector<std::string_view>& fields, int64_t line, const EdgeLayout& layout) {
  for (const std::string_view field : fields) {
    if (field.find('\r') == std::string_view::npos) continue;
    fail_at_line(layout.label, line, "a carriage return stands inside a line; lines end in LF or CRLF");
  }
  if (fields.size() >= (layout.style.attributes ? 3 : 2)) return;
  fail_at_line(layout.label, line,
               fmt::format("an edge needs two ends, but there is one column: {}{}", in_quotes(fields[0]),
                           fields[0].find('|') == std::string_view::npos
                               ? ""
                               : "; fields are divided by commas, semicolons, tabs or blanks, or by what a "
                                 "first line such as sep=| names"));
}

}  // namespace

EdgeLayout find_edge_layout(std::string_view text, const std::string& label, const LoadOptions& options) {
  EdgeLayout layout;
  layout.label = label;
  layout.numbers = number_format(options.decimal);
  const bool comments = options.comments == "skip";
  const Preamble preamble = read_preamble(text, comments);
  if (preamble.end == text.size()) fail(fmt::format("{}: is empty; expected edges", label));
  const std::string_view body = text.substr(preamble.end);
  const std::string_view first_row = body.substr(0, body.find('\n'));
  refuse_other_format(first_row, label);
  layout.style = style_of_row(first_row);
  if (preamble.separator != '\0') {
    layout.style.separator = preamble.separator;
  } else if (is_tab_file(label) && first_row.find('\t') != std::string_view::npos) {
    layout.style.separator = '\t';
  }
  layout.style.comments = comments;
  layout.first_line = 1 + preamble.lines;

  EdgeRowScanner scanner(body, label, layout.style, layout.first_line);
  std::vector<std::string_view> fields;
  scanner.next(fields);
  layout.width = fields.size();
  require_two_ends(fields, scanner.line(), layout);
  judge_first_row(fields, options, layout);
  layout.table = layout.rows = body;
  layout.table_line = layout.first_line;
  if (layout.has_header) {
    layout.names = header_of(fields, label, scanner.line()).names;
    layout.rows = body.substr(scanner.position());
    layout.first_line +=
        std::count(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(scanner.position()), '\n');
  }
  heed_comments(preamble, options, layout);
  const auto sample = read_sample(layout);
  choose_ends(options, sample, layout);
  refuse_relation(options, sample, layout);
  choose_value(options.edge_cost, "--edge-cost", layout, layout.cost, layout.cost_attribute);
  choose_value(options.edge_weight, "--edge-weight", layout, layout.weight, layout.weight_attribute);
  if (options.decimal == "auto") find_decimal_commas(sample, layout);
  heed_type_column(sample, options.directed, layout);
  say_two_kinds(sample, layout);
  say_unused(sample, layout);
  say_unused_text(sample, layout);
  return layout;
}

}  // namespace qw
