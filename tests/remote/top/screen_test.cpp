#include "remote/top/screen.h"

#include <gtest/gtest.h>
#include <locale.h>

#include "known.h"

namespace sampan::top {
namespace {

using Kind = Request::Kind;

class Keys : public testing::Test {
 protected:
  Keys() {
    setlocale(LC_CTYPE, "C.UTF-8");
    see(&history);
    screen.status.waits_known = true;
    screen.refresh(history);
  }
  Request press(uint32_t key) { return screen.press(key, history); }
  void type(const std::string& keys) {
    for (const char key : keys) press(static_cast<unsigned char>(key));
  }
  std::string selected() { return screen.content().name(screen.selected()); }

  History history{5 * kNsPerSecond};
  Screen screen;
};

TEST_F(Keys, Quit) {
  EXPECT_EQ(press('q').kind, Kind::kQuit);
  EXPECT_EQ(press(kF10).kind, Kind::kQuit);
}

TEST_F(Keys, MakeRequests) {
  EXPECT_EQ(press(' ').kind, Kind::kFreeze);
  EXPECT_EQ(press('z').kind, Kind::kPause);
  EXPECT_EQ(press('+').kind, Kind::kFaster);
  EXPECT_EQ(press('-').kind, Kind::kSlower);
  EXPECT_EQ(press('o').kind, Kind::kOpenPage);
}

TEST_F(Keys, Move) {
  EXPECT_EQ(selected(), "worker-1");
  press(kDown);
  EXPECT_EQ(selected(), "app");
  press('j');
  press('j');
  EXPECT_EQ(selected(), "worker-2");
  press('k');
  EXPECT_EQ(selected(), "app");
  press(kHome);
  EXPECT_EQ(selected(), "worker-1");
  press(kEnd);
  EXPECT_EQ(selected(), "worker-2");
  press(kPageUp);
  EXPECT_EQ(selected(), "app");  // a page is what fits in the last picture: one row
  screen.draw({80, 24});
  press(kPageUp);
  EXPECT_EQ(selected(), "worker-1");
  press(kPageDown);
  EXPECT_EQ(selected(), "worker-2");
  press('g');
  press(kUp);
  EXPECT_EQ(selected(), "worker-1");
}

TEST_F(Keys, KeepTheSelectedRowSelected) {
  press(kDown);
  EXPECT_EQ(selected(), "app");
  see_more(&history, "main;log 200\n", kNsPerSecond, 2 * kNsPerSecond);
  screen.refresh(history);
  EXPECT_EQ(selected(), "app");
  EXPECT_EQ(screen.selected(), 0u);
}

TEST_F(Keys, ChooseTheLook) {
  press('3');
  EXPECT_EQ(screen.choices.look, Look::kTree);
  press(kTab);
  EXPECT_EQ(screen.choices.look, Look::kSandwich);
  press(kTab);
  EXPECT_EQ(screen.choices.look, Look::kThreads);
  press(kBackTab);
  press(kBackTab);
  EXPECT_EQ(screen.choices.look, Look::kTree);
}

TEST_F(Keys, SortAsInTopAndHtop) {
  press('N');
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kName);
  press('R');
  EXPECT_TRUE(screen.choices.reversed);
  press('P');
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kCpu);
  EXPECT_FALSE(screen.choices.reversed);
  press('>');
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kWait);
  type("<<<<<<");
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kTid);
  type(">>>>>>>>");
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kSamples);
  press('2');
  press('T');
  EXPECT_EQ(screen.choices.function_sort, FunctionSort::kTotal);
  press('<');
  EXPECT_EQ(screen.choices.function_sort, FunctionSort::kSelf);
  EXPECT_EQ(screen.choices.thread_sort, ThreadSort::kSamples);
}

TEST_F(Keys, EnterGoesIntoAThreadThenAFunction) {
  press(kDown);
  press(kEnter);
  EXPECT_EQ(screen.choices.look, Look::kFunctions);
  EXPECT_EQ(screen.status.chosen, "thread 100 app");
  EXPECT_EQ(selected(), "parse");
  press(kDown);
  press(kEnter);
  EXPECT_EQ(screen.choices.look, Look::kSandwich);
  EXPECT_EQ(selected(), "serve");
  press(kUp);
  press(kEnter);
  EXPECT_EQ(selected(), "main");
  press('a');
  EXPECT_EQ(screen.status.chosen, "all threads");
}

TEST_F(Keys, TheTreeOpensAndCloses) {
  press('3');
  const size_t all = screen.content().size();
  press(kLeft);
  EXPECT_EQ(screen.content().size(), all - 3);
  press(kRight);
  EXPECT_EQ(screen.content().size(), all);
  press(kEnter);
  EXPECT_EQ(screen.content().size(), all - 3);
  press('i');
  EXPECT_TRUE(screen.choices.inverted);
  EXPECT_EQ(selected(), "hash");
}

TEST_F(Keys, PoolsClockAndScope) {
  press('p');
  EXPECT_EQ(selected(), "worker");
  press('c');
  EXPECT_EQ(screen.choices.clock, Clock::kWall);
  press('S');
  EXPECT_EQ(screen.choices.scope, Scope::kStart);
  screen.status.waits_known = false;
  press('c');
  EXPECT_NE(screen.status.message.find("--clock wall"), std::string::npos);
}

TEST_F(Keys, SearchFindsTheNextMatchAndWraps) {
  type("/ORKER\n");
  EXPECT_EQ(selected(), "worker-1");
  press('n');
  EXPECT_EQ(selected(), "worker-2");
  press('n');
  EXPECT_EQ(selected(), "worker-1");
  type("/nowhere\n");
  EXPECT_EQ(screen.status.message, "Not found: nowhere");
  EXPECT_EQ(selected(), "worker-1");
}

TEST_F(Keys, EditTypedText) {
  type("/zapp");
  EXPECT_EQ(screen.status.prompt, "Search: ");
  for (int i = 0; i < 4; ++i) press(kBackspace);
  type("ap\n");
  EXPECT_EQ(selected(), "app");
  EXPECT_EQ(screen.status.prompt, "");
  press('/');
  press(0xfc);
  EXPECT_EQ(screen.status.typed, "ü");
  press(kBackspace);
  EXPECT_EQ(screen.status.typed, "");
  type("x");
  press(21);
  EXPECT_EQ(screen.status.typed, "");
  press(kEscape);
  EXPECT_EQ(screen.status.prompt, "");
  EXPECT_EQ(press('q').kind, Kind::kQuit);
}

TEST_F(Keys, SavingAsksForAFile) {
  press('w');
  EXPECT_EQ(screen.status.typed, "top.sampan");
  press(21);
  type("my file");
  const Request request = press(kEnter);
  EXPECT_EQ(request.kind, Kind::kBeginSaving);
  EXPECT_EQ(request.text, "my file");
  screen.status.saving = request.text;
  EXPECT_EQ(press('w').kind, Kind::kEndSaving);
}

TEST_F(Keys, HelpIsLeftByAnyKey) {
  press('?');
  EXPECT_TRUE(screen.status.help);
  EXPECT_EQ(press('q').kind, Kind::kNothing);
  EXPECT_FALSE(screen.status.help);
}

TEST_F(Keys, DoNothingOnAnEmptyScreen) {
  History nothing(kNsPerSecond);
  Screen empty;
  empty.refresh(nothing);
  for (uint32_t key = 1; key < 128; ++key) {
    if (key != '/' && key != 'w') empty.press(key, nothing);
  }
  for (uint32_t key = kUp; key <= kF10; ++key) empty.press(key, nothing);
  for (const char look : {'1', '2', '3', '4'}) {
    empty.press(static_cast<unsigned char>(look), nothing);
    EXPECT_EQ(empty.draw({80, 24}).lines.size(), 24u);
    for (const char key : std::string("/x\n"))
      empty.press(static_cast<unsigned char>(key), nothing);
  }
}

}  // namespace
}  // namespace sampan::top
