#include "remote/top/render.h"

#include <gtest/gtest.h>
#include <locale.h>

#include "known.h"
#include "remote/top/screen.h"
#include "remote/top/text.h"

namespace sampan::top {
namespace {

class Rendered : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
    see(&history);
    screen.status.target = "app (100)";
    screen.status.waits_known = true;
    screen.status.window_ns = 5 * kNsPerSecond;
    screen.refresh(history);
  }
  std::string text(Size size = {}) {
    std::string result;
    for (const Line& line : screen.draw(size).lines) result += plain_text(line) + "\n";
    return result;
  }
  void press(const std::string& keys) {
    for (const char key : keys) screen.press(static_cast<unsigned char>(key), history);
  }

  History history{5 * kNsPerSecond};
  Screen screen;
};

std::string first_lines(const std::string& text, int count) {
  size_t end = 0;
  while (count-- > 0) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

TEST_F(Rendered, ThreadsAt80x24) {
  EXPECT_EQ(first_lines(text(), 7),
            "sampan top  app (100)  0:00:01  250 Hz  300 samples\n"
            "CPU 60.0 %  3 threads, 1 on CPU  lost nothing\n"
            "1 Threads  2 Functions  3 Tree  4 Sandwich  all threads, last 5 s, CPU\n"
            "    TID THREAD           vCPU%  WAIT% QUEUE% S  SAMPLES DOING\n"
            "    101 worker-1          30.0    0.0    0.0 R       75 mix\n"
            "    100 app               20.0   40.0    0.0 S      150 [poll tcp 10.0.0.1:443]\n"
            "    102 worker-2          10.0    0.0   20.0 Q       75 [waiting for a CPU]\n");
  EXPECT_EQ(text().substr(text().size() - 77),
            "h Help  / Search  Enter Choose  p Pools  S Since start  Space Freeze  q Quit\n");
}

TEST_F(Rendered, FunctionsAt80x24) {
  press("2");
  EXPECT_EQ(first_lines(text().substr(first_lines(text(), 3).size()), 3),
            "vSELF% TOTAL%   SELF s  TOTAL s FUNCTION                          MODULE\n"
            "  50.0   66.7    0.300    0.400 hash                              app\n"
            "  16.7   16.7    0.100    0.100 parse                             app\n");
}

TEST_F(Rendered, SecondsAreOfTheTimeThatIsShown) {
  see_more(&history, "start;work;hash 25\n", 10 * kNsPerSecond, 11 * kNsPerSecond);
  const auto seconds_of_hash = [&] {
    screen.refresh(history);
    const std::string rows = text();
    return rows.substr(rows.find(" hash ") - 17, 17);
  };
  press("2");
  EXPECT_EQ(seconds_of_hash(), "   0.100    0.100");
  press("S");
  EXPECT_EQ(seconds_of_hash(), "   0.400    0.500");
}

TEST_F(Rendered, TheTreeShowsOpenNodes) {
  press("3");
  const std::string rows = text().substr(first_lines(text(), 4).size());
  EXPECT_EQ(first_lines(rows, 5),
            "  66.7    0.0    0.400  - start\n"
            "  66.7    0.0    0.400  - work\n"
            "  66.7   50.0    0.400  - hash\n"
            "  16.7   16.7    0.100    mix\n"
            "  33.3    0.0    0.200  - main\n");
}

TEST_F(Rendered, SmallScreensShowTheEssentials) {
  EXPECT_EQ(text({40, 10}),
            "sampan top  app (100)  0:00:01  250 Hz …\n"
            "CPU 60.0 %  3 threads, 1 on CPU  lost n…\n"
            "1 Threads  2 Functions  3 Tree  all thr…\n"
            "    TID THREAD           vCPU%  WAIT% S\n"
            "    101 worker-1          30.0    0.0 R\n"
            "    100 app               20.0   40.0 S\n"
            "    102 worker-2          10.0    0.0 Q\n"
            "\n\n"
            "h Help  / Search  Enter Choose  p Pools…\n");
}

TEST_F(Rendered, PicturesHaveExactlyTheScreensSize) {
  for (const char* const keys : {"1", "2", "3", "p2", "\n", "h", "/abc"}) {
    press(keys);
    for (const Size size : {Size{80, 24}, Size{120, 40}, Size{40, 10}, Size{20, 6}, Size{3, 3},
                            Size{1, 1}, Size{200, 2}}) {
      const Picture picture = screen.draw(size);
      ASSERT_EQ(picture.lines.size(), size.height) << keys;
      for (const Line& line : picture.lines) {
        size_t width = 0;
        for (const Piece& piece : line) width += cells(piece.text);
        ASSERT_LE(width, size.width) << keys << ": " << plain_text(line);
      }
    }
  }
}

TEST_F(Rendered, TheSelectedRowIsVisible) {
  press("2G");
  const Picture picture = screen.draw({80, 8});
  bool seen = false;
  for (const Line& line : picture.lines) {
    seen = seen || (!line.empty() && line[0].emphasis == Emphasis::kSelected);
  }
  EXPECT_TRUE(seen);
}

TEST_F(Rendered, HostileNamesStayInTheirCells) {
  see(&history, "# thread 7 \033]0;x\007\xff漢字漢字漢字漢字漢字漢字\nmain\033[2J;a 5\n",
      kNsPerSecond, 2 * kNsPerSecond);
  screen.status.target = "\033[31mapp\n";
  for (const char* const keys : {"1", "2", "3"}) {
    press(keys);
    for (const Line& line : screen.draw({80, 24}).lines) {
      for (const char c : plain_text(line)) {
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << plain_text(line);
      }
      size_t width = 0;
      for (const Piece& piece : line) width += cells(piece.text);
      EXPECT_LE(width, 80u);
    }
  }
}

TEST_F(Rendered, HelpFits) {
  EXPECT_LE(help_lines().size(), 22u);
  for (const std::string& line : help_lines()) EXPECT_LE(cells(line), 78u) << line;
}

TEST_F(Rendered, OnceHasNoHintsAtKeys) {
  const Picture picture = render_once(screen.content(), screen.choices, screen.status, {80, 24});
  EXPECT_EQ(picture.lines.size(), 7u);
  EXPECT_EQ(render_once(screen.content(), screen.choices, screen.status, {80, 6}).lines.size(), 6u);
}

}  // namespace
}  // namespace sampan::top
