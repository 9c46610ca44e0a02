#include "remote/top/screen.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "profile/profile.h"
#include "profile/rates.h"

namespace sampan::top {
namespace {

using profile::kNone;
using Kind = Request::Kind;

constexpr size_t kMaxTyped = 1000;  // bytes

void append_utf8(std::string* text, uint32_t code) {
  if (code < 0x80) {
    *text += static_cast<char>(code);
  } else if (code < 0x800) {
    *text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    *text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
              static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    *text +=
        {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
         static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
}

void remove_last_character(std::string* text) {
  while (!text->empty() && (static_cast<uint8_t>(text->back()) & 0xc0) == 0x80) text->pop_back();
  if (!text->empty()) text->pop_back();
}

// Compares ASCII letters without regard to case.
bool contains(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

template <typename Enum>
Enum shifted(Enum value, int by, int last) {
  return static_cast<Enum>(std::clamp(static_cast<int>(value) + by, 0, last));
}

}  // namespace

Request Screen::press(uint32_t key, const History& history) {
  status.message.clear();
  if (status.help) {
    status.help = false;
    return {};
  }
  if (asking_ != Asking::kNothing) return type(key);
  switch (key) {
    case 'q':
    case kF10: return {Kind::kQuit};
    case 'h':
    case '?':
    case kF1: status.help = true; return {};
    case ' ': return {Kind::kFreeze};
    case 'z': return {Kind::kPause};
    case '+':
    case '=': return {Kind::kFaster};
    case '-': return {Kind::kSlower};
    case 'o': return {Kind::kOpenPage};
    case 'w':
      if (!status.saving.empty()) return {Kind::kEndSaving};
      ask(Asking::kFile, "Save to: ", "top.sampan");
      return {};
    case '/': ask(Asking::kSearch, "Search: ", ""); return {};
    case 'n': search_next(false); return {};
    default: break;
  }
  if (move(key)) return {};
  if (key == kEnter || key == '\r') {
    enter();
  } else if (!choose_look(key) && !sort(key) && !toggle(key)) {
    if (key > ' ' && key < kBackspace) {
      say(std::string("No key ") + static_cast<char>(key) + ": h for help");
    }
    return {};
  }
  refresh(history);
  return {};
}

bool Screen::move(uint32_t key) {
  const size_t last = content_.size() == 0 ? 0 : content_.size() - 1;
  size_t row = cursor_.row;
  switch (key) {
    case kUp:
    case 'k': row -= row > 0; break;
    case kDown:
    case 'j': ++row; break;
    case kPageUp: row -= std::min(row, page_); break;
    case kPageDown: row += page_; break;
    case kHome:
    case 'g': row = 0; break;
    case kEnd:
    case 'G': row = last; break;
    default: return false;
  }
  cursor_.row = std::min(row, last);
  if (content_.size() != 0) selected_id_ = content_.id(cursor_.row);
  return true;
}

bool Screen::choose_look(uint32_t key) {
  const int look = static_cast<int>(choices.look);
  if (key >= '1' && key < '1' + kLookCount) {
    look_at(static_cast<Look>(key - '1'));
  } else if (key == kTab) {
    look_at(static_cast<Look>((look + 1) % kLookCount));
  } else if (key == kBackTab) {
    look_at(static_cast<Look>((look + kLookCount - 1) % kLookCount));
  } else {
    return false;
  }
  return true;
}

// A sandwich shows the function that was selected before.
void Screen::look_at(Look look) {
  if (look == Look::kSandwich && cursor_.row < content_.size()) {
    if (!content_.functions.empty()) choices.focus = content_.functions[cursor_.row].function;
    if (!content_.tree.empty()) choices.focus = content_.tree[cursor_.row].function;
  }
  if (look == choices.look && look != Look::kSandwich) return;
  choices.look = look;
  cursor_ = {};
  centred_ = look == Look::kSandwich;
  selected_id_ = centred_ ? choices.focus : UINT64_MAX;
}

bool Screen::sort(uint32_t key) {
  const bool of_threads = choices.look == Look::kThreads;
  const auto by = [&](ThreadSort thread_sort, FunctionSort function_sort) {
    (of_threads ? void(choices.thread_sort = thread_sort)
                : void(choices.function_sort = function_sort));
    choices.reversed = false;
  };
  const auto shift = [&](int step) {
    choices.thread_sort = shifted(choices.thread_sort, of_threads ? step : 0, 4);
    choices.function_sort = shifted(choices.function_sort, of_threads ? 0 : step, 2);
    choices.reversed = false;
  };
  switch (key) {
    case 'P': by(ThreadSort::kCpu, FunctionSort::kSelf); break;
    case 'T': by(ThreadSort::kWait, FunctionSort::kTotal); break;
    case 'N': by(ThreadSort::kName, FunctionSort::kName); break;
    case '<': shift(-1); break;
    case '>': shift(1); break;
    case 'R': choices.reversed = !choices.reversed; break;
    default: return false;
  }
  return true;
}

bool Screen::toggle(uint32_t key) {
  switch (key) {
    case 'p':
      choices.pools = !choices.pools;
      look_at(Look::kThreads);
      break;
    case 'a':
    case kEscape: choices.chosen.reset(); break;
    case 'S':
      choices.scope = choices.scope == Scope::kStart ? Scope::kWindow : Scope::kStart;
      break;
    case 'c':
      if (!status.waits_known) {
        say("Waits were not sampled: start with --clock wall");
      } else {
        choices.clock = choices.clock == Clock::kCpu ? Clock::kWall : Clock::kCpu;
      }
      break;
    case 'i':
      choices.inverted = !choices.inverted;
      look_at(Look::kTree);
      cursor_ = {};
      break;
    case kLeft: open(false); break;
    case kRight: open(true); break;
    default: return false;
  }
  return true;
}

void Screen::enter() {
  if (cursor_.row >= content_.size()) return;
  switch (choices.look) {
    case Look::kThreads:
      choices.chosen = content_.threads[cursor_.row].choice;
      look_at(Look::kFunctions);
      break;
    case Look::kFunctions: look_at(Look::kSandwich); break;
    case Look::kTree: open(!content_.tree[cursor_.row].is_open); break;
    case Look::kSandwich: look_at(Look::kSandwich); break;
  }
}

void Screen::open(bool open) {
  if (cursor_.row < content_.tree.size()) choices.open[content_.tree[cursor_.row].id] = open;
}

void Screen::ask(Asking what, std::string prompt, std::string typed) {
  asking_ = what;
  status.prompt = std::move(prompt);
  status.typed = std::move(typed);
}

Request Screen::type(uint32_t key) {
  Request request;
  if (key == kEnter || key == '\r') {
    finish_typing(&request);
  } else if (key == kBackspace || key == '\b') {
    remove_last_character(&status.typed);
    return request;
  } else if (key == 21) {  // Ctrl-U, as in terminals
    status.typed.clear();
    return request;
  } else if (key >= ' ' && key < kUp) {
    if (status.typed.size() < kMaxTyped) append_utf8(&status.typed, key);
    return request;
  } else if (key != kEscape) {
    return request;
  }
  asking_ = Asking::kNothing;
  status.prompt.clear();
  return request;
}

void Screen::finish_typing(Request* request) {
  if (status.typed.empty()) return;
  if (asking_ == Asking::kFile) {
    *request = {Kind::kBeginSaving, status.typed};
  } else {
    choices.search = status.typed;
    search_next(true);
  }
}

void Screen::search_next(bool from_here) {
  const size_t count = content_.size();
  if (choices.search.empty()) return say("Nothing to search for: /");
  for (size_t i = from_here ? 0 : 1; i < count + !from_here; ++i) {
    const size_t row = (cursor_.row + i) % count;
    if (!contains(content_.name(row), choices.search)) continue;
    cursor_.row = row;
    selected_id_ = content_.id(row);
    return;
  }
  say("Not found: " + choices.search);
}

void Screen::refresh(const History& history) {
  content_ = content_of(history, choices);
  status.chosen = chosen_name(history, choices);
  status.elapsed_ns = history.span_ns(Scope::kStart);
  status.samples = history.samples();
  const profile::Session& session = history.profile().session;
  status.waits_known = session.clock == "wall";
  const uint32_t rate_hz = profile::rate_range(history.profile()).last_hz;
  if (rate_hz != 0) status.rate_hz = rate_hz;  // 0: nothing was received yet
  const size_t count = content_.size();
  for (size_t row = 0; row < count; ++row) {
    if (content_.id(row) != selected_id_) continue;
    cursor_.row = row;
    return;
  }
  cursor_.row = std::min(cursor_.row, count == 0 ? 0 : count - 1);
}

Picture Screen::draw(Size size) {
  page_ = std::max<size_t>(rows_shown(size), 1);
  const size_t count = content_.size();
  size_t& first = cursor_.first;
  if (centred_) first = cursor_.row - std::min(cursor_.row, page_ / 2);
  centred_ = false;
  if (first > cursor_.row) first = cursor_.row;
  if (cursor_.row >= first + page_) first = cursor_.row - page_ + 1;
  first = std::min(first, count - std::min(count, page_));
  return render(content_, choices, status, cursor_, size);
}

}  // namespace sampan::top
