#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "recording/combiner.h"
#include "recording/reader.h"
#include "recording/writer.h"

namespace sampan::recording {
namespace {

constexpr size_t kRowsPerBlock = 1 << 17;

// Rows of frames and stacks differ from each other, so they are not looked up: they keep their indexes.
// Returns the names with the writer's numbers of modules.
Names add_rows(const Recording& from, Writer* writer, const std::function<void()>& check) {
  std::vector<uint32_t> modules, frames;
  size_t rows = 0;
  const auto flush_sometimes = [&] {
    if (++rows % kRowsPerBlock != 0) return;
    writer->flush();
    check();
  };
  for (const Process& row : from.processes) writer->add(row);
  for (const ProcessEnd& row : from.process_ends) writer->add(row);
  for (const Thread& row : from.threads) writer->add(row);
  for (const ThreadName& row : from.thread_names) writer->add(row);
  for (const ThreadEnd& row : from.thread_ends) writer->add(row);
  for (const Losses& row : from.losses) writer->add(row);
  for (const RateChange& row : from.rates.changes) writer->add(row);
  for (const Cost& row : from.rates.costs) writer->add(row);
  for (const Module& row : from.modules) modules.push_back(writer->add(row));
  for (const Frame& row : from.frames) {
    frames.push_back(writer->add(row));
    flush_sometimes();
  }
  for (const Stack& row : from.stacks) {
    writer->add(row);
    flush_sometimes();
  }
  std::vector<uint32_t> waits;
  for (const Wait& row : from.waits) waits.push_back(writer->wait(row));
  for (Sample row : from.samples) {
    row.wait = mapped(row.wait, waits);
    writer->add(row);
    flush_sometimes();
  }
  return renumbered(from.names, frames, modules);
}

void add_markers(const Markers& from, Writer* writer, const std::function<void()>& check) {
  size_t added = 0;
  for_each_table(kMarkerTables, [&](auto table) {
    for (const auto& row : from.*table) {
      writer->add(with_texts(row, [&](uint32_t index) { return writer->text(from.texts[index]); }));
      if (++added % kRowsPerBlock == 0) check();
    }
  });
}

}  // namespace

void write(const Recording& recording, const std::string& path,
           const std::function<bool()>& stopped) {
  const std::string temporary = path + ".part";
  const auto check = [&] {
    if (stopped()) throw Error("writing {}: interrupted, nothing of it is left", path);
  };
  try {
    if (::access(path.c_str(), F_OK) == 0) throw Error("creating {}: it exists", path);
    Writer writer(temporary, recording.session, recording.origins);
    const Names names = add_rows(recording, &writer, check);
    add_markers(recording.markers, &writer, check);
    writer.finish(recording.end.value_or(SessionEnd{}));
    append_names(temporary, names);
    check();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
      throw Error("creating {}: {}", path, std::strerror(errno));
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace sampan::recording
