// The files of a recording that goes on for long: when it goes on in the next one, and how long
// each is kept. With a black box only the last of them are kept, and become a recording when a
// process dies by a signal, or somebody asks.
//
// Times are nanoseconds since the session's start. Errors: throws Error.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "recording/writer.h"
#include "sampler/cpu_accounting.h"

namespace sampan::sampler {

// What is reached first; 0: no limit.
struct Limit {
  uint64_t ns = 0, bytes = 0;
};

class Segments {
 public:
  struct Options {
    std::string directory;      // of the run; the files are in a directory of their own below it
    Limit rotate;               // of one file
    Limit keep;                 // of all of them; the present one stays in any case
    uint64_t black_box_ns = 0;  // so much is kept for the black box; 0: there is none
    std::function<void(const std::string&)> completed = {};  // called with the path of each
  };
  explicit Segments(Options options);

  // Where the recording begins.
  std::string first() const { return path_of(0); }

  // A file is full, or a black box is to be written.
  bool is_due(const recording::Writer& writer, uint64_t now_ns) const;
  // Goes on in the next file: what there was of all processes is accounted for.
  void rotate(recording::Writer& writer, uint64_t now_ns);
  bool has_black_box() const { return options_.black_box_ns != 0; }
  // Because somebody asks, right after rotate(). Returns its path.
  std::string write_box(uint64_t now_ns);
  // A process has ended so.
  void process_ended(const ExitState& exit, uint64_t now_ns);
  // The writer has finished. Of a black box nothing is left but what was written.
  void finish(const recording::Writer& writer, uint64_t now_ns);

  const std::string& directory() const { return directory_; }
  const std::vector<std::string>& boxes() const { return boxes_; }  // that were written
  // What went wrong meanwhile, and did not end the recording.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct File {
    std::string path;
    uint64_t end_ns;
    uint64_t bytes;
  };

  std::string path_of(uint32_t number) const;
  void completed(const std::string& path, uint64_t end_ns);
  void remove_old(uint64_t now_ns);
  std::string free_name() const;
  void write_box(const std::string& path, uint64_t last_ns);
  void write_due_box();

  Options options_;
  std::string directory_;   // of the files
  uint32_t number_ = 0;     // of the present one
  std::deque<File> files_;  // that are complete and kept
  uint64_t box_due_ns_ = UINT64_MAX;
  uint64_t died_ns_ = 0;    // the latest
  size_t not_written_ = 0;  // boxes
  std::vector<std::string> boxes_;
  std::vector<std::string> problems_;
};

}  // namespace sampan::sampler
