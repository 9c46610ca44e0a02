// What keys do: the state of top between two pictures. Independent of a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "remote/top/content.h"
#include "remote/top/render.h"

namespace sampan::top {

// Characters stand for themselves; other keys are numbers beyond Unicode.
enum Key : uint32_t {
  kTab = '\t',
  kEnter = '\n',
  kEscape = 27,
  kBackspace = 127,
  kUp = 0x110000,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kBackTab,
  kF1,
  kF10,
};

// A request that a key makes to the owner of the capture.
struct Request {
  enum class Kind {
    kNothing,
    kQuit,
    kFreeze,       // on or off
    kPause,        // toggles sampling
    kFaster,       // double the rate
    kSlower,       // halve the rate
    kBeginSaving,  // into the file `text`
    kEndSaving,
    kOpenPage,
  };
  Kind kind = Kind::kNothing;
  std::string text = {};
};

class Screen {
 public:
  // Call before the first key.
  Choices choices;
  Status status;

  Request press(uint32_t key, const History& history);
  // Recomputes the rows after a refresh. The selected row stays selected if it still exists.
  void refresh(const History& history);
  // The picture for a terminal of this size.
  Picture draw(Size size);
  void say(std::string message) { status.message = std::move(message); }

  const Content& content() const { return content_; }
  size_t selected() const { return cursor_.row; }

 private:
  enum class Asking { kNothing, kSearch, kFile };

  Request type(uint32_t key);
  void finish_typing(Request* request);
  bool move(uint32_t key);
  bool choose_look(uint32_t key);
  bool sort(uint32_t key);
  bool toggle(uint32_t key);
  void enter();
  void open(bool open);
  void ask(Asking what, std::string prompt, std::string typed);
  void search_next(bool from_here);
  void look_at(Look look);

  Content content_;
  Cursor cursor_;
  uint64_t selected_id_ = UINT64_MAX;  // none: the position stays selected
  bool centred_ = false;               // the next picture shows the selected row in the middle
  size_t page_ = 1;                    // rows that fit in the last picture
  Asking asking_ = Asking::kNothing;
};

}  // namespace sampan::top
