#include "sampler/recorder/segments.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "recording/complete_file.h"
#include "recording/segments.h"

namespace sampan::sampler {
namespace {
// Processes that die of the same cause die one after the other.
constexpr uint64_t kDeathDelay = kNsPerSecond / 3;
// When processes die again and again, not every death is worth a file.
constexpr size_t kMostBoxes = 16;

}  // namespace

Segments::Segments(Options options)
    : options_(std::move(options)),
      directory_(options_.directory + "/" + recording::kSegmentsDirectory) {
  std::error_code error;
  std::filesystem::create_directory(directory_, error);
  if (error) throw Error("creating {}: {}", directory_, error.message());
}

std::string Segments::path_of(uint32_t number) const {
  return directory_ + "/" + recording::segment_file_name(number);
}

bool Segments::is_due(const recording::Writer& writer, SessionNs now_ns) const {
  if (now_ns >= box_due_ns_) return true;
  const Limit& limit = options_.rotate;
  return (limit.ns != 0 && now_ns.since(writer.begin_ns()) >= limit.ns) ||
         (limit.bytes != 0 && writer.bytes() >= limit.bytes);
}

void Segments::rotate(recording::Writer& writer, SessionNs now_ns) {
  const std::string path = writer.path();
  writer.rotate(path_of(++number_), now_ns);
  completed(path, now_ns);
  if (now_ns >= box_due_ns_) write_due_box();
}

std::string Segments::write_box(SessionNs now_ns) {
  std::string path = free_name();
  write_box(path, now_ns);
  return path;
}

void Segments::process_ended(const ExitState& exit, SessionNs now_ns) {
  const bool unknown = !exit.status && !exit.signal;
  if (options_.black_box_ns == 0 || !(exit.signal || unknown)) return;
  died_ns_ = now_ns;
  box_due_ns_ = std::min(box_due_ns_, now_ns + kDeathDelay);
}

void Segments::finish(const recording::Writer& writer, SessionNs now_ns) {
  completed(writer.path(), now_ns);
  if (options_.black_box_ns == 0) return;
  if (box_due_ns_ != UINT64_MAX) write_due_box();
  if (not_written_ != 0) {
    problems_.push_back(
        fmt::format("processes died again and again: the black box was written {} "
                    "times, and {} times more it was not",
                    kMostBoxes, not_written_));
  }
  std::error_code ignored;  // leftover files are no error
  std::filesystem::remove_all(directory_, ignored);
}

void Segments::completed(const std::string& path, SessionNs end_ns) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  files_.push_back({path, end_ns, error ? 0 : bytes});
  if (options_.completed) options_.completed(path);
  remove_old(end_ns);
}

void Segments::remove_old(SessionNs now_ns) {
  uint64_t bytes = 0;
  for (const File& file : files_) bytes += file.bytes;
  const auto is_old = [&](const File& file) {
    return (options_.keep.ns != 0 && file.end_ns + options_.keep.ns < now_ns) ||
           (options_.keep.bytes != 0 && bytes > options_.keep.bytes);
  };
  while (!files_.empty() && is_old(files_.front())) {
    ::unlink(files_.front().path.c_str());
    bytes -= files_.front().bytes;
    files_.pop_front();
  }
}

std::string Segments::free_name() const {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%d_%H-%M-%S", &parts);
  const std::string base = fmt::format("{}/recording-{}", options_.directory, text);
  std::string name = base + ".sampan";
  for (int i = 2; ::access(name.c_str(), F_OK) == 0; ++i)
    name = fmt::format("{}-{}.sampan", base, i);
  return name;
}

void Segments::write_due_box() {
  box_due_ns_ = UINT64_MAX;
  if (boxes_.size() >= kMostBoxes) {
    ++not_written_;
    return;
  }
  const std::string usual = options_.directory + "/recording.sampan";
  try {
    write_box(::access(usual.c_str(), F_OK) == 0 ? free_name() : usual, died_ns_);
  } catch (const std::exception& error) {
    problems_.emplace_back(error.what());
  }
}

// `last_ns`: when the process died. The box has what came after that, too.
void Segments::write_box(const std::string& path, SessionNs last_ns) {
  std::vector<std::string> paths;
  for (const File& file : files_) paths.push_back(file.path);
  const SessionNs from_ns = last_ns.earlier(options_.black_box_ns);
  recording::write(recording::rebased(recording::read_segments(paths, from_ns)), path);
  boxes_.push_back(path);
}

}  // namespace sampan::sampler
