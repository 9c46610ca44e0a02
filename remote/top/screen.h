// What a key does: the state of top between two pictures. No terminal is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "top/choices.h"
#include "top/content.h"
#include "top/render.h"

namespace sampan::top {

// Characters are themselves; the others are beyond Unicode.
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

// What a key asks of those who hold the capture.
struct Wish {
  enum class Kind {
    kNothing,
    kQuit,
    kFreeze,       // on or off
    kPause,        // the sampling, on or off
    kFaster,       // twice the rate
    kSlower,       // half of it
    kBeginSaving,  // into the file `text`
    kEndSaving,
    kOpenPage,
  };
  Kind kind = Kind::kNothing;
  std::string text = {};
};

class Screen {
 public:
  // Before the first key.
  Choices choices;
  Status status;

  Wish press(uint32_t key, const History& history);
  // Computes the rows anew, after a refresh; the selected one stays selected where it is still
  // there.
  void refresh(const History& history);
  // The picture for a terminal of this size.
  Picture draw(Size size);
  void say(std::string message) { status.message = std::move(message); }

  const Content& content() const { return content_; }
  size_t selected() const { return cursor_.row; }

 private:
  enum class Asking { kNothing, kSearch, kFile };

  Wish type(uint32_t key);
  void finish_typing(Wish* wish);
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
  uint64_t selected_id_ = UINT64_MAX;  // none: the row stays, whatever is in it
  bool centred_ = false;               // the next picture has the selected row in its middle
  size_t page_ = 1;                    // rows that the last picture had room for
  Asking asking_ = Asking::kNothing;
};

}  // namespace sampan::top
