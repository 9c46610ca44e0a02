#include "support/text_markers.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "profile/markers.h"

namespace sampan::test {
namespace {

using profile::kNone;
using profile::Profile;

class MarkerBuilder {
 public:
  explicit MarkerBuilder(Profile* profile)
      : profile_(*profile), markers_(std::move(profile->markers)) {
    for (uint32_t i = 0; i < markers_.texts.size(); ++i) texts_[markers_.texts[i]] = i;
  }

  void line(const std::string& text) {
    std::istringstream stream(text);
    words_.clear();
    options_.clear();
    for (std::string word; stream >> word;) {
      const size_t equals = word.find('=');
      if (equals == word.npos || words_.size() < 4) {
        words_.push_back(word);
      } else {
        options_[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    if (word(0) == "span") return span();
    if (word(0) == "event") return event();
    if (word(0) == "counter") return counter();
    if (word(0) == "section") return section();
    if (word(0) == "step") return step();
    throw Error("'{}' is no marker", text);
  }

  void finish() { profile::load_markers(std::move(markers_), &profile_); }

 private:
  const std::string& word(size_t index) const {
    if (index >= words_.size()) throw Error("a word is missing");
    return words_[index];
  }

  SessionNs time(size_t index) const {
    const double ms = std::strtod(word(index).c_str(), nullptr);
    return SessionNs::at(static_cast<uint64_t>(std::llround(ms * 1e6)));
  }

  uint64_t number(const char* option, uint64_t otherwise) const {
    const auto found = options_.find(option);
    return found == options_.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
  }

  uint32_t intern(std::string text) {
    for (size_t at; (at = text.find("\\s")) != text.npos;) text.replace(at, 2, " ");
    const auto next = static_cast<uint32_t>(markers_.texts.size());
    const auto [place, is_new] = texts_.try_emplace(text, next);
    if (is_new) markers_.texts.push_back(text);
    return place->second;
  }
  uint32_t text_option() { return options_.contains("text") ? intern(options_["text"]) : 0; }

  uint32_t thread(const std::string& tid) const {
    for (uint32_t i = 0; i < profile_.threads.size(); ++i) {
      if (std::to_string(profile_.threads[i].tid) == tid) return i;
    }
    throw Error("there is no thread {}", tid);
  }

  void span() {
    profile::Span& row = markers_.spans.emplace_back();
    row.thread = thread(word(1));
    row.begin_ns = time(2);
    row.end_ns = time(3);
    row.name = intern(word(4));
    row.text = text_option();
    row.id = number("id", markers_.spans.size());
    row.parent_id = number("parent", 0);
    row.end_thread = options_.contains("to") ? thread(options_["to"]) : row.thread;
    row.kind = options_.contains("to") ? profile::SpanKind::kAcross : profile::SpanKind::kNested;
    row.closed = static_cast<profile::Closed>(number("closed", 0));
  }

  void event() {
    profile::Event& row = markers_.events.emplace_back();
    row.thread = thread(word(1));
    row.time_ns = time(2);
    row.name = intern(word(3));
    row.text = text_option();
  }

  void counter() {
    profile::CounterValue& row = markers_.counters.emplace_back();
    row.thread = thread(word(1));
    row.time_ns = time(2);
    row.name = intern(word(3));
    row.value = std::strtod(word(4).c_str(), nullptr);
  }

  void section() {
    profile::Section& row = markers_.sections.emplace_back();
    row.thread = word(1) == "all" ? kNone : thread(word(1));
    row.process = row.thread == kNone ? 0 : profile_.threads[row.thread].process;
    row.begin_ns = time(2);
    row.end_ns = time(3);
    row.name = intern(word(4));
    row.closed = static_cast<profile::Closed>(number("closed", 0));
  }

  void step() {
    profile::Step& row = markers_.steps.emplace_back();
    row.thread = thread(word(1));
    row.begin_ns = time(2);
    row.end_ns = time(3);
    row.kind = word(4) == "task"       ? profile::StepKind::kTask
               : word(4) == "callback" ? profile::StepKind::kCallback
                                       : profile::StepKind::kUnknown;
    row.id = number("id", 0);
    row.task = number("task", 0);
    row.name = options_.contains("name") ? intern(options_["name"]) : 0;
    row.text = text_option();
  }

  Profile& profile_;
  profile::Markers markers_;
  std::map<std::string, uint32_t> texts_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
};

}  // namespace

void add_markers(Profile* profile, std::string_view text) {
  MarkerBuilder builder(profile);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    try {
      builder.line(line);
    } catch (const Error& error) {
      throw Error("'{}': {}", line, error.what());
    }
  }
  builder.finish();
}

}  // namespace sampan::test
