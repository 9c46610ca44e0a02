// callgrind: functions, lines and calls with their costs, for kcachegrind and callgrind_annotate.
// Format: valgrind.org/docs/manual/cl-format.html.
//
// - `events:` precedes all costs; viewers show its first one, nanoseconds. `summary:` is the sum of
//   the self costs: callgrind_annotate uses it as the total without checking it.
// - Exactly one line follows `calls=`: the call's inclusive cost. callgrind_annotate sums the calls
//   to a function for its total, so recursive calls have no cost (call_graph.h).
// - A number in parentheses stands for a name, which follows it the first time. kcachegrind
//   identifies functions by number, so functions of the same name in other files or objects have
//   other numbers.
// - A function's lines in other files than its own (code of an #include) are under fi=.
// - Waits are functions, "[read pipe:[7]]", without object.
// - Imported profiles may count others than nanoseconds: the first event is then `cycles`.
// - `thread:` is a number: the tid, if the file has one thread.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/interner.h"
#include "exporters/call_graph.h"
#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/write_stacks.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

// Callgrind's word for unknown names.
constexpr std::string_view kUnknown = "???";

std::string one_word(std::string text) {
  const auto belongs = [](unsigned char c) { return std::isalnum(c) != 0; };
  std::ranges::replace_if(
      text, [&](char c) { return !belongs(static_cast<unsigned char>(c)); }, '_');
  return text;
}

// "(12) name" the first time, then "(12)".
class Names {
 public:
  std::string text(const std::string& name) {
    const auto [handle, is_new] = names_.intern(name);
    if (!is_new) return fmt::format("({})", handle + 1);
    return fmt::format("({}) {}", handle + 1, name.empty() ? kUnknown : name);
  }

 private:
  Interner<std::string> names_;
};

class CallgrindWriter {
 public:
  CallgrindWriter(const profile::View& view, const StackRows& rows, OutputFile& file)
      : view_(view),
        profile_(*view.profile),
        file_(file),
        graph_(view, rows),
        named_(graph_.functions().size()) {}

  void write() {
    write_header();
    for (const CallGraph::Call& call : graph_.calls()) calls_.push_back(&call);
    std::sort(calls_.begin(), calls_.end(), [](const auto* a, const auto* b) {
      return a->site != b->site ? a->site < b->site : a->callee < b->callee;
    });
    for (const uint32_t site : ordered_sites()) write_site(site);
  }

 private:
  void line(const std::string& text) {
    file_.write(text);
    file_.write("\n");
  }

  // The values of both events.
  std::string cost(const profile::Weight& weight) const {
    return fmt::format("{} {}", profile::whole_units(profile_.session, weight.ns), weight.samples);
  }

  void write_header() {
    const profile::Session& session = profile_.session;
    std::string command;
    for (const std::string& word : session.command) command += (command.empty() ? "" : " ") + word;
    line("# callgrind format\nversion: 1");
    line("creator: sampan " + one_line(session.sampan_version));
    line("cmd: " + one_line(command));
    if (!view_.threads.empty()) {
      const profile::Thread& thread = profile_.threads[view_.threads[0]];
      line(fmt::format("pid: {}", profile_.processes[thread.process].pid));
      if (view_.threads.size() == 1) line(fmt::format("thread: {}", thread.tid));
    }
    line("positions: line");
    const std::string event = session.unit.empty() ? "ns" : one_word(session.unit);
    line(fmt::format("event: {} : {}", event,
                     !session.unit.empty()     ? one_line(session.unit)
                     : view_.is_of_wall_time() ? "Wall time in ns"
                                               : "CPU in ns"));
    line(fmt::format("event: Samples : Samples\nevents: {} Samples", event));
    profile::Weight all;
    for (const CallGraph::Site& site : graph_.sites()) all += site.self;
    line(fmt::format("summary: {}", cost(all)));
  }

  // By function; lines in the function's own file first.
  std::vector<uint32_t> ordered_sites() const {
    std::vector<uint32_t> sites(graph_.sites().size());
    std::iota(sites.begin(), sites.end(), 0);
    const auto place = [&](uint32_t index) {
      const CallGraph::Site& site = graph_.sites()[index];
      return std::tuple(site.function, bool{elsewhere_[index]}, site.file, site.line);
    };
    std::sort(sites.begin(), sites.end(),
              [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
    return sites;
  }

  std::vector<bool> sites_elsewhere() const {
    std::vector<bool> elsewhere;
    for (const CallGraph::Site& site : graph_.sites()) {
      const std::string& own = graph_.functions()[site.function].file;
      elsewhere.push_back(site.file != 0 && one_line(profile_.strings[site.file]) != own);
    }
    return elsewhere;
  }

  void write_site(uint32_t index) {
    const CallGraph::Site& site = graph_.sites()[index];
    if (site.function != function_) {
      function_ = site.function;
      const CallGraph::Function& function = graph_.functions()[function_];
      line("\nob=" + objects_.text(function.module));
      line("fl=" + files_.text(function.file));
      line("fn=" + function_text(function_));
      site_file_ = 0;
    }
    if (elsewhere_[index] && site.file != site_file_) {
      line("fi=" + files_.text(one_line(profile_.strings[site.file])));
      site_file_ = site.file;
    }
    if (site.self.samples != 0) {
      line(fmt::format("{} {}", site.line, cost(site.self)));
    }
    const auto first = std::lower_bound(
        calls_.begin(), calls_.end(), index,
        [](const CallGraph::Call* call, uint32_t wanted) { return call->site < wanted; });
    for (auto call = first; call != calls_.end() && (*call)->site == index; ++call) {
      write_call(site, **call);
    }
  }

  void write_call(const CallGraph::Site& site, const CallGraph::Call& call) {
    const CallGraph::Function& callee = graph_.functions()[call.callee];
    line("cob=" + objects_.text(callee.module));
    line("cfi=" + files_.text(callee.file));
    line("cfn=" + function_text(call.callee));
    line(fmt::format("calls={} {}\n{} {}", call.count, callee.line, site.line, cost(call.cost)));
  }

  std::string function_text(uint32_t function) {
    if (named_[function]) return fmt::format("({})", function + 1);
    named_[function] = true;
    return fmt::format("({}) {}", function + 1, graph_.functions()[function].name);
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  OutputFile& file_;
  CallGraph graph_;
  std::vector<bool> elsewhere_ = sites_elsewhere();  // by site: not in its function's file
  std::vector<const CallGraph::Call*> calls_;        // by site
  Names objects_, files_;
  std::vector<bool> named_;             // by function: its name is in the file
  uint32_t function_ = profile::kNone;  // whose lines are being written
  uint32_t site_file_ = 0;              // the last fi=
};

}  // namespace

Outcome write_callgrind(const profile::View& view, const std::string& path, uint64_t max_size) {
  return write_stacks(view, path, max_size, [&](const StackRows& rows, OutputFile& file) {
    CallgrindWriter(view, rows, file).write();
  });
}

}  // namespace sampan::exporters
