#include "top/help.h"

namespace sampan::top {

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
