#include "cli/record.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/safe_file_name.h"
#include "base/say.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "profile/load.h"
#include "profile/view.h"
#include "recording/segments.h"
#include "recording/writer.h"
#include "remote/live/dump.h"
#include "reports/report.h"
#include "sampler/process/kernel_limits.h"
namespace sampan::cli {
namespace {

constexpr size_t kLongestName = 100;
constexpr int kMostOfASecond = 1000;

// Without what a shell or a file system interprets: "/", "*", ":", blanks.
std::string safe(const std::string& program) {
  std::string name = program.substr(0, kLongestName);
  for (char& c : name) {
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    if (is_ascii && !is_file_safe(c)) c = '_';
  }
  return name.empty() ? "program" : name;
}

std::string local_time() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, kDirectoryTime, &parts);
  return text;
}

// The merged files, each with the command that opens it. Files of single threads are only counted.
std::vector<reports::OutputFile> output_files(const std::string& directory,
                                              const std::vector<exporters::Written>& written) {
  std::vector<reports::OutputFile> files = {
      {recording_path(directory), "sampan report " + directory}};
  size_t of_threads = 0;
  std::set<std::string> of_sections;
  for (const exporters::Written& file : written) {
    if (!file.section_directory.empty()) {
      of_sections.insert(file.section_directory);
    } else if (file.path.find("/profile_thread_") != std::string::npos) {
      ++of_threads;
    } else {
      files.push_back({file.path, std::string(file.format->viewer)});
    }
  }
  if (of_threads != 0) {
    files.push_back({fmt::format("{}/profile_thread_*: {} of single threads", directory,
                                 of_threads == 1 ? "1 file" : fmt::format("{} files", of_threads)),
                     ""});
  }
  if (!of_sections.empty()) {
    files.push_back(
        {fmt::format("{}/sections/*: {} of single sections", directory,
                     of_sections.size() == 1 ? "1 directory"
                                             : fmt::format("{} directories", of_sections.size())),
         ""});
  }
  return files;
}

void print_page(const profile::View& view, const std::string& directory,
                const std::vector<exporters::Written>& written, std::vector<std::string> notes) {
  reports::PageOptions options = reports::page_options_for(stderr);
  options.recording = directory;
  options.files = output_files(directory, written);
  options.notes = std::move(notes);
  for (const exporters::Written& file : written) {
    options.notes.insert(options.notes.end(), file.notes.begin(), file.notes.end());
  }
  say("{}", reports::page(view, options));
}

namespace fs = std::filesystem;

// How long to push at the end. What has not arrived then stays in the spool.
constexpr std::chrono::seconds kPushTimeout{10};

uint64_t size_of(const std::vector<std::string>& files) {
  uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code gone;
    const uintmax_t size = fs::file_size(file, gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

struct ResultOptions {
  std::vector<const exporters::Format*> formats;
  bool page = true;  // on stderr: stdout belongs to the program
  std::vector<symbolizer::Substitute> substitutes = {};
  std::string sysroot = {};
  size_t max_sections = exporters::kUsualSections;
  bool symbolize = true;  // write the names into the recording, too
};

// The last steps of a recording: names for its addresses, the requested files, the page.
// `directory`: contains recording.sampan, and gets the files. Throws Error.
void write_results(const std::string& directory, const ResultOptions& options) {
  // Names that are found only now are written in any case.
  const bool only_now = options.symbolize && !options.substitutes.empty();
  if (options.formats.empty() && !options.page && !only_now) return;
  profile::Profile profile = profile::load(recording::read_whole(recording_path(directory)));
  std::vector<std::string> notes;
  std::vector<exporters::Written> written;
  {
    Progress progress;
    notes = find_names(profile, options.sysroot, progress, options.substitutes);
    const std::string path = recording_path(directory);
    if (options.symbolize && !std::filesystem::is_directory(path)) record_names(path, profile);
    progress.show("Writing the files");
    const InterruptibleWriting interruptible;
    written = exporters::write_all(profile::select(profile), options.formats, directory,
                                   {.per_thread = true, .max_sections = options.max_sections});
  }
  if (options.page) print_page(profile::select(profile), directory, written, std::move(notes));
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& output, const std::string& program, mode_t mode)
    : output_(output) {
  std::error_code error;
  created_output_ = std::filesystem::create_directories(output, error);
  if (error) throw Error("creating the output directory {}: {}", output, error.message());
  const std::string base = fmt::format("{}/{}_{}", output, local_time(), safe(program));
  path_ = base;
  const mode_t searchable = mode | (mode & 0444) >> 2;
  for (int i = 2; mkdir(path_.c_str(), searchable) != 0; ++i) {
    if (errno != EEXIST || i > kMostOfASecond) {
      throw Error("creating {}: {}", path_, std::strerror(errno));
    }
    path_ = fmt::format("{}-{}", base, i);
  }
  (void)chmod(path_.c_str(), searchable);  // the umask may be narrower
}

void OutputDirectory::remove() {
  std::error_code ignored;  // leftover files are no error
  std::filesystem::remove_all(path_, ignored);
  if (created_output_) std::filesystem::remove(output_, ignored);
}

RunFiles::RunFiles(const RunOptions& options, const std::string& program, pid_t process)
    : options_(options),
      formats_(chosen_formats(options)),
      // Only the directory: to a profile store, all ranks are one service.
      directory_(options.output, program + (options.name.empty() ? job_suffix() : ""),
                 file_mode(options.mode)) {
  recording::set_file_mode(file_mode(options.mode));
  try {
    if (options.push.wanted()) {
      push::PushOptions push = push_options(options.push, process);
      push.send.names.sysroot = options.sysroot;
      pusher_.emplace(std::move(push));
    }
  } catch (...) {
    directory_.remove();
    throw;
  }
  auto segments = segment_options(options.continuous, directory_.path());
  if (!segments) return;
  if (pusher_ && segments->black_box_ns == 0) {
    segments->completed = [this](const std::string& path) { push_file(path); };
  }
  segments_.emplace(std::move(*segments));
}

std::string RunFiles::recording() const {
  return segments_ ? segments_->first() : directory_.recording();
}

void RunFiles::conclude() {
  hidden_now_ = nullptr;
  write_files(live::substitutes(hidden_));
  if (pusher_) push_rest();
}

void RunFiles::push_file(const std::string& path) {
  if (hidden_now_) add_new(hidden_now_(), &hidden_);
  pusher_->add(path, live::substitutes(hidden_));
}

void RunFiles::push_rest() {
  if (!segments_) push_file(directory_.recording());
  if (segments_) {
    for (const std::string& box : segments_->boxes()) push_file(box);
  }
  say_pushed(pusher_->finish(kPushTimeout), options_.push, pusher_->directory(), options_.quiet);
}

void RunFiles::write_files(const std::vector<symbolizer::Substitute>& substitutes) {
  if (segments_) {
    for (const std::string& problem : segments_->problems()) {
      say("sampan: {}\n", problem);
    }
    if (segments_->has_black_box()) conclude_black_box();
    if (segments_->has_black_box() && !fs::exists(directory_.recording())) return;
    if (!segments_->has_black_box()) {
      if (!options_.quiet) say_segments();
      // Results of a whole day take long. They are written only on request.
      if (options_.formats.empty() || formats_.empty()) return;
    }
  }
  write_results(directory_.path(), {formats_, !options_.quiet, substitutes, options_.sysroot,
                                    options_.max_sections, options_.symbolize});
}

void RunFiles::conclude_black_box() {
  std::error_code ignored;
  fs::remove(directory_.path(), ignored);  // unless a box is in it
  if (options_.quiet) return;
  std::string length = options_.continuous.black_box;
  if (std::isdigit(static_cast<unsigned char>(length.back())) != 0) length += "s";
  for (const std::string& box : segments_->boxes()) {
    say("sampan: the black box: the last {} are in {}\n", length, box);
  }
  if (segments_->boxes().empty()) {
    say("sampan: the black box: no process died by a signal, nothing was written\n");
  }
}

void RunFiles::say_segments() const {
  const std::vector<std::string> files = recording::segment_files(segments_->directory());
  say("sampan: {} segments, {:.1f} MB, are in {}\n"
      "        sampan report {}\n"
      "        sampan export --format html {}\n",
      files.size(), static_cast<double>(size_of(files)) / 1e6, segments_->directory(),
      directory_.path(), directory_.path());
}

namespace {

// Other profilers take "-o out.svg". Here it would become a directory.
void refuse_file(const std::string& output) {
  const auto names_it = [&](const exporters::Format& format) {
    return output.ends_with(format.suffix);
  };
  if (std::ranges::none_of(exporters::formats(), names_it) || fs::is_directory(output)) return;
  throw UsageError(
      "-o takes a directory for recordings, not a file such as {}\n"
      "(after the run, sampan export -f FORMAT -o {} writes it)",
      output, output);
}

}  // namespace

void check_options(const RunOptions& options, pid_t process) {
  refuse_file(options.output);
  chosen_formats(options);
  file_mode(options.mode);
  segment_options(options.continuous, "");
  if (options.push.wanted()) push_options(options.push, process);
  rate_options(options.sampling, options.quiet);
  chosen_labels(options.push);
  starts_paused(options);
}

recording::Session describe(const std::vector<std::string>& command, const RunOptions& options) {
  recording::Session session =
      sampler::describe_session(command, options.name, options.sampling.rate_hz, SAMPAN_VERSION);
  session.clock = options.sampling.clock;
  session.labels = recorded_labels(options.push).pairs();
  return session;
}

sampler::RecordOptions record_options(const RunOptions& options,
                                      const recording::Session& description, RunFiles& files) {
  return {
      {files.recording(), description, rate_options(options.sampling, options.quiet),
       starts_paused(options), options.python, files.segments(), sampler::ends_with_namespace()},
      options.follow};
}

recording::SessionEnd session_end(const sampler::RecordingSession& session) {
  recording::SessionEnd end;
  end.time_ns = session.clock().at(session.last_end_ns());
  end.exit_status = session.root_exit().status;
  end.exit_signal = session.root_exit().signal;
  end.note = session.note();
  return end;
}

}  // namespace sampan::cli
