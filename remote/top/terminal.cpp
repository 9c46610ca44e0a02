#include "remote/top/terminal.h"

// Enables wide characters, and disables macros with names like "timeout".
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#undef lines
#undef columns

#include "base/error.h"
#include "remote/top/screen.h"

namespace sampan::top {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
constexpr short kWarningPair = 1;
constexpr size_t kStackSize = 64 << 10;

// What the signal handler needs, prepared: it must not look anything up.
struct SignalState {
  termios before;
  char sequence[256];
  size_t size;
  alignas(16) char stack[kStackSize];
};
SignalState rescue;
volatile sig_atomic_t continued;  // SIGCONT has come

// Async-signal-safe. When it returns, the signal is raised again and kills the process.
void restore_and_die(int number) {
  ssize_t ignored = write(STDOUT_FILENO, rescue.sequence, rescue.size);
  static_cast<void>(ignored);
  tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.before);
  raise(number);
}

// A terminfo capability without its padding ("$<5>"), or "".
std::string capability(const char* name) {
  const char* const value = tigetstr(name);
  if (value == nullptr || value == reinterpret_cast<char*>(-1)) return "";
  std::string text = value;
  for (size_t at; (at = text.find("$<")) != text.npos;) {
    const size_t end = text.find('>', at);
    text.erase(at, end == text.npos ? text.npos : end + 1 - at);
  }
  return text;
}

void prepare_rescue() {
  std::string sequence;
  for (const char* const name : {"sgr0", "op", "rmkx", "cnorm", "rmcup"}) {
    sequence += capability(name);
  }
  rescue.size = std::min(sequence.size(), sizeof(rescue.sequence));
  std::memcpy(rescue.sequence, sequence.data(), rescue.size);
  const stack_t stack{.ss_sp = rescue.stack, .ss_flags = 0, .ss_size = sizeof(rescue.stack)};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = restore_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const int number : kCrashes) sigaction(number, &action, nullptr);
}

bool wants_colours() {
  const char* const no = std::getenv("NO_COLOR");
  return (no == nullptr || *no == '\0') && has_colors();
}

attr_t attributes(Emphasis emphasis, bool colours) {
  switch (emphasis) {
    case Emphasis::kPlain: return A_NORMAL;
    case Emphasis::kTitle: return A_REVERSE;
    case Emphasis::kSelected: return A_REVERSE | A_BOLD;
    case Emphasis::kStrong: return A_BOLD;
    case Emphasis::kFaint: return A_DIM;
    case Emphasis::kWarning:
      return colours ? A_BOLD | static_cast<attr_t>(COLOR_PAIR(kWarningPair)) : A_BOLD;
  }
  return A_NORMAL;
}

std::optional<uint32_t> special_key(wint_t key) {
  switch (key) {
    case KEY_UP: return kUp;
    case KEY_DOWN: return kDown;
    case KEY_LEFT: return kLeft;
    case KEY_RIGHT: return kRight;
    case KEY_PPAGE: return kPageUp;
    case KEY_NPAGE: return kPageDown;
    case KEY_HOME: return kHome;
    case KEY_END: return kEnd;
    case KEY_BTAB: return kBackTab;
    case KEY_ENTER: return kEnter;
    case KEY_BACKSPACE:
    case KEY_DC: return kBackspace;
    case KEY_RESIZE: return 0;
    default: break;
  }
  if (key == static_cast<wint_t>(KEY_F(1))) return kF1;
  if (key == static_cast<wint_t>(KEY_F(10))) return kF10;
  return std::nullopt;
}

}  // namespace

Terminal::Terminal() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    throw Error("top needs a terminal: without one, top --once or --json");
  }
  tcgetattr(STDOUT_FILENO, &rescue.before);
  screen_ = newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) {
    const char* const name = std::getenv("TERM");
    throw Error("the terminal '{}' is not known (TERM): top --once works everywhere",
                name != nullptr ? name : "");
  }
  if (capability("cup").empty()) {
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
    throw Error("this terminal cannot move its cursor: top --once works everywhere");
  }
  prepare_rescue();
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(50);
  colours_ = wants_colours();
  if (colours_) {
    start_color();
    use_default_colors();
    init_pair(kWarningPair, COLOR_YELLOW, -1);
  }
}

Terminal::~Terminal() {
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
  for (const int number : kCrashes) signal(number, SIG_DFL);
}

bool Terminal::is_ours() const {
  const pid_t group = tcgetpgrp(STDIN_FILENO);
  return group < 0 || group == getpgrp();
}

void Terminal::stay_awake() {
  for (const int number : {SIGTTIN, SIGTTOU}) signal(number, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = [](int) { continued = 1; };
  sigaction(SIGCONT, &action, nullptr);
}

Size Terminal::size() const {
  return {static_cast<size_t>(std::max(getmaxx(stdscr), 1)),
          static_cast<size_t>(std::max(getmaxy(stdscr), 1))};
}

void Terminal::draw(const Picture& picture) {
  if (!is_ours()) return;
  if (continued != 0) {  // others have used the terminal
    continued = 0;
    reset_prog_mode();
    clearok(curscr, TRUE);
  }
  erase();
  for (size_t y = 0; y < picture.lines.size(); ++y) {
    wmove(stdscr, static_cast<int>(y), 0);
    for (const Piece& piece : picture.lines[y]) {
      attrset(static_cast<int>(attributes(piece.emphasis, colours_)));
      waddstr(stdscr, piece.text.c_str());  // text that does not fit is cut off
    }
  }
  attrset(A_NORMAL);
  curs_set(picture.cursor ? 1 : 0);
  const size_t last = picture.lines.empty() ? 0 : picture.lines.size() - 1;
  wmove(stdscr, static_cast<int>(last), static_cast<int>(picture.cursor.value_or(0)));
  refresh();
}

std::optional<uint32_t> Terminal::key() {
  while (is_ours()) {
    wint_t key = 0;
    const int kind = wget_wch(stdscr, &key);
    if (kind == ERR) {
      pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      hung_up_ = poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) != 0;
      return std::nullopt;
    }
    if (kind == OK) return static_cast<uint32_t>(key);
    if (const std::optional<uint32_t> known = special_key(key)) return known;
  }
  return std::nullopt;
}

}  // namespace sampan::top
