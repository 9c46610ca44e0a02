#include "remote/push/spool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace sampan::push {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSegment = ".segment", kPiece = ".piece", kTemporary = ".tmp";
// Adding something takes less than this.
constexpr auto kAbandoned = std::chrono::hours(1);

// "01795000000123456789-4711-3": sorts by time, and is unique.
std::string new_name() {
  static std::atomic<unsigned> count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{:011}{:09}-{}-{:06}", now.tv_sec, now.tv_nsec, ::getpid(), ++count);
}

void sync(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) throw Error("writing {}: {}", path, std::strerror(errno));
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error("writing {}: {}", path, std::strerror(errno));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Error("reading {}: {}", path, std::strerror(errno));
  return bytes;
}

void move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw Error("renaming {}: {}", from, std::strerror(errno));
  }
}

void make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error("creating the spool {}: {}", path, std::strerror(errno));
  }
}

uint64_t bytes_of(const fs::path& path) {
  std::error_code gone;
  const uintmax_t bytes = fs::file_size(path, gone);
  return gone ? 0 : bytes;
}

}  // namespace

Spool::Spool(std::string directory)
    : directory_(std::move(directory)), refused_(directory_ + "/refused") {
  make_directory(directory_);
  make_directory(refused_);
}

// Fills a directory under a temporary name, then renames it. Does not wait for the disk: the linked
// data is there already.
template <typename Put>
void Spool::add(const Labels& labels, Put&& put) {
  const std::string name = new_name();
  const std::string temporary = directory_ + "/." + name + std::string(kTemporary);
  if (::mkdir(temporary.c_str(), 0700) != 0) {
    throw Error("writing to the spool {}: {}", directory_, std::strerror(errno));
  }
  try {
    write_file(temporary + "/labels", encoded_pairs(labels.pairs()));
    put(temporary + "/recording.sampan");
    move(temporary, directory_ + "/" + name + std::string(kSegment));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

bool Spool::link(const std::string& recording, const Labels& labels) {
  struct NotLinked {};
  try {
    add(labels, [&](const std::string& path) {
      if (::link(recording.c_str(), path.c_str()) != 0) throw NotLinked();
    });
  } catch (const NotLinked&) {
    return false;
  }
  return true;
}

void Spool::copy(const std::string& recording, const Labels& labels) {
  add(labels, [&](const std::string& path) {
    std::error_code error;
    fs::copy_file(recording, path, error);
    if (error) throw Error("copying {} into the spool: {}", recording, error.message());
    sync(path);
  });
}

std::vector<Spool::Item> Spool::items_in(const std::string& directory) const {
  std::vector<Item> items;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string extension = entry.path().extension();
    if (extension == kPiece) {
      items.push_back({entry.path().stem(), true, bytes_of(entry.path())});
    } else if (extension == kSegment) {
      items.push_back({entry.path().stem(), false, bytes_of(entry.path() / "recording.sampan")});
    }
  }
  // A piece before its segment.
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return a.name != b.name ? a.name < b.name : a.is_piece > b.is_piece;
  });
  const auto same = [](const Item& a, const Item& b) { return a.name == b.name; };
  items.erase(std::unique(items.begin(), items.end(), same), items.end());
  return items;
}

std::vector<Spool::Item> Spool::items() const {
  return items_in(directory_);
}

Spool::Sum Spool::waiting() const {
  Sum sum;
  for (const Item& item : items()) sum = {sum.items + 1, sum.bytes + item.bytes};
  return sum;
}

bool Spool::own() {
  if (lock_) return true;
  const std::string path = directory_ + "/lock";
  FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) throw Error("opening {}: {}", path, std::strerror(errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  lock_ = std::move(lock);
  clean();
  return true;
}

// Deletes what was being written when sampan was killed, and segments that have become pieces.
void Spool::clean() {
  std::error_code error;
  std::vector<fs::path> rest;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const fs::path& path = entry.path();
    std::error_code gone;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, gone);
    const bool is_old = !gone && age > kAbandoned;
    const fs::path piece = directory_ / path.stem() += kPiece;
    if ((path.extension() == kTemporary && (is_old || path == scratch())) ||
        (path.extension() == kSegment && fs::exists(piece, gone))) {
      rest.push_back(path);
    }
  }
  for (const fs::path& path : rest) fs::remove_all(path, error);
}

std::string Spool::path_of(const Item& item) const {
  return directory_ + "/" + item.name + std::string(item.is_piece ? kPiece : kSegment);
}

std::string Spool::recording_of(const Item& segment) const {
  return path_of(segment) + "/recording.sampan";
}

Labels Spool::labels_of(const Item& segment) const {
  const std::string path = path_of(segment) + "/labels";
  const std::optional<Pairs> pairs = decoded_pairs(read_file(path), '&');
  if (!pairs) throw Error("{}: no labels of sampan's", path);
  Labels labels;
  for (const auto& [name, value] : *pairs) labels.add(name, value);
  return labels;
}

void Spool::replace(const Item& segment, const Piece& piece) {
  write_file(scratch(), file_of(piece));
  sync(scratch());
  move(scratch(), path_of({segment.name, true}));
  sync(directory_);
  remove(segment);
}

Piece Spool::read(const Item& piece) const {
  return parse_piece(read_file(path_of(piece)), path_of(piece));
}

void Spool::remove(const Item& item) {
  const std::string path = path_of(item);
  if (item.is_piece) {
    if (::unlink(path.c_str()) != 0) throw Error("removing {}: {}", path, std::strerror(errno));
    return;
  }
  const std::string temporary = directory_ + "/." + item.name + std::string(kTemporary);
  move(path, temporary);
  std::error_code ignored;  // the next owner deletes it
  fs::remove_all(temporary, ignored);
}

void Spool::set_aside(const Item& item) {
  move(path_of(item), refused_ + "/" + fs::path(path_of(item)).filename().string());
}

void Spool::restore() {
  for (const Item& item : items_in(refused_)) {
    const std::string path = path_of(item);
    move(refused_ + "/" + fs::path(path).filename().string(), path);
  }
}

Spool::Trimmed Spool::trim(uint64_t most_bytes) {
  const std::vector<Item> refused = items_in(refused_), wanted = items();
  uint64_t bytes = 0;
  for (const Item& item : refused) bytes += item.bytes;
  for (const Item& item : wanted) bytes += item.bytes;
  Trimmed trimmed;
  const auto count = [&bytes](const Item& item, Sum* sum) {
    bytes -= item.bytes;
    *sum = {sum->items + 1, sum->bytes + item.bytes};
  };
  for (const Item& item : refused) {
    if (bytes <= most_bytes) break;
    std::error_code error;
    fs::remove_all(refused_ + "/" + fs::path(path_of(item)).filename().string(), error);
    count(item, &trimmed.refused);
  }
  for (const Item& item : wanted) {
    if (bytes <= most_bytes) break;
    remove(item);
    count(item, &trimmed.dropped);
  }
  return trimmed;
}

}  // namespace sampan::push
