#include "recording/names.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "recording/codec.h"
#include "recording/example.h"
#include "recording/format.h"
#include "recording/reader.h"

namespace sampan::recording {
namespace {

// Frame 0 is in `outer`, into which `inner` was inlined; frame 2 in `outer` alone.
Names example_names() {
  Names names;
  names.texts = {"", "inner", "outer", "a.h", "a.cpp"};
  names.functions = {{1, 3, 10, 0}, {2, 4, 20, kNone}};
  names.frames = {{0, 2}, {2, 1}};
  names.lines = {{0, 3, 11}, {1, 4, 21}, {1, 4, 22}};
  return names;
}

// The same; frame 0 has a column, as a frame of Python.
Names example_with_columns() {
  Names names = example_names();
  names.lines[0].column = 5;
  names.lines[1].column = 130;
  return names;
}

std::vector<uint32_t> columns_of(const Names& names) {
  std::vector<uint32_t> columns;
  for (const NamedLine& line : names.lines) columns.push_back(line.column);
  return columns;
}

class RecordedNames : public testing::Test {
 protected:
  RecordedNames() : path_(directory_.file("recording")) {
    Writer writer(path_, example_session());
    write_example(writer, 2);
    writer.finish(example_end());
  }

  void set_version(uint16_t version) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6);
    file.put(static_cast<char>(version));
  }

  test::ScratchDirectory directory_;
  std::string path_;
};

TEST_F(RecordedNames, AreBehindTheEndOfARecording) {
  const Recording before = read(path_);
  EXPECT_TRUE(before.names.frames.empty());
  append_names(path_, example_names());
  append_names(path_, example_names());
  const Recording after = read(path_);
  EXPECT_TRUE(after.damage.empty());
  EXPECT_EQ(after.samples.size(), before.samples.size());
  ASSERT_TRUE(after.end.has_value());
  const Names& names = after.names;
  ASSERT_EQ(names.frames.size(), 4u);
  ASSERT_EQ(names.lines.size(), 6u);
  for (const size_t first : {0, 3}) {  // each block with its own texts
    const NamedFunction& inner = names.functions[names.lines[first].function];
    EXPECT_EQ(names.texts[inner.name], "inner");
    EXPECT_EQ(names.texts[inner.file], "a.h");
    EXPECT_EQ(inner.line, 10u);
    EXPECT_EQ(inner.module, 0u);
    EXPECT_EQ(names.texts[names.functions[names.lines[first + 1].function].name], "outer");
    EXPECT_EQ(names.texts[names.lines[first + 1].file], "a.cpp");
    EXPECT_EQ(names.lines[first + 2].line, 22u);
  }
  EXPECT_EQ(names.frames[1].frame, 2u);
}

TEST_F(RecordedNames, MayBeMoreThanABlockHolds) {
  Names names = example_names();
  for (uint32_t frame = 0; frame < 25'000; ++frame) {
    names.frames.push_back({frame, 1});
    names.lines.push_back({frame % 2, 3, frame, frame % 200});
  }
  append_names(path_, names);
  const Names read_back = read(path_).names;
  ASSERT_EQ(read_back.frames.size(), names.frames.size());
  ASSERT_EQ(read_back.lines.size(), names.lines.size());
  for (size_t i = 0; i < names.lines.size(); ++i) {
    const NamedLine &is = read_back.lines[i], &was = names.lines[i];
    EXPECT_EQ(is.line, was.line);
    EXPECT_EQ(is.column, was.column);
    EXPECT_EQ(read_back.texts[is.file], names.texts[was.file]);
    EXPECT_EQ(read_back.texts[read_back.functions[is.function].name],
              names.texts[names.functions[was.function].name]);
  }
}

TEST(Names, AreRenumberedForTheFramesThatAreThere) {
  const std::vector<uint32_t> frames = {kNone, 5, 7}, modules = {3};
  Names with_column = example_names();
  with_column.lines[2].column = 9;
  const Names names = renumbered(with_column, frames, modules);
  ASSERT_EQ(names.frames.size(), 1u);
  EXPECT_EQ(columns_of(names), std::vector<uint32_t>{9});
  EXPECT_EQ(names.frames[0].frame, 7u);
  ASSERT_EQ(names.lines.size(), 1u);
  EXPECT_EQ(names.lines[0].line, 22u);
  EXPECT_EQ(names.functions[0].module, 3u);
  EXPECT_EQ(names.functions[1].module, kNone);
}

TEST_F(RecordedNames, HaveColumns) {
  append_names(path_, example_names());
  append_names(path_, example_with_columns());
  const Recording after = read(path_);
  EXPECT_TRUE(after.damage.empty());
  EXPECT_EQ(columns_of(after.names), (std::vector<uint32_t>{0, 0, 0, 5, 130, 0}));
}

// One of version 6 has no room for columns: it stays as its readers expect it.
TEST_F(RecordedNames, HaveNoColumnsInVersion6) {
  append_names(path_, example_names());
  set_version(6);
  EXPECT_EQ(columns_of(read(path_).names), std::vector<uint32_t>(3));
  const std::string before = bytes_of(path_);
  append_names(path_, example_names());
  const std::string once = bytes_of(path_);
  append_names(path_, example_with_columns());
  EXPECT_EQ(bytes_of(path_).substr(once.size()), once.substr(before.size()));
  EXPECT_EQ(columns_of(read(path_).names), std::vector<uint32_t>(9));
}

Names example_jit_names() {
  Names names;
  names.texts = {"", "unused", "late", "early"};
  names.jit = {{0, 1, 0, 3}, {0, 1, 5000, 2}, {1, 0, 70, 3}};
  return names;
}

std::string text_of(const Names& names) {
  std::string text;
  for (const JitName& row : names.jit) {
    for (const uint64_t number :
         {uint64_t{row.process}, uint64_t{row.frame}, uint64_t{row.from_ns}}) {
      text += std::to_string(number) + " ";
    }
    text += names.texts[row.name] + "\n";
  }
  return text;
}

TEST_F(RecordedNames, HaveTimesOfCodeThatWasMadeAtRunTime) {
  append_names(path_, example_names());
  append_names(path_, example_jit_names());
  const Recording after = read(path_);
  EXPECT_TRUE(after.damage.empty());
  EXPECT_EQ(text_of(after.names), text_of(example_jit_names()));
  Names many = example_jit_names();
  for (uint32_t i = 0; i < 25'000; ++i) many.jit.push_back({0, i % 7, SessionNs::at(i), i % 4});
  append_names(path_, many);
  EXPECT_EQ(text_of(read(path_).names), text_of(example_jit_names()) + text_of(many));
}

// As those that have no room for them; what else there is, is written.
TEST_F(RecordedNames, OfCodeThatWasMadeAtRunTimeAreNotWrittenIntoVersion4) {
  set_version(kNamesVersion);
  append_names(path_, example_jit_names());
  append_names(path_, example_names());
  const Recording after = read(path_);
  EXPECT_TRUE(after.names.jit.empty());
  EXPECT_EQ(after.names.frames.size(), 2u);
}

TEST(Names, OfCodeThatWasMadeAtRunTimeAreRenumbered) {
  const std::vector<uint32_t> frames = {kNone, 5};
  const Names names = renumbered(example_jit_names(), frames, {});
  EXPECT_EQ(text_of(names), "0 5 0 early\n0 5 5000 late\n");
}

TEST(NamesCodec, RefusesTimesThatAreCutOrReferNowhere) {
  ColumnWriter payload;
  encode_jit_names(example_jit_names(), &payload);
  Names names;
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    EXPECT_FALSE(decode_jit_names(payload.bytes().first(size), &names)) << size;
  }
  Names wrong = example_jit_names();
  wrong.jit[1].name = 4;
  ColumnWriter bad;
  encode_jit_names(wrong, &bad);
  EXPECT_FALSE(decode_jit_names(bad.bytes(), &names));
  EXPECT_TRUE(names.jit.empty());
}

TEST_F(RecordedNames, AreNotWrittenIntoAnotherVersion) {
  set_version(kOldestVersion);
  EXPECT_THROW(append_names(path_, example_names()), Error);
  EXPECT_TRUE(read(path_).damage.empty());
}

// `f` of version 6: the line 4 of frame 0. Version 7 has the columns behind that, if there are any.
TEST(NamesCodec, ReadsAndWritesVersion6WhereThereAreNoColumns) {
  std::vector<uint8_t> bytes = {2, 0, 1, 'f', 1, 1, 0, 3, 0, 1, 0, 1, 0, 0, 4};
  for (const uint32_t column : {0, 130}) {
    Names names;
    ASSERT_TRUE(decode_names(bytes, 0, &names));
    ASSERT_EQ(names.lines.size(), 1u);
    EXPECT_EQ(names.lines[0].line, 4u);
    EXPECT_EQ(names.lines[0].column, column);
    Names alone;
    alone.texts = {"", "f"};
    alone.functions = {{1, 0, 3, kNone}};
    alone.frames = {{0, 1}};
    alone.lines = {{0, 0, 4, column}};
    ColumnWriter payload;
    encode_names(alone, &payload);
    EXPECT_EQ(std::vector<uint8_t>(payload.bytes().begin(), payload.bytes().end()), bytes);
    bytes.insert(bytes.end(), {0x82, 0x01});
  }
}

TEST(NamesCodec, RefusesColumnsThatAreCutOrTooMany) {
  ColumnWriter without, with;
  encode_names(example_names(), &without);
  encode_names(example_with_columns(), &with);
  Names names;
  for (size_t size = without.bytes().size() + 1; size < with.bytes().size(); ++size) {
    EXPECT_FALSE(decode_names(with.bytes().first(size), 1, &names)) << size;
  }
  with.u8(1);
  EXPECT_FALSE(decode_names(with.bytes(), 1, &names));
  EXPECT_TRUE(names.frames.empty());
}

TEST(NamesCodec, RefusesWhatIsCutOrRefersNowhere) {
  ColumnWriter payload;
  encode_names(example_names(), &payload);
  Names names;
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    EXPECT_FALSE(decode_names(payload.bytes().first(size), 1, &names)) << size;
  }
  EXPECT_FALSE(decode_names(payload.bytes(), 0, &names)) << "a module that is not there";
  EXPECT_TRUE(names.frames.empty());
  EXPECT_TRUE(decode_names(payload.bytes(), 1, &names));

  for (Names wrong : {example_names(), example_names(), example_names()}) {
    static int which = 0;
    if (which == 0) wrong.functions[0].name = 5;
    if (which == 1) wrong.lines[0].function = 2;
    if (which == 2) wrong.lines[2].file = 5;
    ColumnWriter bad;
    encode_names(wrong, &bad);
    EXPECT_FALSE(decode_names(bad.bytes(), 1, &names)) << which++;
  }
}

}  // namespace
}  // namespace sampan::recording
