// Columns of node tables as people bring them: missing values, targets, numbers, and no features at all.
#include <gtest/gtest.h>

#include "cli/front_door.h"

namespace qw::test {
namespace {

using nlohmann::json;

FrontDoorCase edges_only(std::string name, const std::string& edges, const std::string& options,
                         Expected expected) {
  return {
      std::move(name),           {{"e.csv", edges}},       "data info --json --edges DIR/e.csv " + options,
      expected.exit_code,        std::move(expected.says), std::move(expected.does_not_say),
      std::move(expected.values)};
}

std::vector<FrontDoorCase> missing_values() {
  return {
      table("MissingNumbersBecomeTheMean", "x,y", {"1.5,a", ",b", "NA,a", "4.5,b", "3,a", "3,b"},
            "--target y",
            {0,
             {"column 'x' of ",
              "2 missing cells (1 empty, 1 'NA') were filled with the mean, 3; --missing says"},
             {},
             {{"/columns/0/missing", 2}, {"/columns/0/fill", 3.0}, {"/columns/0/type", "number"}}}),
      table("EmptyCellsNeedNoWord", "x,y", {"1.5,a", ",b", "2.5,a", "2,b", "2,a", "2,b"}, "--target y",
            {0, {"1 empty cells were filled with the mean, 2; --drop x leaves it out"}, {"--missing"}, {}}),
      // What pandas.read_csv takes for NaN, as far as people write it.
      table("EverySpellingInNumbers", "x,w",
            {"1.5,3.5", "NA,1", "N/A,1", "n/a,1", "#N/A,1", "<NA>,1", "NaN,1", "nan,1", "null,1", "NULL,1",
             "None,1", "?,1", ",1"},
            "", {0, {}, {}, {{"/columns/0/type", "number"}, {"/columns/0/missing", 12}}}),
      table("TheSameSpellingsInTexts", "city,w",
            {"Rome,3.5", "NA,1", "N/A,1", "n/a,1", "#N/A,1", "<NA>,1", "NaN,1", "nan,1", "null,1", "NULL,1",
             "None,1", "?,1", "Oslo,1"},
            "",
            {0,
             {"have no category; --missing"},
             {},
             {{"/columns/0/categories", 2}, {"/columns/0/missing", 11}}}),
      table("NamibiaIsSaid", "country,w", {"NA,1.5", "DE,2.5", "NA,1", "DE,1"}, "",
            {0, {"2 missing cells (2 'NA') have no category; --missing says what is missing"}, {}, {}}),
      table("NamibiaIsKept", "country,w", {"NA,1.5", "DE,2.5", "NA,1", "DE,1"}, "--missing -",
            {0, {}, {"missing"}, {{"/columns/0/categories", 2}, {"/columns/0/missing", 0}}}),
      table("OnlyTheEmptyCell", "country,w", {"NA,1.5", "DE,2.5", ",1", "DE,1"}, "--missing ,",
            {0, {"1 empty cells have no category"}, {}, {{"/columns/0/categories", 2}}}),
      table("TextTargetWithNa", "y,w", {"a,1.5", "NA,2.5", "b,1", "a,1", "b,1", "a,1", "b,2"}, "--target y",
            {0,
             {"the target, has 1 missing cells (1 'NA'), which are nodes without a label; --missing"},
             {},
             {{"/classes", 2}, {"/labelled", 6}}}),
      table("QuestionMarksInATarget", "y,w", {"0,1.5", "?,2.5", "1,1", "0,1", "1,1", "0,1", "1,2", " ? ,1"},
            "--target y", {0, {"2 missing cells (2 '?')"}, {}, {{"/classes", 2}, {"/labelled", 6}}}),
      table("NoneMayBeAClass", "y,w", {"None,1.5", "mild,2.5", "None,1", "mild,1", "mild,1", "None,1"},
            "--target y --missing NA", {0, {}, {"missing"}, {{"/classes", 2}, {"/labelled", 6}}}),
      table("QuotedAndBlankPadded", "x,w", {"\"NA\",1.5", " NA ,2.5", "3,1", "4,1"}, "",
            {0, {}, {}, {{"/columns/0/missing", 2}, {"/columns/0/fill", 3.5}}}),
      table("SentinelsByOption", "x,w", {"-999,1.5", "1,2.5", "3,1", "NA,1"}, "--missing=-999,NA",
            {0, {"(1 '-999', 1 'NA')"}, {}, {{"/columns/0/fill", 2.0}}}),
      table("SentinelsInAFeature", "x,w", {"-999,1.5", "1,2.5", "3,1", "-999,1", "2,1"}, "",
            {0,
             {"column 'x' of",
              "has -999 in 2 rows, far from all other numbers; if it means unknown, say "
              "--missing=-999, and"},
             {},
             {}}),
      table("SentinelsInATarget", "y,w",
            {"99999,1.5", "1.5,2.5", "3,1", "99999,1", "2.5,1", "4.25,1", "7.5,1", "99999,2"}, "--target y",
            {0, {"the target, has 99999 in 3 rows, far from all other numbers"}, {}, {}}),
      table("SentinelsOfClasses", "y,w", {"-9,1.5", "0,2.5", "1,1", "0,1", "1,1", "-9,1", "2,1", "2,2"},
            "--target y",
            {0, {"has the class -9, of 2 nodes; if it means that the label is missing"}, {}, {}}),
      table("NumbersLikeAllOthers", "x,w", {"999,1.5", "700,2.5", "3,1", "999,1", "350,1"}, "",
            {0, {}, {"999"}, {}}),
      table("OneLargeNumber", "x,w", {"9999,1.5", "1,2.5", "3,1", "2,1", "1,1"}, "", {0, {}, {"9999"}, {}}),
      table("AnotherSpellingIsASlip", "x,w", {"1.5,1.5", "n.a.,2.5", "3,1", "4,1"}, "",
            {1,
             {"n.csv:3: 'n.a.' is not a number, but most of column 'x' are; mend it, name it in --missing if "
              "it "
              "means no value, or leave the column out with --drop x"},
             {},
             {}}),
      table("ColumnWithoutValues", "x,w", {",1.5", "NA,2.5", ",1"}, "",
            {0,
             {"has no values and is left out"},
             {},
             {{"/columns/0/role", "dropped"}, {"/columns/0/type", "empty"}, {"/features", 1}}}),
      table("TargetWithoutValues", "y,w", {",1.5", "NA,2.5", ",1"}, "--target y",
            {1, {"n.csv: column 'y', the target, has no values"}, {}, {}}),
      table("ManyColumnsWithGapsAreOneLine", "a,b,c,d,e,f", {",,,,,", "1,2,3,4,5,6", "2,3,4,5,6,7"}, "",
            {0,
             {"6 columns of ",
              "have missing cells, which became the mean of a number and no category of a text"},
             {"column 'a'"},
             {{"/columns/5/fill", 6.5}}}),
      table("SplitColumnWithNa", "y,part,w",
            {"a,train,1.5", "b,NA,2", "a,test,1", "b,,1", "a,val,3", "b,val,1"},
            "--target y --split-column part",
            {0, {}, {}, {{"/splits", 1}, {"/columns/1/role", "split"}, {"/columns/1/missing", 2}}}),
      edges_only("MissingNeedsATable", ring(4), "--missing NA",
                 {2, {"--missing is for the node table: give that file with --nodes"}, {}, {}}),
  };
}

std::vector<FrontDoorCase> class_targets() {
  return {
      table("FloatsOfPandasAreClasses", "y,w",
            {"0.0,1.5", "1.0,2.5", ",1", "0.0,1", "1.0,1", "1.0,3", "0.0,1"}, "--target y",
            {0,
             {},
             {},
             {{"/task", "classification"},
              {"/classes", 2},
              {"/class_balance/0/class", "0"},
              {"/class_balance/1/class", "1"},
              {"/labelled", 6}}}),
      table("OneAndOnePointNought", "y,w", {"1,1.5", "1.0,2.5", "2,1", "2.00,1", "1e0,1", "2,3"},
            "--target y",
            {0, {}, {}, {{"/classes", 2}, {"/class_balance/0/nodes", 3}, {"/class_balance/0/class", "1"}}}),
      table("LabelsFromOneMakeNoClassZero", "y,w",
            {"1,1.5", "2,2.5", "3,1", "1,1", "2,1", "3,3", "1,1", "2,1", "3,2"}, "--target y",
            {0,
             {},
             {"fewer"},
             {{"/classes", 3}, {"/class_balance/0/class", "1"}, {"/class_balance/0/nodes", 3}}}),
      table("CodesKeepTheirZeros", "y,w", {"01,1.5", "02,2.5", "01,1", "02,1", "01,1", "02,3"}, "--target y",
            {0, {}, {}, {{"/class_balance/0/class", "01"}}}),
      table("TruthsAreClasses", "y,w", {"True,1.5", "False,2.5", "True,1", "False,1", "True,1", "False,3"},
            "--target y", {0, {}, {}, {{"/classes", 2}, {"/class_balance/0/class", "False"}}}),
      table("TruthsInAnyCase", "y,w", {"TRUE,1.5", "False,2.5", "true,1", "False,1", "True,1", "False,3"},
            "--target y", {0, {}, {}, {{"/classes", 2}, {"/class_balance/1/class", "true"}}}),
      table("YesAndNo", "y,w", {"yes,1.5", "no,2.5", "yes,1", "no,1", "yes,1", "no,3"}, "--target y",
            {0, {}, {}, {{"/classes", 2}, {"/class_balance/1/class", "yes"}}}),
      table("MinusOneAndOneAreClasses", "y,w", {"-1,1.5", "1,2.5", "-1,1", "1,1", "-1,1", "1,3"},
            "--target y", {0, {}, {"class -1"}, {{"/classes", 2}, {"/class_balance/0/class", "-1"}}}),
      table("MinusOneBesideCountsIsSaid", "y,w",
            {"-1,1.5", "0,2.5", "1,1", "0,1", "1,1", "0,3", "1,1", "-1,1", "-1,2"}, "--target y",
            {0,
             {"has the class -1, of 3 nodes; if it means that the label is missing, say --missing=-1, and"},
             {},
             {{"/classes", 3}}}),
      table("AWordForUnknownIsSaid", "y,w", {"a,1.5", "b,2.5", "Unknown,1", "a,1", "b,1"}, "--target y",
            {0, {"has the class Unknown, of 1 node; if", "say --missing=Unknown"}, {}, {{"/classes", 3}}}),
      table("DropTwiceDropsBoth", "y,w,v,u",
            {"a,1,2,3", "b,3,1,2", "a,1,5,9", "b,1,2,4", "a,2,7,1", "b,9,2,1"},
            "--target y --drop w --drop v", {0, {}, {}, {{"/features", 1}}}),
      table("MinusOneByOptionIsMissing", "y,w",
            {"-1,1.5", "0,2.5", "1,1", "0,1", "1,1", "0,3", "1,1", "-1,1", "-1,2"}, "--target y --missing=-1",
            {0, {"3 missing cells (3 '-1')"}, {}, {{"/classes", 2}, {"/labelled", 6}}}),
      table("OneClassOnly", "y,w", {"a,1.5", "a,2.5", "a,1"}, "--target y",
            {0,
             {"there is one class only, 'a': nothing can be learned; is --target right?"},
             {},
             {{"/classes", 1}}}),
      table("ASmallClass", "y,w", {"a,1.5", "a,2.5", "a,1", "b,1", "b,1"}, "--target y",
            {0,
             {"class 'b' has 2 nodes, too few to train, validate and test on; --split decides where they go"},
             {},
             {}}),
      table("ManySmallClasses", "y,w", {"a,1.5", "b,2.5", "c,1", "d,1", "d,1", "d,2"}, "--target y",
            {0, {"3 of 4 classes, such as 'a', have fewer than 3 nodes"}, {}, {}}),
      table("CaseOnly", "y,w", {"red,1.5", "Red,2.5", "red,1", "Red,1", "red,1", "Red,2"}, "--target y",
            {0, {"has classes that differ in case only, such as 'Red' and 'red'"}, {}, {{"/classes", 2}}}),
      table("TaskWithoutTarget", "x,w", {"3,1.5", "4,2.5"}, "--task regression",
            {2, {"--task says what the target is, but there is none; name it with --target"}, {}, {}}),
      table("TargetAmongFeatures", "x,w", {"3,1.5", "4,2.5"}, "--target x --features x,w",
            {2, {"n.csv: column 'x' stands in --features and in --target"}, {}, {}}),
      table("TargetDropped", "x,w", {"3,1.5", "4,2.5"}, "--target x --drop x",
            {2, {"n.csv: column 'x' stands in --drop and in --target"}, {}, {}}),
      table("FeatureDropped", "x,w", {"3,1.5", "4,2.5"}, "--features x --drop x",
            {2, {"n.csv: column 'x' stands in --features and in --drop"}, {}, {}}),
      table("TargetTwice", "x,w", {"0,1.5", "1,2.5"}, "--target x,x",
            {2, {"n.csv: column 'x' stands in --target and in it again"}, {}, {}}),
  };
}

std::vector<std::string> numbered_rows(int rows, int different) {
  std::vector<std::string> lines;
  for (int row = 0; row < rows; ++row)
    lines.push_back(fmt::format("{},{}", 10 * (row % different), row + 0.5));
  return lines;
}

std::vector<FrontDoorCase> value_targets() {
  return {
      table("ManyNumbersAsClassesIsSaid", "y,w", numbered_rows(48, 12), "--target y",
            {0,
             {"the target, has 12 different whole numbers in 48 rows, taken for classes; --task regression "
              "overrules it"},
             {},
             {{"/classes", 12}}}),
      table("FewNumbersAsClassesIsObvious", "y,w", numbered_rows(48, 8), "--target y",
            {0, {}, {"--task"}, {{"/classes", 8}}}),
      table("TaskSilencesTheGuess", "y,w", numbered_rows(48, 12), "--target y --task classification",
            {0, {}, {"--task"}, {{"/classes", 12}}}),
      table("WholeNumbersThatDoNotRepeat", "y,w", numbered_rows(6, 6), "--target y",
            {0,
             {"6 different whole numbers in 6 rows, taken for values; --task classification overrules it"},
             {},
             {{"/task", "regression"}, {"/target/max", 50.0}, {"/target/missing", 0}}}),
      table("HundredsOfNumbersThatRepeat", "y,w", numbered_rows(480, 120), "--target y",
            {0,
             {"120 different whole numbers in 480 rows, taken for values; --task"},
             {},
             {{"/task", "regression"}}}),
      table("HundredsOfNumbersThatDoNot", "y,w", numbered_rows(240, 240), "--target y",
            {0, {}, {"--task"}, {{"/task", "regression"}}}),
      table("FewFractions", "y,w", {"0.5,1", "1.5,2", "0.5,1.5", "1.5,3"}, "--target y",
            {0,
             {"2 different numbers in 4 rows, taken for values; --task classification"},
             {},
             {{"/task", "regression"}}}),
      table("ValuesHaveASummary", "y,w", {"0.5,1", "1.25,2", "NA,1.5", "2.75,3"}, "--target y",
            {0,
             {},
             {"--task"},
             {{"/target/mean", 1.5}, {"/target/min", 0.5}, {"/target/max", 2.75}, {"/target/missing", 1}}}),
      table("SeveralLabels", "a,b,w", {"1,0,1.5", "0,yes,2.5", "1,1.0,1", ",,2", "0,False,1"}, "--target a,b",
            {0,
             {},
             {},
             {{"/task", "multi-label"},
              {"/labelled", 4},
              {"/features", 1},
              {"/class_balance/0/class", "a"},
              {"/class_balance/0/nodes", 2},
              {"/class_balance/1/nodes", 2},
              {"/columns/1/role", "target"}}}),
      table(
          "SeveralLabelsWithATwo", "a,b,w", {"1,0,1.5", "0,1,2.5", "1,2,1"}, "--target a,b",
          {1,
           {"n.csv:4: b '2' is none of 0, 1, true, false, yes and no, as each of several targets is; --task "
            "regression learns numbers"},
           {},
           {}}),
      table("SeveralValues", "a,b,w", {"1.5,10,1.5", "2.5,,2.5", "3.5,30,1"},
            "--target a,b --task regression",
            {0,
             {},
             {},
             {{"/task", "regression"},
              {"/target/0/name", "a"},
              {"/target/0/mean", 2.5},
              {"/target/1/mean", 20.0},
              {"/target/1/missing", 1}}}),
      table("ACommaInAName", "\"a,b\",w", {"p,1.5", "q,2.5", "p,1", "q,3", "p,1", "q,2"}, "--target a,b",
            {0, {}, {}, {{"/task", "classification"}, {"/classes", 2}}}),
      table("UnknownAmongSeveral", "alpha,beta,w", {"1,0,1.5", "0,1,2.5"}, "--target alpha,betta",
            {2, {"--target: column 'betta' is unknown; did you mean 'beta'?"}, {}, {}}),
      table("TextAsRegression", "y,w", {"1.5,1", "high,2", "2.5,1"}, "--target y --task regression",
            {1, {"n.csv:3: 'high' is not a number, but most of column 'y' are"}, {}, {}}),
  };
}

std::vector<FrontDoorCase> numbers() {
  return {
      table("DecimalCommasAreFound", "x;w", {"12,5;1", "3;2", "4,75;1", "NA;3"}, "",
            {0,
             {"column 'x' of ", "the comma in its numbers was taken for a decimal mark; --decimal ."},
             {},
             {{"/columns/0/type", "number"}, {"/columns/0/fill", 6.75}, {"/features", 2}}}),
      table("DecimalCommasBetweenTabs", "x\tw", {"12,5\t1", "3\t2", "4,75\t1"}, "",
            {0, {"--decimal ."}, {}, {{"/columns/0/type", "number"}}}),
      table("DecimalCommaTarget", "y;w", {"12,5;1", "3,25;2", "4,75;1", "0,5;4", "7,125;6"}, "--target y",
            {0, {"--decimal ."}, {}, {{"/task", "regression"}, {"/target/max", 12.5}, {"/classes", 0}}}),
      table("WholeNumbersWithDecimalCommas", "y;w", {"1,0;1", "2,0;2", "1,0;1", "2,0;4", "1,0;6", "2,0;6"},
            "--target y", {0, {}, {}, {{"/classes", 2}, {"/class_balance/0/class", "1"}}}),
      table("DecimalCommaByOption", "x,w", {"\"12,5\",1", "3,2", "\"1,125\",1"}, "--decimal ,",
            {0, {}, {"decimal"}, {{"/columns/0/type", "number"}}}),
      table("CommaAmongCommasIsRefused", "x,w", {"\"12,5\",1", "3,2", "\"4,75\",1"}, "",
            {1,
             {"n.csv:2: '12,5' in column 'x' has a decimal comma; say --decimal ,, or leave the column out"},
             {},
             {}}),
      table("ThreeDigitsAfterACommaAreRefused", "x;w", {"1,234;1", "5;2", "2,500;1"}, "",
            {1,
             {"n.csv:2: '1,234' in column 'x' may be 1.234 or 1234; say --decimal , for the first, or write "
              "the "
              "second without separators"},
             {},
             {}}),
      table("ThreeDigitsByOption", "x;w", {"1,234;1", ";2", "2,766;1"}, "--decimal ,",
            {0, {}, {"--decimal"}, {{"/columns/0/fill", 2.0}}}),
      table("ThreeDigitsBesideOtherCommas", "x;w", {"1,234;1,5", ";2", "2,766;1"}, "",
            {0, {"2 columns of ", "the comma in their numbers"}, {}, {{"/columns/0/fill", 2.0}}}),
      table("PointsBesideCommasAreRefused", "x;w", {"1.234;1,5", "7.500;2", "3;1"}, "",
            {1,
             {"n.csv:2: '1.234' in column 'x' may be 1.234 or 1234; other columns have decimal commas"},
             {},
             {}}),
      table("PointsBetweenSemicolonsAreSaid", "x;w", {"1.234;1", "7.500;2", "3;1"}, "",
            {0,
             {"column 'x' of ",
              "the point in numbers such as '1.234' was taken for a decimal mark; if it separates "
              "thousands, write them without (--decimal . says"},
             {},
             {{"/columns/0/type", "number"}}}),
      table("PointsByOptionAreNot", "x;w", {"1.234;1", "7.500;2", "3;1"}, "--decimal .",
            {0, {}, {"decimal"}, {}}),
      table("PointsWithOtherDigitsAreObvious", "x;w", {"1.234;1", "7.5;2", "3;1"}, "",
            {0, {}, {"decimal"}, {}}),
      table("NoughtPointIsNoThousand", "x;w", {"0,125;1", "0,250;2", "3;1"}, "",
            {0, {"--decimal ."}, {}, {{"/columns/0/type", "number"}}}),
      table("PointsWhereCommasAreSaid", "x;w", {"1.5;1", "2,5;2", "3;1"}, "--decimal ,",
            {1,
             {"n.csv:2: '1.5' in column 'x' has a decimal point, but the decimal mark is a comma; say "
              "--decimal ."},
             {},
             {}}),
      table("EnglishThousands", "x,w", {"\"1,234.50\",1", "\"12,000.25\",2", "3,1"}, "",
            {1, {"n.csv:2: '1,234.50' in column 'x' has thousands separators; write 1234.50"}, {}, {}}),
      table("GermanThousands", "x;w", {"1.234,50;1", "12.000,25;2", "3;1"}, "",
            {1, {"n.csv:2: '1.234,50' in column 'x' has thousands separators; write 1234"}, {}, {}}),
      table("BlanksAsThousands", "x,w", {"1 234,1", "12 000,2", "3,1"}, "",
            {1, {"n.csv:2: '1 234' in column 'x' has thousands separators; write 1234"}, {}, {}}),
      table("HardBlanksAsThousands", "x,w", {"1\u00A0234,1", "12\u202F000,2", "3,1"}, "",
            {1, {"has thousands separators; write 1234"}, {}, {}}),
      table("SwissThousands", "x,w", {"1'234,1", "12'000,2", "3,1"}, "",
            {1, {"n.csv:2: '1'234' in column 'x' has thousands separators; write 1234"}, {}, {}}),
      table("IndianThousands", "x;w", {"12,34,567;1", "1,00,000;2", "3;1"}, "",
            {1, {"n.csv:2: '12,34,567' in column 'x' has thousands separators; write 1234567"}, {}, {}}),
      table("ThousandsInATarget", "y,w", {"\"1,234\",1", "\"2,345\",2", "\"3,456\",1"}, "--target y",
            {1, {"n.csv:2: '1,234' in column 'y' has a decimal mark or a thousands separator"}, {}, {}}),
      table("Percent", "x,w", {"12 %,1", "13%,2", "3.5 %,1"}, "",
            {1,
             {"n.csv:2: '12 %' in column 'x' has a percent sign; write the number alone, or leave the column "
              "out with --drop x"},
             {},
             {}}),
      table("Dollars", "x,w", {"$3,1", "-$4.50,2", "\"$1,200\",1"}, "",
            {1, {"n.csv:2: '$3' in column 'x' has a currency sign; write the number alone"}, {}, {}}),
      table("Euros", "x;w", {"3,50 \u20AC;1", "4 \u20AC;2", "12,00 \u20AC;1"}, "",
            {1, {"has a currency sign; write the number alone"}, {}, {}}),
      table("Infinite", "x,w", {"1.5,1", "inf,2", "3,1"}, "",
            {1, {"n.csv:3: 'inf' in column 'x' is infinite; expected a finite number"}, {}, {}}),
      table("InfiniteTarget", "y,w", {"1.5,1", "-Infinity,2", "3,1"}, "--target y",
            {1, {"n.csv:3: '-Infinity' in column 'y' is infinite"}, {}, {}}),
      table("ASlip", "x,w", {"1.5,1", "12x,2", "3,1"}, "",
            {1, {"n.csv:3: '12x' is not a number, but most of column 'x' are"}, {}, {}}),
      table("ASlipInATarget", "y,w", {"1.5,1", "12x,2", "3,1"}, "--target y",
            {1, {"or say --task classification"}, {}, {}}),
      table("PartNumbersAreText", "x,w", {"A-12,1", "7,2", "B-12,1", "A-12,3"}, "",
            {0, {}, {}, {{"/columns/0/type", "categories"}, {"/columns/0/categories", 3}}}),
      edges_only("EdgeCostsWithCommas", "a;b;km\n0;1;2,5\n1;2;3\n", "--edge-cost km --decimal ,",
                 {0, {}, {}, {{"/edge_costs", true}}}),
      edges_only("EdgeCostsAmongCommasNeedTheOption", "a,b,km\n0,1,\"2,5\"\n1,2,3\n", "--edge-cost km",
                 {1, {"e.csv:2: edge cost '2,5' has a decimal comma; say --decimal ,"}, {}, {}}),
  };
}

std::vector<std::string> people(int rows, const std::string& prefix) {
  std::vector<std::string> lines;
  for (int row = 0; row < rows; ++row)
    lines.push_back(fmt::format("{}{:02},{}", prefix, row % 28 + 1, row + 0.5));
  return lines;
}

std::vector<FrontDoorCase> features() {
  return {
      table("TruthsAreOneFeature", "x,w", {"True,1.5", "False,2", "True,1", "False,3"}, "",
            {0, {}, {}, {{"/columns/0/type", "0/1"}, {"/features", 2}, {"/feature_nnz", 6}}}),
      table("ATruthMayBeMissing", "x,w", {"yes,1.5", "no,2", "NA,1", "yes,3", "yes,3"}, "",
            {0, {"filled with the mean, 0.75"}, {}, {{"/columns/0/fill", 0.75}}}),
      table("NamesAreLeftOut", "who,w", people(26, "person"), "",
            {0,
             {"column 'who' of ",
              "is text with 26 different values in 26 rows and is left out; --features names "
              "the columns to use"},
             {},
             {{"/columns/0/role", "dropped"}, {"/columns/0/type", "text"}, {"/features", 1}}}),
      table("NamesAskedForStay", "who,w", people(26, "person"), "--features who,w",
            {0, {}, {"left out"}, {{"/columns/0/categories", 26}, {"/features", 27}}}),
      table("DatesAreLeftOut", "day,w", people(26, "2020-01-"), "",
            {0,
             {"is dates with 26 different values in 26 rows and is left out (as numbers, such as years or "
              "days"},
             {},
             {}}),
      table("FewDatesAreCategories", "day,w", {"2020-01-31,1", "2020-02-29,2", "2020-01-31,1.5"}, "",
            {0, {}, {}, {{"/columns/0/categories", 2}}}),
      table("Constants", "x,w", {"3,1", "3,2", "3,1.5"}, "",
            {0,
             {"has one value only, '3', which tells no nodes apart; --drop x leaves it out"},
             {},
             {{"/features", 2}}}),
      table("EveryRole", "who,x,y,part,note,z", {"2,1.5,p,train,m,1", "0,2,q,val,n,2", "1,3,p,test,m,3"},
            "--id who --target y --split-column part --drop note --features x",
            {0,
             {},
             {},
             {{"/columns/0/role", "id"},
              {"/columns/1/role", "feature"},
              {"/columns/2/role", "target"},
              {"/columns/2/type", "classes"},
              {"/columns/2/categories", 2},
              {"/columns/3/role", "split"},
              {"/columns/4/role", "dropped"},
              {"/columns/5/role", "ignored"},
              {"/columns/5/type", nullptr}}}),
      edges_only("NoTableMakesFeaturesOfTheGraph", ring(5), "",
                 {0,
                  {"there are no features; made from the graph: log_degree, clustering, core_number, "
                   "neighbour_log_degree; --missing-features constant"},
                  {},
                  {{"/features", 4}, {"/columns", json::array()}}}),
      edges_only("InAndOutDegreeOfDirectedGraphs", ring(5), "--directed",
                 {0, {"log_in_degree, log_out_degree"}, {}, {{"/features", 5}}}),
      edges_only("ConstantByOption", ring(5), "--missing-features constant",
                 {0, {}, {"features"}, {{"/features", 1}, {"/feature_nnz", 5}}}),
      edges_only("NoneByOption", ring(5), "--missing-features none",
                 {0, {}, {"features"}, {{"/features", 0}}}),
      table("NothingButATarget", "y", {"a", "b", "a", "b", "a", "b"}, "--target y",
            {0, {"there are no features; made from the graph"}, {}, {{"/features", 4}}}),
      table("MissingFeaturesWhereThereAreSome", "x,w", {"3,1", "4,2"}, "--missing-features degree",
            {2,
             {"--missing-features degree is for data without features; 'e.csv' has 2 columns of them"},
             {},
             {}}),
  };
}

class FrontDoorColumns : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(FrontDoorColumns, SaysWhatItMakesOfIt) { expect_front_door(GetParam()); }

std::string name_of_case(const testing::TestParamInfo<FrontDoorCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Missing, FrontDoorColumns, testing::ValuesIn(missing_values()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Classes, FrontDoorColumns, testing::ValuesIn(class_targets()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Values, FrontDoorColumns, testing::ValuesIn(value_targets()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Numbers, FrontDoorColumns, testing::ValuesIn(numbers()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Features, FrontDoorColumns, testing::ValuesIn(features()), name_of_case);

TEST(FrontDoorColumns, TextListsFortyColumnsAndCountsTheRest) {
  const TemporaryFolder folder;
  std::string header = "y", first = "a", second = "b";
  for (int k = 0; k < 50; ++k) {
    header += fmt::format(",c{}", k);
    first += fmt::format(",{}.5", k);
    second += fmt::format(",{}", k % 3 == 0 ? "" : "7");
  }
  folder.write("e.csv", ring(2));
  folder.write("n.csv", header + "\n" + first + "\n" + second + "\n");
  const CommandResult shown = qw({"data", "info", "--edges", (folder.path() / "e.csv").string(), "--nodes",
                                  (folder.path() / "n.csv").string(), "--target", "y"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::HasSubstr("column            y: target, 2 classes\n"));
  EXPECT_THAT(shown.out,
              testing::HasSubstr("column            c0: feature, number, 1 missing (filled with 0.5)\n"));
  EXPECT_THAT(shown.out, testing::HasSubstr("c38: feature, number\n"));
  EXPECT_THAT(shown.out, testing::Not(testing::HasSubstr("c39")));
  EXPECT_THAT(shown.out, testing::HasSubstr("and 11 more: feature, number (--json has all)\n"));
}

TEST(FrontDoorColumns, ACopyHasNoFeaturesThatTheOriginalHasNot) {
  const TemporaryFolder folder;
  folder.write("e.csv", ring(5));
  const std::string copy = (folder.path() / "copy").string();
  const CommandResult written =
      qw({"data", "convert", "--edges", (folder.path() / "e.csv").string(), "--out", copy});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.err, testing::Not(testing::HasSubstr("features")));
  EXPECT_EQ(json_of({"data", "info", copy, "--missing-features", "none", "--json"})["features"], 0);
}

TEST(FrontDoorColumns, BlogCatalogCountsItsLabelsFromOne) {
  const auto folder = shared_datasets() / "blogcatalog";
  QW_SKIP_WITHOUT(folder);
  const json info = json_of({"data", "info", folder.string(), "--json"});
  EXPECT_EQ(info["classes"], 6);
  EXPECT_EQ(info["class_balance"][0]["class"], "1");
  EXPECT_EQ(info["class_balance"][5]["class"], "6");
  for (const json& each : info["class_balance"]) EXPECT_GT(each["nodes"], 0);
}

TEST(FrontDoorColumns, MinesweeperHasTwoClasses) {
  const auto folder = shared_datasets() / "minesweeper";
  QW_SKIP_WITHOUT(folder);
  const json info = json_of({"data", "info", folder.string(), "--json"});
  EXPECT_EQ(info["classes"], 2);
  EXPECT_EQ(info["class_balance"][0]["class"], "0");
  EXPECT_EQ(info["columns"], json::array());
}

}  // namespace
}  // namespace qw::test
