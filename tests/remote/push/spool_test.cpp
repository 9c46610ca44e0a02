// The spool's files: their order, their content, and how they survive accidents.
#include "remote/push/spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "support/scratch_directory.h"

namespace sampan::push {
namespace {

namespace fs = std::filesystem;

class SpoolFiles : public testing::Test {
 protected:
  test::ScratchDirectory scratch;
  std::string directory = scratch.file("deep/spool");
  Spool spool{directory};

  std::string recording(const std::string& content) {
    const std::string path = scratch.file("recording");
    fs::remove(path);
    std::ofstream(path) << content;
    return path;
  }
  void add(const std::string& content) {
    Labels labels;
    labels.add("content", content);
    ASSERT_TRUE(spool.link(recording(content), labels));
  }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(SpoolFiles, KeepOrderLabelsAndContent) {
  add("one");
  Labels labels;
  labels.add("content", "two");
  spool.copy(recording("two"), labels);
  add("three");
  ASSERT_TRUE(spool.own());
  std::string order;
  for (const Spool::Item& item : spool.items()) {
    EXPECT_FALSE(item.is_piece);
    EXPECT_EQ(text(spool.recording_of(item)), spool.labels_of(item).value("content"));
    order += spool.labels_of(item).value("content") + " ";
  }
  EXPECT_EQ(order, "one two three ");
  EXPECT_EQ(spool.waiting().bytes, 11u);
}

TEST_F(SpoolFiles, ReplaceASegmentByItsPiece) {
  add("one");
  add("two");
  ASSERT_TRUE(spool.own());
  const Spool::Item first = spool.items().front();
  spool.replace(first, {.id = "x", .body = "body"});
  ASSERT_EQ(spool.items().size(), 2u);
  EXPECT_EQ(spool.items().front().name, first.name);
  EXPECT_TRUE(spool.items().front().is_piece);
  EXPECT_EQ(spool.read(spool.items().front()).body, "body");
  spool.remove(spool.items().front());
  EXPECT_EQ(spool.items().size(), 1u);
}

TEST_F(SpoolFiles, AreConsistentAfterAKill) {
  add("one");
  const Spool::Item item = spool.items().front();
  fs::copy(directory + "/" + item.name + ".segment", directory + "/kept",
           fs::copy_options::recursive);
  ASSERT_TRUE(spool.own());
  spool.replace(item, {.id = "x"});
  spool.disown();
  fs::rename(directory + "/kept", directory + "/" + item.name + ".segment");
  EXPECT_EQ(spool.items().size(), 1u);
  EXPECT_TRUE(spool.items().front().is_piece);
  ASSERT_TRUE(spool.own());
  EXPECT_FALSE(fs::exists(directory + "/" + item.name + ".segment"));
  // An unfinished item does not count, and is deleted when it is old.
  fs::create_directory(directory + "/.new.tmp");
  fs::create_directory(directory + "/.old.tmp");
  fs::last_write_time(directory + "/.old.tmp",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  spool.disown();
  ASSERT_TRUE(spool.own());
  EXPECT_EQ(spool.items().size(), 1u);
  EXPECT_TRUE(fs::exists(directory + "/.new.tmp"));
  EXPECT_FALSE(fs::exists(directory + "/.old.tmp"));
}

TEST_F(SpoolFiles, HaveOneOwner) {
  Spool other(directory);
  ASSERT_TRUE(spool.own());
  EXPECT_TRUE(spool.own());
  EXPECT_FALSE(other.own());
  spool.disown();
  EXPECT_TRUE(other.own());
}

TEST_F(SpoolFiles, AreReadableByTheirUserOnly) {
  EXPECT_EQ(fs::status(directory).permissions(), fs::perms::owner_all);
}

TEST_F(SpoolFiles, AreTrimmedOldestFirstAfterRefusedOnes) {
  for (const char* content : {"aaaa", "bbbb", "cccc", "dddd"}) add(content);
  ASSERT_TRUE(spool.own());
  EXPECT_EQ(spool.trim(16).dropped.items, 0u);
  spool.set_aside(spool.items()[1]);
  const Spool::Trimmed first = spool.trim(15);
  EXPECT_EQ(first.refused.items, 1u);
  EXPECT_EQ(first.dropped.items, 0u);
  EXPECT_EQ(spool.items().size(), 3u);
  const Spool::Sum dropped = spool.trim(7).dropped;
  EXPECT_EQ(dropped.items, 2u);
  EXPECT_EQ(dropped.bytes, 8u);
  ASSERT_EQ(spool.items().size(), 1u);
  EXPECT_EQ(spool.labels_of(spool.items()[0]).value("content"), "dddd");
  EXPECT_EQ(spool.trim(3).dropped.items, 1u);
}

TEST_F(SpoolFiles, RestoreRefusedOnes) {
  add("one");
  add("two");
  ASSERT_TRUE(spool.own());
  const Spool::Item first = spool.items().front();
  spool.set_aside(first);
  EXPECT_EQ(spool.items().size(), 1u);
  spool.restore();
  ASSERT_EQ(spool.items().size(), 2u);
  EXPECT_EQ(spool.items().front().name, first.name);
}

TEST_F(SpoolFiles, LeaveNothingForAMissingRecording) {
  EXPECT_FALSE(spool.link(scratch.file("gone"), {}));
  EXPECT_THROW(spool.copy(scratch.file("gone"), {}), Error);
  EXPECT_TRUE(spool.items().empty());
  for (const auto& entry : fs::directory_iterator(directory)) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

TEST(Pieces, RoundTrip) {
  const Piece piece{.id = "1-2",
                    .query = "name=a%20b&from=1",
                    .type = "x/y",
                    .encoding = "gzip",
                    .about = "what",
                    .body = std::string("\n\0&hash=\xff", 9)};
  const Piece same = parse_piece(file_of(piece), "file");
  EXPECT_EQ(std::tie(same.id, same.query, same.type, same.encoding, same.about, same.body),
            std::tie(piece.id, piece.query, piece.type, piece.encoding, piece.about, piece.body));
}

TEST(Pieces, DetectAnyDamage) {
  const std::string file = file_of({.id = "1", .query = "q", .type = "t", .body = "body"});
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THROW(parse_piece(damaged, "file"), Error) << i;
    EXPECT_THROW(parse_piece(file.substr(0, i), "file"), Error) << i;
  }
  EXPECT_THROW(parse_piece(file + "x", "file"), Error);
  // A correct checksum does not make a header of two lines valid.
  EXPECT_THROW(parse_piece(file_of({.id = "1", .type = "t\r\nX: y"}), "file"), Error);
}

TEST(Pieces, HaveIdsDerivedFromTheirContent) {
  EXPECT_EQ(uuid_of("a"), uuid_of("a"));
  EXPECT_NE(uuid_of("a"), uuid_of("b"));
  EXPECT_EQ(uuid_of("a").size(), 36u);
  EXPECT_EQ(uuid_of("a")[14], '8');
}

}  // namespace
}  // namespace sampan::push
