#include "remote/top/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/readable.h"
#include "remote/top/text.h"

namespace sampan::top {
namespace {

constexpr std::array<const char*, kLookCount> kLooks = {"Threads", "Functions", "Tree", "Sandwich"};
constexpr const char* kKeys =
    "h Help  / Search  Enter Choose  p Pools  S Since start  Space Freeze  q Quit";

// The lines around the rows that there is room for.
struct Frame {
  explicit Frame(size_t height)
      : title(height >= 3),
        summary(height >= 8),
        looks(height >= 6),
        titles(height >= 4),
        last(height >= 2) {}
  size_t above() const { return title + summary + looks + titles; }

  bool title, summary, looks, titles, last;
};

std::string elapsed(uint64_t ns) {
  const uint64_t s = ns / 1'000'000'000;
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Line title_line(const Status& status, size_t width) {
  std::string marks;
  if (status.frozen) marks += " [frozen]";
  if (status.paused) marks += " [paused]";
  if (!status.saving.empty()) marks += " [saving]";
  if (!status.ended.empty()) marks += " [ended]";
  const std::string text =
      fmt::format("sampan top  {}  {}  {} Hz  {}", harmless(status.target),
                  elapsed(status.elapsed_ns), status.rate_hz, plural(status.samples, "sample"));
  const size_t room = width - std::min(width, marks.size());
  return {{fit(text, room) + fit(marks, width - room), Emphasis::kTitle}};
}

Line summary_line(const Content& content, const Status& status, size_t width) {
  const double cpu = content.span_ns == 0 ? 0
                                          : 100 * static_cast<double>(content.cpu_ns) /
                                                static_cast<double>(content.span_ns);
  std::string text =
      fmt::format("CPU {:.1f} %  {}, {} on CPU  lost {}", cpu, plural(content.live, "thread"),
                  content.running, status.lost == 0 ? "nothing" : count(status.lost));
  if (!status.waits_known) text += "  waits not sampled";
  if (!status.ended.empty()) {
    text = harmless(status.ended) + "  " + text;
  } else if (!status.note.empty()) {
    text += "  " + harmless(status.note);
  }
  const bool warns = !status.ended.empty() || status.lost != 0;
  return {{fit(text, width), warns ? Emphasis::kWarning : Emphasis::kPlain}};
}

Line looks_line(const Choices& choices, const Status& status, size_t width) {
  Line line;
  size_t taken = 0;
  for (int look = 0; look < kLookCount; ++look) {
    const std::string text = fmt::format("{} {}", look + 1, kLooks[static_cast<size_t>(look)]);
    if (taken + text.size() + 2 > width) break;
    const bool chosen = static_cast<int>(choices.look) == look;
    line.push_back({text, chosen ? Emphasis::kTitle : Emphasis::kPlain});
    line.push_back({"  "});
    taken += text.size() + 2;
  }
  std::string text = harmless(status.chosen);
  text += choices.scope == Scope::kStart
              ? ", since start"
              : fmt::format(", last {} s", status.window_ns / 1'000'000'000);
  text += choices.clock == Clock::kCpu ? ", CPU" : ", wall";
  if (choices.inverted && choices.look == Look::kTree) text += ", inverted";
  line.push_back({fit(text, width - taken), Emphasis::kFaint});
  return line;
}

Line last_line(const Status& status, size_t width, std::optional<size_t>* cursor) {
  if (!status.prompt.empty()) {
    const size_t room = width - std::min(width, status.prompt.size() + 1);
    const std::string text = status.prompt + last_cells(harmless(status.typed), room);
    *cursor = std::min(cells(text), width - std::min<size_t>(width, 1));
    return {{fit(text, width), Emphasis::kStrong}};
  }
  if (!status.message.empty()) return {{fit(harmless(status.message), width), Emphasis::kStrong}};
  return {{fit(kKeys, width), Emphasis::kFaint}};
}

std::string nothing_to_show(const Content& content, const Choices& choices) {
  if (choices.look == Look::kSandwich && choices.focus == profile::kNone) {
    return "Choose a function first: 2, then Enter";
  }
  return content.span_ns == 0 ? "Waiting for the first samples" : "No samples in this time";
}

Emphasis emphasis_of(const Content& content, size_t row) {
  const bool middle =
      row < content.tree.size() && content.tree[row].part == TreeRow::Part::kFunction;
  return middle ? Emphasis::kStrong : Emphasis::kPlain;
}

void add_head(const Content& content, const Choices& choices, const Status& status, Size size,
              const Frame& frame, Picture* picture) {
  if (frame.title) picture->lines.push_back(title_line(status, size.width));
  if (frame.summary) picture->lines.push_back(summary_line(content, status, size.width));
  if (frame.looks) picture->lines.push_back(looks_line(choices, status, size.width));
  if (frame.titles) {
    picture->lines.push_back({{titles(content, choices, status, size.width), Emphasis::kTitle}});
  }
}

}  // namespace

std::string plain_text(const Line& line) {
  std::string text;
  for (const Piece& piece : line) text += piece.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

size_t rows_shown(Size size) {
  const Frame frame(size.height);
  return size.height - frame.above() - frame.last;
}

Picture render(const Content& content, const Choices& choices, const Status& status, Cursor cursor,
               Size size) {
  Picture picture;
  const Frame frame(size.height);
  add_head(content, choices, status, size, frame, &picture);
  const size_t end = size.height - frame.last;
  if (status.help) {
    picture.lines.resize(frame.title);
    for (const std::string& text : help_lines()) {
      if (picture.lines.size() < end) picture.lines.push_back({{fit(text, size.width)}});
    }
  } else if (content.size() == 0 && picture.lines.size() < end) {
    picture.lines.push_back(
        {{fit(nothing_to_show(content, choices), size.width), Emphasis::kFaint}});
  }
  for (size_t row = cursor.first; !status.help && row < content.size(); ++row) {
    if (picture.lines.size() >= end) break;
    const bool selected = row == cursor.row;
    picture.lines.push_back({{row_text(content, choices, status, row, size.width),
                              selected ? Emphasis::kSelected : emphasis_of(content, row)}});
  }
  picture.lines.resize(end);
  if (frame.last) picture.lines.push_back(last_line(status, size.width, &picture.cursor));
  return picture;
}

Picture render_once(const Content& content, const Choices& choices, const Status& status,
                    Size size) {
  Picture picture;
  add_head(content, choices, status, size, Frame(size.height), &picture);
  for (size_t row = 0; row < content.size() && picture.lines.size() < size.height; ++row) {
    picture.lines.push_back({{row_text(content, choices, status, row, size.width)}});
  }
  return picture;
}

const std::vector<std::string>& help_lines() {
  static const std::vector<std::string> kLines = {
      " 1 2 3 4, Tab    threads, functions, call tree, sandwich",
      " up down j k     move; PgUp PgDn Home End (g G), too",
      " Enter           a thread or pool: only that; a function: its sandwich",
      "                 in the tree: open or close; in the sandwich: go there",
      " a, Esc          all threads again",
      " left right      close and open in the tree",
      " p               threads of a pool in one row (names without their number)",
      " P T N           sort by CPU or self, by time waited or total, by name",
      " < > R           sort by the column before, after; the other way round",
      " / n             search for a name; the next one",
      " S               since the start, or the last seconds",
      " c               time on CPU, or waiting too (needs --clock wall)",
      " i               invert the tree: from where time was spent to the callers",
      " Space           freeze what is shown; the recording goes on",
      " z               pause the sampling itself, and resume it",
      " + -             twice, half the rate",
      " w               save a recording from now on; w again writes it",
      " o               write profile.html of all there is, and open it",
      " h ? F1          this page; any key leaves it",
      " q F10 Ctrl-C    quit; a command that was started here ends with it",
      "",
      " S column: R on CPU, Q queued for a CPU, S waits, X ended, - nothing seen",
  };
  return kLines;
}

}  // namespace sampan::top
