#include "remote/live/recorder_config.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/error.h"

namespace sampan::live {
namespace {

// The fields in their order. Writer and reader are the same program.
template <typename Archive, typename Config>
void visit(Archive& archive, Config& config) {
  archive(config.command);
  archive(config.pid);
  archive(config.owner);
  archive(config.rate_hz);
  for (auto* text : {&config.clock, &config.max_overhead, &config.engine}) archive(*text);
  archive(config.watched.heap_mean);
  archive(config.watched.lock_limit_ns);
  archive(config.follow);
  for (auto* text : {&config.rotate, &config.keep, &config.mode, &config.output}) archive(*text);
  auto& push = config.push;
  for (auto* text :
       {&push.url, &push.format, &push.spool, &push.spool_size, &push.token_file, &push.ca_file}) {
    archive(*text);
  }
  archive(push.labels);
  archive(push.headers);
  archive(config.environment);
}

struct Writer {
  std::string bytes;

  template <typename T>
  void operator()(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& text) {
    (*this)(uint64_t{text.size()});
    bytes += text;
  }
  void operator()(const std::vector<std::string>& texts) {
    (*this)(uint64_t{texts.size()});
    for (const std::string& text : texts) (*this)(text);
  }
};

struct Reader {
  ByteCursor cursor;

  template <typename T>
  void operator()(T& value) {
    value = cursor.fixed<T>();
  }
  void operator()(std::string& text) {
    const auto bytes = cursor.take(cursor.u64());
    text.assign(bytes.begin(), bytes.end());
  }
  void operator()(std::vector<std::string>& texts) {
    for (uint64_t left = cursor.u64(); left > 0 && cursor.ok(); --left)
      (*this)(texts.emplace_back());
  }
};

}  // namespace

FileDescriptor write_config(const RecorderConfig& config) {
  Writer writer;
  visit(writer, config);
  FileDescriptor file(memfd_create("sampan-recorder", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(writer.bytes.size());
  if (!file || pwrite(file.get(), writer.bytes.data(), writer.bytes.size(), 0) != size) {
    throw Error("starting the recorder: its settings: {}", std::strerror(errno));
  }
  return file;
}

RecorderConfig read_config(int fd) {
  const FileDescriptor file(fd);
  std::vector<uint8_t> bytes;
  uint8_t part[4096];
  for (ssize_t size; (size = pread(fd, part, sizeof part, static_cast<off_t>(bytes.size()))) > 0;) {
    bytes.insert(bytes.end(), part, part + size);
  }
  RecorderConfig config;
  Reader reader{ByteCursor(bytes)};
  visit(reader, config);
  if (!reader.cursor.ok() || !reader.cursor.at_end()) {
    throw Error("recorder: descriptor {} has no settings: sampan top and sampan serve start it",
                fd);
  }
  return config;
}

}  // namespace sampan::live
