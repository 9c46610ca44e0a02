#include "importers/perf_file.h"

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/byte_cursor.h"
#include "base/error.h"

namespace sampan::importers {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::string_view kMagic = "PERFILE2", kOtherByteOrder = "2ELIFREP";
constexpr size_t kMostInflated = size_t{4} << 30;

// Records that perf itself writes; those of the kernel are below.
enum PerfRecordType : uint32_t {
  kFirstOfPerf = 64,
  kAttribute = 64,
  kTracingData = 66,
  kBuildId = 67,
  kAuxTrace = 71,
  kFeature = 80,
  kCompressed = 81,
  kCompressed2 = 83,
};

// Sections of the file about the machine and the events.
enum Feature : uint32_t {
  kBuildIds = 2,
  kHostName = 3,
  kKernelRelease = 4,
  kCommandLine = 11,
  kEventDescriptions = 12,
  kFeatures = 256,
};

struct Section {
  uint64_t offset = 0, size = 0;
};

struct FileHeader {
  char magic[8];
  uint64_t size, attribute_size;
  Section attributes, data, event_types;
  uint64_t features[4];
};

Bytes section_of(Bytes file, const Section& section) {
  if (section.offset > file.size() || section.size > file.size() - section.offset) {
    throw Error("it is cut off: a section ends at byte {}, of {}", section.offset + section.size,
                file.size());
  }
  return file.subspan(section.offset, section.size);
}

// The attributes of an event, of any version: what the file has less is 0, what it has more is ignored.
perf_event_attr attributes_of(Bytes bytes) {
  perf_event_attr attributes = {};
  std::memcpy(&attributes, bytes.data(), std::min(bytes.size(), sizeof attributes));
  return attributes;
}

std::string text_of(ByteCursor* in) {
  const Bytes bytes = in->take(in->u32());
  const auto end = std::ranges::find(bytes, 0);
  return {bytes.begin(), end};
}

class Reader {
 public:
  explicit Reader(Bytes file) : bytes_(file) {}

  PerfFile read() {
    ByteCursor in(bytes_);
    const auto header = in.fixed<FileHeader>();
    if (in.ok() && header.size >= sizeof header) {
      read_attributes(header);
      read_records(section_of(bytes_, header.data));
      read_features(header);
    } else {  // written to a pipe: magic, the size of this header, records
      constexpr size_t kPipeHeader = 16;
      if (bytes_.size() < kPipeHeader) throw Error("it is cut off");
      read_records(bytes_.subspan(kPipeHeader));
    }
    read_inflated();
    if (file_.events.empty()) throw Error("it names no event");
    return std::move(file_);
  }

 private:
  void read_attributes(const FileHeader& header) {
    const Bytes all = section_of(bytes_, header.attributes);
    if (header.attribute_size <= sizeof(Section) || header.attribute_size > all.size()) {
      throw Error("attributes of {} bytes make no sense", header.attribute_size);
    }
    for (size_t at = 0; all.size() - at >= header.attribute_size; at += header.attribute_size) {
      const Bytes entry = all.subspan(at, header.attribute_size);
      const Bytes attributes = entry.first(entry.size() - sizeof(Section));
      ByteCursor tail(entry.subspan(attributes.size()));
      PerfEvent event;
      event.attributes = attributes_of(attributes);
      add_ids(section_of(bytes_, tail.fixed<Section>()), &event);
      file_.events.push_back(std::move(event));
    }
  }

  static void add_ids(Bytes bytes, PerfEvent* event) {
    ByteCursor in(bytes);
    while (in.remaining() >= sizeof(uint64_t)) event->ids.push_back(in.u64());
  }

  void read_records(Bytes bytes) {
    while (bytes.size() >= sizeof(perf_event_header)) {
      perf_event_header header;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.size < sizeof header || header.size > bytes.size()) break;
      const Bytes body = bytes.subspan(sizeof header, header.size - sizeof header);
      const size_t behind = read_record({header.type, header.misc, body});
      bytes = bytes.subspan(header.size);
      bytes = bytes.subspan(std::min(behind, bytes.size()));
    }
    // perf was killed, or its messages went into the file.
    if (!bytes.empty()) {
      file_.note = fmt::format(
          "the last {} bytes of the file are no whole record, and are left out", bytes.size());
    }
  }

  // Returns how many bytes of data follow the record.
  size_t read_record(const PerfRecord& record) {
    ByteCursor in(record.body);
    switch (record.type) {
      case kAttribute: read_attribute(record.body); return 0;
      case kTracingData: return (in.u32() + size_t{7}) & ~size_t{7};
      case kAuxTrace: return in.u64();
      case kBuildId: read_build_id(record.misc, record.body); return 0;
      case kFeature: {
        const auto feature = static_cast<uint32_t>(in.u64());
        read_feature(feature, in.take(in.remaining()));
        return 0;
      }
      case kCompressed: inflate(record.body); return 0;
      case kCompressed2: inflate(in.take(in.u64())); return 0;
      default:
        if (record.type < kFirstOfPerf) file_.records.push_back(record);
        return 0;
    }
  }

  // In a pipe: the attributes, whose size is in them, then the ids.
  void read_attribute(Bytes body) {
    constexpr size_t kSizeAt = 4;
    if (body.size() < PERF_ATTR_SIZE_VER0) throw Error("the attributes of an event are cut off");
    uint32_t size = 0;
    std::memcpy(&size, body.data() + kSizeAt, sizeof size);
    size = std::clamp<uint32_t>(size, PERF_ATTR_SIZE_VER0, static_cast<uint32_t>(body.size()));
    PerfEvent event;
    event.attributes = attributes_of(body.first(size));
    add_ids(body.subspan(size), &event);
    file_.events.push_back(std::move(event));
  }

  void read_build_id(uint16_t misc, Bytes body) {
    constexpr size_t kLongest = 20;
    constexpr uint16_t kHasSize = 1 << 15;
    ByteCursor in(body);
    in.u32();  // pid
    const Bytes id = in.take(kLongest);
    const uint8_t size = in.u8();
    in.skip(3);
    const Bytes path = in.take(in.remaining());
    if (!in.ok()) return;
    const size_t used = (misc & kHasSize) != 0 ? std::min<size_t>(size, kLongest) : kLongest;
    file_.build_ids.push_back({{path.begin(), std::ranges::find(path, 0)},
                               {id.begin(), id.begin() + static_cast<ptrdiff_t>(used)}});
  }

  // The sections of the features stand in a table behind the data, in the order of their bits.
  void read_features(const FileHeader& header) {
    const uint64_t table = header.data.offset + header.data.size;
    size_t number = 0;
    for (uint32_t feature = 0; feature < kFeatures; ++feature) {
      if ((header.features[feature / 64] >> (feature % 64) & 1) == 0) continue;
      ByteCursor in(section_of(bytes_, {table + number * sizeof(Section), sizeof(Section)}));
      const auto section = in.fixed<Section>();
      ++number;
      read_feature(feature, section_of(bytes_, section));
    }
  }

  void read_feature(uint32_t feature, Bytes bytes) {
    ByteCursor in(bytes);
    switch (feature) {
      case kBuildIds: read_build_ids(bytes); break;
      case kHostName: file_.host = text_of(&in); break;
      case kKernelRelease: file_.kernel = text_of(&in); break;
      case kCommandLine:
        for (uint32_t left = in.u32(); left > 0 && in.remaining() > 0; --left) {
          file_.command.push_back(text_of(&in));
        }
        break;
      case kEventDescriptions: read_descriptions(in); break;
      default: break;
    }
  }

  void read_build_ids(Bytes bytes) {
    while (bytes.size() >= sizeof(perf_event_header)) {
      perf_event_header header;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.size < sizeof header || header.size > bytes.size()) return;
      read_build_id(header.misc, bytes.subspan(sizeof header, header.size - sizeof header));
      bytes = bytes.subspan(header.size);
    }
  }

  // The names of the events.
  void read_descriptions(ByteCursor in) {
    const uint32_t count = in.u32(), attribute_size = in.u32();
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      in.skip(attribute_size);
      const uint32_t ids = in.u32();
      const std::string name = text_of(&in);
      std::vector<uint64_t> known;
      for (uint32_t id = 0; id < ids && in.ok(); ++id) known.push_back(in.u64());
      for (PerfEvent& event : file_.events) {
        const bool is_same = known.empty() ? file_.events.size() == 1 : event.ids == known;
        if (is_same) event.name = name;
      }
    }
  }

  // All compressed records are one zstd stream; a record may begin in one of them and end in the next.
  void inflate(Bytes bytes) {
    if (!stream_) stream_.reset(ZSTD_createDStream());
    if (!stream_) throw Error("zstd has no memory");
    if (file_.inflated.empty()) file_.inflated.emplace_back();
    if (is_inflated_) throw Error("it is compressed twice");
    std::vector<uint8_t>& all = file_.inflated.front();
    ZSTD_inBuffer source = {bytes.data(), bytes.size(), 0};
    bool is_full = false;  // there may be more without further input
    while (source.pos < source.size || is_full) {
      const size_t before = all.size(), piece = ZSTD_DStreamOutSize();
      if (before > kMostInflated - piece) throw Error("it holds more than 4 GB");
      all.resize(before + piece);
      ZSTD_outBuffer out = {all.data() + before, piece, 0};
      if (ZSTD_isError(ZSTD_decompressStream(stream_.get(), &out, &source)) != 0) {
        throw Error("its zstd data is damaged");
      }
      all.resize(before + out.pos);
      is_full = out.pos == out.size;
    }
  }

  void read_inflated() {
    if (file_.inflated.empty()) return;
    is_inflated_ = true;
    read_records(file_.inflated.front());
  }

  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  const Bytes bytes_;
  PerfFile file_;
  bool is_inflated_ = false;  // all of it: the records in it are read
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
};

}  // namespace

bool is_perf_file(std::string_view bytes) {
  return bytes.starts_with(kMagic) || bytes.starts_with(kOtherByteOrder);
}

PerfFile read_perf_file(std::string_view bytes) {
  if (bytes.starts_with(kOtherByteOrder)) throw Error("it is of a machine with another byte order");
  if (!bytes.starts_with(kMagic)) throw Error("it does not begin as perf.data does");
  return Reader({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).read();
}

}  // namespace sampan::importers
