// "Did you mean ...?": the known word that is nearest to an unknown one, for messages about
// options, formats, threads and commands.
//
// Distance: Damerau-Levenshtein, "optimal string alignment" (insert, delete, replace, swap two
// neighbours). A third of the letters may be wrong, not counting the dashes of options: in "--pid" and
// "--bind" more is.
//
// Hosted only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sampan {

inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

inline size_t letters(std::string_view word) {
  return word.size() - std::min(word.find_first_not_of('-'), word.size());
}

// With more candidates than these, the search would take too long.
inline constexpr size_t kMostCandidates = 10'000;

// The nearest of `candidates` (a range of strings or string views); "" when none is near.
template <typename Range>
std::string nearest(std::string_view word, const Range& candidates) {
  std::string best;
  size_t best_distance = SIZE_MAX;
  for (const auto& element : candidates) {
    const std::string_view candidate = element;
    const bool extends = !word.empty() && candidate.starts_with(word);
    const size_t distance = extends ? 1 : edit_distance(word, candidate);
    const size_t most = (std::max(letters(word), letters(candidate)) + 1) / 3;
    if (distance > most && !extends) continue;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// ", did you mean 'pprof'?" for the end of a message; "" when nothing is near.
template <typename Range>
std::string did_you_mean(std::string_view word, const Range& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : ", did you mean '" + best + "'?";
}

}  // namespace sampan
