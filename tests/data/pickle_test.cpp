#include "data/formats/pickle.h"

#include <gmock/gmock.h>

#include <cmath>

#include "data/pickle_assembler.h"
#include "support/support.h"

namespace qw {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the assembler's words
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
  return error_of([&] { Pickle(bytes, "p"); });
}

int64_t integer_of(const std::string& program) { return Pickle(program + ".", "p").root().as_integer(); }
std::string text_of(const std::string& program) {
  const Pickle pickle(program + ".", "p");
  return std::string(pickle.root().as_text());
}

TEST(Pickle, ReadsNumbers) {
  EXPECT_EQ(integer_of("K\xff"), 255);
  EXPECT_EQ(integer_of("M\xff\xff"), 65535);
  EXPECT_EQ(integer_of("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(integer_of(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(integer_of(std::string("\x8a\x02\x00\xff", 4)), -256);
  EXPECT_EQ(integer_of("\x8a\x08" + little(uint64_t{1} << 63, 8)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer_of("\x8b" + little(1, 4) + "\x07"), 7);
  EXPECT_EQ(integer_of("I-12\n"), -12);
  EXPECT_EQ(integer_of("L34L\n"), 34);
  EXPECT_EQ(Pickle("F2.5\n.", "p").root().as_float(), 2.5);
  EXPECT_EQ(Pickle(std::string("G\x3f\xf8\0\0\0\0\0\0.", 10), "p").root().as_float(), 1.5);
  EXPECT_TRUE(Pickle("I01\n.", "p").root().as_bool());
  EXPECT_FALSE(Pickle("\x89.", "p").root().as_bool());
  EXPECT_EQ(Pickle("N.", "p").root().kind(), PickleKind::kNone);
}

TEST(Pickle, ReadsText) {
  EXPECT_EQ(text_of("U\x02hi"), "hi");
  EXPECT_EQ(text_of("T" + little(2, 4) + "hi"), "hi");
  EXPECT_EQ(text_of("\x8e" + little(2, 8) + "hi"), "hi");
  EXPECT_EQ(text_of("S'a\\n\\x41\\\\\\''\n"), "a\nA\\'");
  EXPECT_EQ(text_of("Va\\u20acb\xe9\n"),
            "a\xe2\x82\xac"
            "b\xc3\xa9");
  EXPECT_EQ(text_of("V\\U0001f600\n"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of(op_global("_codecs", "encode") + "X" + little(3, 4) + "a\xc3\xa9" + "U\x06latin1\x86R"),
            "a\xe9");
  EXPECT_EQ(refusal("Shi\n."), "p: byte 0: expected text between quotes, found 'hi'");
  EXPECT_EQ(refusal("S'\\q'\n."), "p: byte 0: text has an unknown escape in '\\q'");
  EXPECT_EQ(refusal("S'\\x4'\n."), "p: byte 0: text has an unknown escape in '\\x4'");
  EXPECT_EQ(refusal("V\\ud800\n."), "p: byte 0: 0xd800 is not a character");
}

TEST(Pickle, ReadsContainers) {
  EXPECT_THAT(Pickle("](K\x01K\x02"
                     "eK\x03"
                     "a.",
                     "p")
                  .root()
                  .as_integers(),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(Pickle("(K\x01K\x02l.", "p").root().as_integers(), ElementsAre(1, 2));
  EXPECT_THAT(Pickle("(K\x01K\x02t.", "p").root().as_integers(), ElementsAre(1, 2));
  EXPECT_EQ(Pickle("K\x01K\x02\x86.", "p").root().as_list().size(), 2u);
  const Pickle pickle(
      "}K\x01U\x01"
      "as(K\x02U\x01"
      "bu.",
      "p");
  const auto entries = pickle.root().as_dict();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].first.as_integer(), 1);
  EXPECT_EQ(entries[1].second.as_text(), "b");
  EXPECT_EQ(Pickle("(K\x01K\x02"
                   "d.",
                   "p")
                .root()
                .as_dict()
                .size(),
            1u);
  EXPECT_EQ(Pickle(op_global("collections", "OrderedDict") + ")R.", "p").root().kind(), PickleKind::kDict);
  EXPECT_THAT(Pickle(op_graph({{0, {1, 300}}}) + ".", "p").root().as_dict()[0].second.as_integers(),
              ElementsAre(1, 300));
}

TEST(Pickle, MemoAndStack) {
  EXPECT_THAT(Pickle("]q\x05(K\x01q\x01h\x01"
                     "e.",
                     "p")
                  .root()
                  .as_integers(),
              ElementsAre(1, 1));
  EXPECT_THAT(Pickle("(K\x01"
                     "2t.",
                     "p")
                  .root()
                  .as_integers(),
              ElementsAre(1, 1));
  EXPECT_THAT(Pickle("(K\x01p0\n0g0\nt.", "p").root().as_integers(), ElementsAre(1));
  EXPECT_THAT(
      Pickle("\x80\x04\x95" + little(9, 8) + std::string("](K\x07\x94h\0e.", 9), "p").root().as_integers(),
      ElementsAre(7, 7));
  EXPECT_EQ(integer_of("K\x01(K\x02"
                       "1"),
            1);
  EXPECT_EQ(integer_of("K\x01(0"), 1);
  EXPECT_EQ(integer_of("K\x01K\x02"
                       "0"),
            1);
}

TEST(Pickle, ReadsArrays) {
  const Pickle pickle(pickled(op_array("<i2", {2, 2}, std::string("\1\0\2\0\3\0\4\0", 8), true)), "p");
  const NpyArray& array = pickle.root().as_array();
  EXPECT_EQ(array.descr, "<i2");
  EXPECT_THAT(array.as_int64(), ElementsAre(1, 3, 2, 4));
  const Pickle big(pickled(op_array(">i2", {1}, std::string("\1\0", 2))), "p");
  EXPECT_THAT(big.root().as_array().as_int64(), ElementsAre(256));
  const std::string from_buffer =
      op_global("numpy.core.numeric", "_frombuffer") +
      op_tuple({"\x96" + little(2, 8) + "ab", op_dtype("u1", "|"), op_integer(2) + "\x85", op_text("C")});
  EXPECT_THAT(Pickle(from_buffer + "R.", "p").root().as_array().as_int64(), ElementsAre('a', 'b'));
}

TEST(Pickle, AnArrayOutlivesItsPickle) {
  NpyArray array;
  {
    const Pickle pickle(pickled(op_array("|u1", {3}, "abc")), "p");
    array = pickle.root().as_array();
  }
  EXPECT_THAT(array.as_int64(), ElementsAre('a', 'b', 'c'));
}

TEST(Pickle, ReadsCsrMatrices) {
  const Pickle pickle(pickled(op_csr(2, 300, {0, 1, 2}, {299, 0}, {1.5f, 2.0f})), "p");
  const PickleCsr& csr = pickle.root().as_csr();
  EXPECT_EQ(csr.rows, 2);
  EXPECT_EQ(csr.columns, 300);
  EXPECT_THAT(csr.indptr.as_int64(), ElementsAre(0, 1, 2));
  EXPECT_THAT(csr.indices.as_int32(), ElementsAre(299, 0));
  EXPECT_THAT(csr.data.as_float(), ElementsAre(1.5f, 2.0f));
  const std::string old_style =
      op_global("copy_reg", "_reconstructor") +
      op_tuple({op_global("scipy.sparse.csr", "csr_matrix"), op_global("__builtin__", "object"), "N"});
  EXPECT_EQ(refusal(old_style + "R}b."), "p: byte 79: the csr_matrix lacks its attribute '_shape'");
}

TEST(Pickle, NothingIsExecuted) {
  EXPECT_EQ(
      refusal(op_global("os", "system") + "U\x02ls\x85R."),
      "p: byte 0: asks for 'os.system'; only plain data is read and nothing in a pickle is ever executed");
  EXPECT_THAT(refusal("\x80\x04\x8c\x05posix\x8c\x06system\x93."),
              HasSubstr("p: byte 17: asks for 'posix.system'"));
  EXPECT_EQ(refusal(op_global("__builtin__", "list") + ")R."),
            "p: byte 19: calls a class that is not called in pickles of data");
  EXPECT_EQ(refusal("(ios\nsystem\n."), "p: byte 1: instruction 0x69 is unknown or does not build data");
  EXPECT_EQ(refusal("Pid\n."), "p: byte 0: instruction 0x50 is unknown or does not build data");
  EXPECT_EQ(refusal(")K\x01R."), "p: byte 3: expected a tuple of arguments, found an integer");
  EXPECT_EQ(refusal("K\x01)R."), "p: byte 3: expected a class or function, found an integer");
  EXPECT_EQ(refusal(op_global("numpy", "ndarray") + ")\x81."),
            "p: byte 16: expected a new csr_matrix without arguments");
  EXPECT_EQ(refusal(op_global("collections", "defaultdict") + op_global("numpy", "dtype") + "\x85R."),
            "p: byte 39: expected defaultdict(list)");
  EXPECT_EQ(refusal(op_global("_codecs", "encode") + "U\x01"
                                                     "aU\x05"
                                                     "utf-8\x86R."),
            "p: byte 27: expected encode(text, 'latin1')");
}

TEST(Pickle, RefusesLengthsBeyondTheInput) {
  EXPECT_EQ(refusal("T\xff\xff\xff\x7f"
                    "abc."),
            "p: byte 0: text of 2147483647 bytes is cut short: 4 are left");
  EXPECT_EQ(refusal("\x8e" + little(uint64_t{1} << 62, 8) + "."),
            "p: byte 0: text of 4611686018427387904 bytes is cut short: 1 are left");
  EXPECT_EQ(refusal("M\x01"), "p: byte 0: a number of 2 bytes is cut short: 1 are left");
  EXPECT_EQ(refusal("\x95" + little(1000, 8) + "N."),
            "p: byte 0: a frame of 1000 bytes is cut short: 2 are left");
  EXPECT_EQ(refusal("\x8a\x09"
                    "123456789."),
            "p: byte 0: an integer of 9 bytes; at most 8 are read");
  EXPECT_EQ(refusal("I12"), "p: byte 0: expected a line, found no end of it");
  EXPECT_EQ(refusal("I99999999999999999999\n."),
            "p: byte 0: expected an integer of 64 bits, found '99999999999999999999'");
  EXPECT_EQ(refusal("Fx\n."), "p: byte 0: expected a number, found 'x'");
  EXPECT_EQ(refusal("Nr" + little(0xfffffffe, 4) + "."), "p: byte 1: memo 4294967294 in a pickle of 7 bytes");
  EXPECT_EQ(refusal(pickled(op_array("<f8", {1 << 30}, "12345678"))),
            "p: shape [1073741824] of '<f8' does not fit the 8 bytes of data");
}

TEST(Pickle, RefusesBrokenPrograms) {
  EXPECT_EQ(refusal(""), "p: byte 0: the pickle ends without its last instruction, STOP");
  EXPECT_EQ(refusal("N"), "p: byte 1: the pickle ends without its last instruction, STOP");
  EXPECT_EQ(refusal("."), "p: byte 0: takes more values than there are");
  EXPECT_EQ(refusal("NN."), "p: byte 2: the pickle ends with more than one value");
  EXPECT_EQ(refusal("N.N."), "p: byte 1: 2 bytes follow the end of the pickle");
  EXPECT_EQ(refusal("\x80\x06N."), "p: byte 0: protocol 6 of pickles; expected 0 to 5");
  EXPECT_EQ(refusal("N(\x85."), "p: byte 2: takes more values than there are");
  EXPECT_EQ(refusal("Nt."), "p: byte 1: takes values back to a MARK that was never set");
  EXPECT_EQ(refusal("}(Nu."), "p: byte 3: a key without a value");
  EXPECT_EQ(refusal("NNa."), "p: byte 2: expected a list, found None");
  EXPECT_EQ(refusal("]NNs."), "p: byte 3: expected a dict, found a list");
  EXPECT_EQ(refusal("h\x03."), "p: byte 0: memo 3 was never set");
  EXPECT_EQ(refusal("NK\x01\x93."), "p: byte 3: expected text, found None");
  EXPECT_EQ(refusal("]Nb."), "p: byte 2: gives a state to a list; expected a new array, dtype or csr_matrix");
}

TEST(Pickle, RefusesBrokenArrays) {
  const std::string dtype = op_global("numpy", "dtype") +
                            "U\x02"
                            "f4\x85R";
  EXPECT_THAT(refusal(dtype + op_tuple({op_integer(3), op_text("|"), "N", op_tuple({}), "N"}) + "b."),
              HasSubstr("expected a dtype without fields (structured arrays are not supported)"));
  EXPECT_THAT(refusal(dtype + op_tuple({op_integer(3), op_text("<>"), "N", "N", "N"}) + "b."),
              HasSubstr("expected a byte order of one character"));
  EXPECT_THAT(refusal(op_global("numpy", "dtype") + op_text("f0000000000000004") + "\x85R."),
              HasSubstr("expected a plain type such as 'f4'"));
  EXPECT_THAT(refusal(pickled(op_array("|O8", {1}, "x"))),
              HasSubstr("expected numbers or text (arrays of Python objects are not read)"));
  EXPECT_THAT(refusal(pickled(op_array("<f4", {-1}, "x"))),
              HasSubstr("p: an array of 1 dimensions, one negative"));
  const std::string unbuilt =
      op_global("numpy.core.multiarray", "_reconstruct") + op_global("numpy", "ndarray") + "NN\x87R";
  EXPECT_THAT(refusal(unbuilt + "(tb."),
              HasSubstr("expected an array's (version, shape, dtype, order, data)"));
  EXPECT_EQ(error_of([&] { Pickle(unbuilt + ".", "p").root().as_array(); }),
            "p: expected a numpy array, found an empty array");
}

TEST(Pickle, RefusesSelfReference) {
  EXPECT_EQ(refusal("]q\x01h\x01"
                    "a."),
            "p: the pickle holds a value that contains itself");
  EXPECT_EQ(refusal("}q\x01U\x01xh\x01s."), "p: the pickle holds a value that contains itself");
  EXPECT_EQ(refusal("]q\x01](h\x01"
                    "ea."),
            "p: the pickle holds a value that contains itself");
}

TEST(Pickle, RefusesDeepNesting) {
  EXPECT_EQ(Pickle("N" + std::string(63, '\x85') + ".", "p").root().kind(), PickleKind::kTuple);
  EXPECT_EQ(refusal("N" + std::string(64, '\x85') + "."), "p: the pickle nests more than 64 values");
  EXPECT_EQ(refusal("N" + std::string(1000000, '\x85') + "."), "p: the pickle nests more than 64 values");
}

TEST(Pickle, RefusesUnfolding) {
  // Each level is a tuple of three times the level before: 3^k values in 3k bytes.
  std::string program = "N";
  for (int level = 0; level < 40; ++level) program += "22\x87";
  EXPECT_THAT(refusal(program + "."),
              HasSubstr("p: the 122 bytes of the pickle unfold to more than 6048 values"));
}

TEST(Pickle, SharedTextIsEncodedOnce) {
  const std::string text(100000, 'a');
  std::string program = "(X" + little(text.size(), 4) + text + "q\x01";
  for (int copy = 0; copy < 20000; ++copy)
    program += op_global("_codecs", "encode") + "h\x01U\x06latin1\x86R";
  const Pickle pickle(program + "t.", "p");
  const std::vector<PickleValue> values = pickle.root().as_list();
  EXPECT_EQ(values[1].as_text().data(), values[20000].as_text().data());
}

TEST(Pickle, AccessorsNameTheKinds) {
  const Pickle pickle("](K\x01Ne.", "p");
  EXPECT_EQ(error_of([&] { pickle.root().as_dict(); }), "p: expected a dict, found a list");
  EXPECT_EQ(error_of([&] { pickle.root().as_integers(); }), "p: expected an integer, found None");
  EXPECT_EQ(error_of([&] { pickle.root().as_csr(); }), "p: expected a scipy csr_matrix, found a list");
  EXPECT_EQ(error_of([&] { pickle.root().as_text(); }), "p: expected text, found a list");
  EXPECT_EQ(error_of([&] { pickle.root().as_list()[0].as_list(); }), "p: expected a list, found an integer");
}

}  // namespace
}  // namespace qw
