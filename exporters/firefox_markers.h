// Markers in a Firefox profile: spans, sections and events are rows of the marker tables of their
// threads, counters are counters of their processes.
//
// - The schema of a marker's type says which fields it has. There is a type each for nested spans,
//   spans across threads, sections and events.
// - A section of all threads is a marker of the first thread of its process.
// - A counter's samples are its changes. The site takes the first one for zero, so another precedes
//   it. `display` makes the site draw the counter's value; sites before version 61 of the format
//   ignore it, and draw only the changes of counters that they know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "exporters/firefox_tables.h"
#include "exporters/fitting_markers.h"

namespace sampan::exporters {

class FirefoxMarkers {
 public:
  // The view's markers that fit into `max_size` bytes. `pids` are the texts for its processes.
  // Names are added to the strings of `tables`.
  FirefoxMarkers(const profile::View& view, uint64_t max_size, const std::vector<std::string>& pids,
                 FirefoxTables* tables);

  static std::string_view schema_json();
  // The object `markers` of the thread at a position in view.threads.
  std::string table_json(size_t position) const;
  // The array `counters`.
  std::string counters_json() const;

  // Bytes of all tables and counters.
  uint64_t size() const { return size_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Table {
    uint64_t length = 0;
    FirefoxColumn data, name, begin, end, phase, category;
  };

  void add(uint32_t position, uint32_t name, SessionNs begin_ns, SessionNs end_ns, bool is_moment,
           const std::string& data);
  void add_spans(const std::vector<uint32_t>& rows);
  void add_sections(const std::vector<uint32_t>& rows);
  void add_events(const std::vector<uint32_t>& rows);
  void add_counters(const std::vector<uint32_t>& rows, const std::vector<std::string>& pids);

  const profile::Profile& profile_;
  FirefoxTables& tables_;
  std::vector<uint32_t> positions_;          // by thread of the profile
  std::vector<uint32_t> process_positions_;  // by process: of its first thread
  std::vector<Table> by_position_;
  std::string counters_;
  uint64_t size_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace sampan::exporters
