// The files (segments) of a long recording: when the next one begins, and how long each is kept.
// With a black box only the last ones are kept; they become a recording when a process dies by a
// signal, or the user asks.
//
// Times are nanoseconds since the session's start. Errors: throws Error.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/process/cpu_accounting.h"

namespace sampan::sampler {

// Whichever is reached first; 0: no limit.
struct Limit {
  uint64_t ns = 0, bytes = 0;
};

class Segments {
 public:
  struct Options {
    std::string directory;      // of the run; the files are in a directory of their own below it
    Limit rotate;               // of one file
    Limit keep;                 // of all of them; the current one always stays
    uint64_t black_box_ns = 0;  // length of the black box; 0: there is none
    std::function<void(const std::string&)> completed = {};  // called with the path of each
  };
  explicit Segments(Options options);

  // The file that the recording begins in.
  std::string first() const { return path_of(0); }

  // The file is full, or a black box is to be written.
  bool is_due(const recording::Writer& writer, SessionNs now_ns) const;
  // Begins the next file. Everything of all processes has been accounted for.
  void rotate(recording::Writer& writer, SessionNs now_ns);
  bool has_black_box() const { return options_.black_box_ns != 0; }
  // Writes the black box because the user asks. Call it right after rotate(). Returns its path.
  std::string write_box(SessionNs now_ns);
  // A process has ended.
  void process_ended(const ExitState& exit, SessionNs now_ns);
  // The writer has finished. With a black box, only the boxes are left.
  void finish(const recording::Writer& writer, SessionNs now_ns);

  const std::string& directory() const { return directory_; }
  const std::vector<std::string>& boxes() const { return boxes_; }  // that were written
  // What went wrong without ending the recording.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct File {
    std::string path;
    SessionNs end_ns;
    uint64_t bytes;
  };

  std::string path_of(uint32_t number) const;
  void completed(const std::string& path, SessionNs end_ns);
  void remove_old(SessionNs now_ns);
  std::string free_name() const;
  void write_box(const std::string& path, SessionNs last_ns);
  void write_due_box();

  Options options_;
  std::string directory_;   // of the files
  uint32_t number_ = 0;     // of the current one
  std::deque<File> files_;  // complete and kept
  SessionNs box_due_ns_ = UINT64_MAX;
  SessionNs died_ns_ = 0;   // the latest
  size_t not_written_ = 0;  // boxes beyond the limit
  std::vector<std::string> boxes_;
  std::vector<std::string> problems_;
};

}  // namespace sampan::sampler
