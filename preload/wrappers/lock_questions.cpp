#include "preload/wrappers/lock_questions.h"

namespace sampan::preload {
namespace {

// Perhaps torn: replace() finds out.
WordPair seen_in(const WordPair& pair) {
  return {__atomic_load_n(&pair.first, __ATOMIC_ACQUIRE),
          __atomic_load_n(&pair.second, __ATOMIC_ACQUIRE)};
}

}  // namespace

uint32_t LockQuestions::first_entry(uint64_t address) {
  constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>((address * kGoldenRatio) >> 32) % kEntries / kProbes * kProbes;
}

// False when the entry is another address's.
bool LockQuestions::add(Entry& entry, uint64_t address) {
  WordPair seen = seen_in(entry.waiting);
  while (seen.first == address && seen.second != 0) {
    if (replace(entry.waiting, seen, {address, seen.second + 1})) return true;
  }
  return false;
}

LockQuestions::Question LockQuestions::ask(uint64_t address, Group group, uint64_t due_ns) {
  constexpr unsigned kAttempts = 4;
  const uint32_t first = first_entry(address);
  const auto question = [&](uint32_t index) {
    return Question{address, entries_[index].releases.load(std::memory_order_acquire), due_ns,
                    index, group};
  };
  open_[static_cast<size_t>(group)].fetch_add(1);
  // Another thread may take the free entry first, perhaps for the same address.
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    uint32_t free = kEntries;
    for (uint32_t index = first; index < first + kProbes; ++index) {
      Entry& entry = entries_[index];
      if (add(entry, address)) {
        uint64_t earliest_ns = entry.due_ns.load(std::memory_order_relaxed);
        while (due_ns < earliest_ns && !entry.due_ns.compare_exchange_weak(earliest_ns, due_ns)) {
        }
        return question(index);
      }
      if (free == kEntries && seen_in(entry.waiting).first == 0) free = index;
    }
    if (free == kEntries) break;
    WordPair nobody{0, 0};
    if (replace(entries_[free].waiting, nobody, {address, 1})) {
      entries_[free].due_ns.store(due_ns);
      return question(free);
    }
  }
  open_[static_cast<size_t>(group)].fetch_sub(1);
  return {};
}

LockQuestions::Answer LockQuestions::close(const Question& question, uint64_t latest_due_ns) {
  if (question.address == 0) return {};
  Entry& entry = entries_[question.entry];
  const uint64_t releases = entry.releases.load(std::memory_order_acquire);
  WordPair seen = seen_in(entry.waiting);
  // Not so in a child that was forked meanwhile.
  while (seen.first == question.address && seen.second != 0) {
    const WordPair rest = seen.second == 1 ? WordPair{0, 0} : WordPair{seen.first, seen.second - 1};
    if (!replace(entry.waiting, seen, rest)) continue;
    // Whose turn it is now is not known.
    uint64_t due_ns = question.due_ns;
    entry.due_ns.compare_exchange_strong(due_ns, latest_due_ns);
    open_[static_cast<size_t>(question.group)].fetch_sub(1);
    if (releases <= question.releases) return {};
    return {number(question.entry, question.releases + 1), number(question.entry, releases)};
  }
  return {};
}

LockQuestions::Release LockQuestions::release(uint64_t address) {
  const uint32_t first = first_entry(address);
  for (uint32_t index = first; index < first + kProbes; ++index) {
    Entry& entry = entries_[index];
    if (__atomic_load_n(&entry.waiting.first, __ATOMIC_RELAXED) == address) {
      return {number(index, entry.releases.fetch_add(1, std::memory_order_acq_rel) + 1), index};
    }
  }
  return {};
}

bool LockQuestions::is_recorded(const Release& release, uint64_t now_ns) {
  if (release.number == 0) return false;
  Entry& entry = entries_[release.entry];
  uint64_t due_ns = entry.due_ns.load(std::memory_order_relaxed);
  const bool is_due = now_ns >= due_ns && entry.due_ns.compare_exchange_strong(due_ns, UINT64_MAX);
  if (!is_due && now_ns < entry.recorded_ns.load(std::memory_order_relaxed) + kApartNs) {
    return false;
  }
  entry.recorded_ns.store(now_ns, std::memory_order_relaxed);
  return true;
}

}  // namespace sampan::preload
