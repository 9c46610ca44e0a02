#include "recording/complete_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "recording/combiner.h"

namespace sampan::recording {
namespace {

constexpr size_t kRowsPerBlock = 1 << 17;

}  // namespace

CompleteFile::CompleteFile(const std::string& path, const Session& session,
                           std::span<const Origin> origins, const std::function<bool()>& stopped)
    : path_(path),
      temporary_(path + "." + std::to_string(::getpid()) +
                 ".part"),  // others may write the same file
      stopped_(stopped) {
  if (::access(path.c_str(), F_OK) == 0) throw Error("creating {}: it exists", path);
  try {
    writer_.emplace(temporary_, session, origins);
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
}

CompleteFile::~CompleteFile() {
  if (!writer_) return;
  writer_.reset();
  ::unlink(temporary_.c_str());
}

void CompleteFile::check() const {
  if (stopped_()) throw Error("writing {}: interrupted, nothing of it is left", path_);
}

void CompleteFile::count_row() {
  if (++rows_ % kRowsPerBlock != 0) return;
  writer_->flush();
  check();
}

void CompleteFile::add(const Recording& part) {
  for (const Process& row : part.processes) writer_->add(row);
  for (const ProcessEnd& row : part.process_ends) writer_->add(row);
  for (const Thread& row : part.threads) writer_->add(row);
  for (const ThreadName& row : part.thread_names) writer_->add(row);
  for (const ThreadEnd& row : part.thread_ends) writer_->add(row);
  for (const Losses& row : part.losses) writer_->add(row);
  for (const RateChange& row : part.rates.changes) writer_->add(row);
  for (const Cost& row : part.rates.costs) writer_->add(row);
  add_stacks(part);
  add_samples(part);
  add_watched(part);
  add_markers(part.markers);
}

// Frames and stacks are not looked up: they keep their indexes.
void CompleteFile::add_stacks(const Recording& part) {
  for (const Module& row : part.modules) modules_.push_back(writer_->add(row));
  for (const Frame& row : part.frames) {
    frames_.push_back(writer_->add(row));
    count_row();
  }
  for (const Stack& row : part.stacks) {
    writer_->add(row);
    count_row();
  }
}

void CompleteFile::add_samples(const Recording& part) {
  for (const Wait& row : part.waits) waits_.push_back(writer_->wait(row));
  for (Sample row : part.samples) {
    row.wait = mapped(row.wait, waits_);
    if (row.context != kNone) row.context = writer_->context(part.contexts[row.context]);
    writer_->add(row);
    count_row();
  }
}

void CompleteFile::add_watched(const Recording& part) {
  for (const WatchChange& row : part.watch_changes) writer_->add(row);
  for (const Allocation& row : part.allocations) {
    writer_->add(row);
    count_row();
  }
  for (const Free& row : part.frees) {
    writer_->add(row);
    count_row();
  }
  for (const Lock& row : part.locks) {
    locks_.push_back(writer_->add(row));
    count_row();
  }
  for (LockWait row : part.lock_waits) {
    row.lock = locks_[row.lock];
    writer_->add(row);
    count_row();
  }
}

void CompleteFile::add_markers(const Markers& markers) {
  for_each_table(kMarkerTables, [&](auto table) {
    for (const auto& row : markers.*table) {
      writer_->add(
          with_texts(row, [&](uint32_t index) { return writer_->text(markers.texts[index]); }));
      if (++rows_ % kRowsPerBlock == 0) check();
    }
  });
}

void CompleteFile::finish(const SessionEnd& end, const Names& names) {
  writer_->finish(end);
  append_names(temporary_, renumbered(names, frames_, modules_));
  check();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw Error("creating {}: {}", path_, std::strerror(errno));
  }
  writer_.reset();
}

void write(const Recording& recording, const std::string& path,
           const std::function<bool()>& stopped) {
  CompleteFile file(path, recording.session, recording.origins, stopped);
  file.add(recording);
  file.finish(recording.end.value_or(SessionEnd{}), recording.names);
}

}  // namespace sampan::recording
