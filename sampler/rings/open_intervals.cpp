#include "sampler/rings/open_intervals.h"

#include <algorithm>
#include <iterator>

namespace sampan::sampler {

using recording::Closed;
using recording::kNone;

OpenIntervals::OpenIntervals(recording::Writer& writer, uint32_t process, Switches switches,
                             SessionNs start_ns)
    : writer_(writer),
      process_(process),
      paused_(switches.paused),
      sections_only_(switches.sections_only),
      was_sampling_(sampling()),
      off_since_ns_(start_ns) {}

void OpenIntervals::apply(SessionNs time_ns, Texts& texts) {
  if (changes_.empty()) return;
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; });
  const auto end =
      std::lower_bound(changes_.begin(), changes_.end(), time_ns,
                       [](const Change& change, SessionNs time) { return change.time_ns < time; });
  for (auto change = changes_.begin(); change != end; ++change) apply(*change, texts);
  changes_.erase(changes_.begin(), end);
}

void OpenIntervals::apply(Change& change, Texts& texts) {
  switch (change.kind) {
    case Kind::kSpanBegin: {
      const uint64_t id = change.id;
      const bool kept =
          across_.size() < kMostOpen && across_.try_emplace(id, std::move(change)).second;
      unmatched_ += !kept;
      break;
    }
    case Kind::kSpanEnd: end_across(change, texts); break;
    case Kind::kSectionStart:
      if (open_sections_ == kMostOpen) {
        ++unmatched_;
        break;
      }
      sections_[{change.thread, change.name}].push_back(change.time_ns);
      ++open_sections_;
      follow_sampling(change.time_ns);
      break;
    case Kind::kSectionStop:
      stop_section({change.thread, change.name}, change.time_ns);
      follow_sampling(change.time_ns);
      break;
    case Kind::kPause:
    case Kind::kResume:
      paused_ = change.kind == Kind::kPause;
      follow_sampling(change.time_ns);
      break;
    case Kind::kThreadEnd:
      close_sections_of(change.thread, change.time_ns);
      follow_sampling(change.time_ns);
      break;
  }
}

void OpenIntervals::end_across(const Change& change, Texts& texts) {
  const auto open = across_.find(change.id);
  if (open == across_.end()) {
    ++unmatched_;
    return;
  }
  write_across(open->second, change.time_ns, change.thread, Closed::kByProgram, texts);
  across_.erase(open);
}

void OpenIntervals::write_across(const Change& begin, SessionNs end_ns, uint32_t end_thread,
                                 Closed closed, Texts& texts) {
  recording::Span span;
  span.begin_ns = begin.time_ns;
  span.end_ns = std::max(begin.time_ns, end_ns);
  span.id = begin.id;
  span.parent_id = begin.parent_id;
  span.name = writer_.text(begin.name);
  const auto text = texts.find(begin.id);
  span.text = writer_.text(text != texts.end() ? text->second : begin.text);
  if (text != texts.end()) texts.erase(text);
  span.thread = begin.thread;
  span.end_thread = end_thread;
  span.kind = recording::SpanKind::kAcross;
  span.closed = closed;
  writer_.add(span);
}

// The oldest first: an interval that ends and begins again at one time stays two intervals.
void OpenIntervals::stop_section(const SectionKey& key, SessionNs time_ns) {
  const auto open = sections_.find(key);
  if (open == sections_.end()) {
    ++unmatched_;
    return;
  }
  write_section(key, open->second.front(), time_ns, Closed::kByProgram);
  --open_sections_;
  open->second.pop_front();
  if (open->second.empty()) sections_.erase(open);
}

void OpenIntervals::close_sections_of(uint32_t thread, SessionNs time_ns) {
  auto open = sections_.lower_bound({thread, ""});
  while (open != sections_.end() && open->first.first == thread) {
    for (const SessionNs begin_ns : open->second) {
      write_section(open->first, begin_ns, time_ns, Closed::kByThreadEnd);
      --open_sections_;
    }
    open = sections_.erase(open);
  }
}

void OpenIntervals::write_section(const SectionKey& key, SessionNs begin_ns, SessionNs end_ns,
                                  Closed closed) {
  writer_.add(recording::Section{begin_ns, std::max(begin_ns, end_ns), process_, key.first,
                                 writer_.text(key.second), closed});
}

void OpenIntervals::follow_sampling(SessionNs time_ns) {
  if (sampling() == was_sampling_) return;
  was_sampling_ = !was_sampling_;
  if (!was_sampling_) {
    off_since_ns_ = time_ns;
  } else if (time_ns > off_since_ns_) {
    writer_.add(recording::Pause{off_since_ns_, time_ns, process_});
  }
}

void OpenIntervals::end_segment(SessionNs time_ns) {
  for (auto& [key, begins] : sections_) {
    for (SessionNs& begin_ns : begins) {
      if (begin_ns >= time_ns) continue;
      write_section(key, begin_ns, time_ns, Closed::kBySegmentEnd);
      begin_ns = time_ns;
    }
  }
  if (!was_sampling_ && time_ns > off_since_ns_) {
    writer_.add(recording::Pause{off_since_ns_, time_ns, process_});
    off_since_ns_ = time_ns;
  }
}

void OpenIntervals::finish(SessionNs time_ns, Texts& texts) {
  apply(UINT64_MAX, texts);
  for (const auto& [id, begin] : across_) {
    write_across(begin, time_ns, begin.thread, Closed::kByProcessEnd, texts);
  }
  across_.clear();
  for (const auto& [key, begins] : sections_) {
    for (const SessionNs begin_ns : begins) {
      write_section(key, begin_ns, time_ns, Closed::kByProcessEnd);
    }
  }
  sections_.clear();
  open_sections_ = 0;
  if (!was_sampling_ && time_ns > off_since_ns_) {
    writer_.add(recording::Pause{off_since_ns_, time_ns, process_});
  }
}

}  // namespace sampan::sampler
