#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "symbolizer/jit_file.h"

namespace sampan::symbolizer {

namespace {

constexpr uint32_t kMagic = 0x4a695444;  // "JiTD"; "DTiJ" is the other byte order
constexpr size_t kFileHeader = 40, kRecordHeader = 16;
constexpr size_t kLoad = 40, kMove = 48;  // sizes of records before their names
constexpr size_t kLongestName = 4096;
constexpr uint32_t kCodeLoad = 0, kCodeMove = 1;
constexpr uint64_t kArchitectureClock = 1;  // a flag

class Reader {
 public:
  Reader(FILE* file, const std::function<void(const JitCode&)>& take) : file_(file), take_(take) {}

  std::string read(uint32_t pid) {
    if (!fill(kFileHeader)) return "it ends in its header";
    ByteCursor header(bytes_);
    if (header.u32() != kMagic) return "it is no dump of this machine's byte order";
    header.skip(4);
    const uint32_t size = header.u32();
    header.skip(8);
    if (header.u32() != pid) return "another process wrote it";
    header.skip(8);
    is_timed_ = (header.u64() & kArchitectureClock) == 0;
    if (size < kFileHeader || !pass(size - kFileHeader)) return "its header makes no sense";
    std::string problem = read_records();
    if (!is_timed_) {
      problem += std::string(problem.empty() ? "" : "; ") +
                 "its times are not those of CLOCK_MONOTONIC: of code in one place the last name "
                 "counts";
    }
    return problem;
  }

 private:
  std::string read_records() {
    while (fill(kRecordHeader)) {
      ByteCursor header(bytes_);
      const uint32_t kind = header.u32();
      const uint32_t size = header.u32();
      const auto time_ns = MonotonicNs::at(is_timed_ ? header.u64() : 0);
      if (size < kRecordHeader) return "a record has no size, the rest was not read";
      size_t left = size - kRecordHeader;
      const size_t wanted = kind == kCodeLoad ? kLoad : kind == kCodeMove ? kMove : 0;
      if (left < wanted) return "a record is too small, the rest was not read";
      if (!fill(wanted)) return "it ends in a record";
      left -= wanted;
      if (kind == kCodeLoad) left -= load(time_ns, left);
      if (kind == kCodeMove) move(time_ns);
      if (!pass(left)) return "it ends in a record";
      if (read_ > kMaxJitFile) {
        return fmt::format("more than {} MB are names, the rest was not read", kMaxJitFile >> 20);
      }
    }
    return "";
  }

  // Returns how many of the record's `left` bytes it has read.
  size_t load(MonotonicNs time_ns, size_t left) {
    ByteCursor content(bytes_);
    content.skip(16);  // process, thread, address in the program's file
    const uint64_t begin = content.u64();
    const uint64_t size = content.u64();
    const uint64_t index = content.u64();
    std::string name;
    size_t count = 0;
    for (int byte = 1; byte > 0 && count < std::min(left, kLongestName); ++count) {
      byte = getc_unlocked(file_);
      if (byte > 0) name += static_cast<char>(byte);
      if (byte == EOF) return left;  // the file ends in the name
    }
    read_ += count;
    emit(begin, size, time_ns, name);
    names_[index] = std::move(name);
    return count;
  }

  void move(MonotonicNs time_ns) {
    ByteCursor content(bytes_);
    content.skip(24);  // the same, and the old address
    const uint64_t begin = content.u64();
    const uint64_t size = content.u64();
    const auto known = names_.find(content.u64());
    if (known != names_.end()) emit(begin, size, time_ns, known->second);
  }

  void emit(uint64_t begin, uint64_t size, MonotonicNs time_ns, std::string_view name) {
    if (name.empty() || begin + size < begin) return;
    take_({begin, begin + size, time_ns, name});
  }

  bool fill(size_t size) {
    bytes_.resize(size);
    read_ += size;
    return fread(bytes_.data(), 1, size, file_) == size;
  }
  bool pass(size_t size) {
    return size == 0 || fseeko(file_, static_cast<off_t>(size), SEEK_CUR) == 0;
  }

  FILE* file_;
  const std::function<void(const JitCode&)>& take_;
  std::vector<uint8_t> bytes_;
  uint64_t read_ = 0;
  bool is_timed_ = true;
  std::unordered_map<uint64_t, std::string> names_;  // by code index
};

}  // namespace

// A process with this pid that began earlier is the same process.
UnixNs begun_unix_ns(const profile::Profile& profile, const profile::Process& process) {
  const UnixNs recorded = profile.session.unix_time(process.start_ns);
  return std::min(recorded, sampan::begun_unix_ns(process.pid).value_or(recorded));
}

std::string read_jit_dump(FILE* file, uint32_t pid,
                          const std::function<void(const JitCode&)>& take) {
  return Reader(file, take).read(pid);
}

}  // namespace sampan::symbolizer
