// pprof: profile.proto. Format: github.com/google/pprof/blob/main/proto/profile.proto. Written by Go's runtime/pprof,
// pprof-rs, Pyroscope, gperftools' pprof -proto, and `sampan export --format pprof`.
//
// - A file has several values; one of them is imported: Options::weight, else the file's default, else the last one, as
//   `go tool pprof` shows. A value of time is CPU only if its type says so: "cpu", "wall" and "delay" stay apart.
// - If one value counts samples, there are as many of them. They have no times.
// - Labels that name threads and processes become such: those of sampan's export, of perf_to_profile and of py-spy.
//   Others are left out.
// - An address is an AVMA of the mapping: as an offset of the file it is looked up later. Most files have names.
#include <algorithm>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/mapped_files.h"
#include "importers/recording_builder.h"
#include "importers/text_lines.h"

namespace sampan::importers {
namespace {

using protozero::pbf_reader;

// Field numbers of the message Profile.
enum ProfileField : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kDefaultSampleType = 14,
};

struct ValueType {
  int64_t type = 0, unit = 0;  // texts
};

struct Label {
  int64_t key = 0, text = 0, number = 0;
};

struct Mapping {
  uint64_t start = 0, limit = 0, offset = 0;
  int64_t path = 0, build_id = 0;
};

struct Line {
  uint64_t function = 0;
  int64_t line = 0, column = 0;
};

struct Location {
  uint64_t mapping = 0, address = 0;
  std::vector<Line> lines;  // innermost first
};

struct Function {
  int64_t name = 0, linkage_name = 0, file = 0, start_line = 0;
};

struct File {
  std::vector<ValueType> types;
  std::vector<protozero::data_view> samples;
  std::unordered_map<uint64_t, Mapping> mappings;
  std::unordered_map<uint64_t, Location> locations;
  std::unordered_map<uint64_t, Function> functions;
  std::vector<std::string> texts;
  int64_t time_ns = 0, duration_ns = 0, period = 0, default_type = 0;
  ValueType period_type;

  const std::string& text(int64_t index) const {
    if (index < 0 || static_cast<size_t>(index) >= texts.size()) {
      throw Error("a text has the number {}, of {}", index, texts.size());
    }
    return texts[static_cast<size_t>(index)];
  }
};

// The value of a field. protozero asserts its type, so it is checked before.
void expect(const pbf_reader& in, protozero::pbf_wire_type type) {
  if (in.wire_type() != type) throw Error("the field {} has another type", in.tag());
}
int64_t int_of(pbf_reader& in) {
  expect(in, protozero::pbf_wire_type::varint);
  return in.get_int64();
}
uint64_t uint_of(pbf_reader& in) {
  expect(in, protozero::pbf_wire_type::varint);
  return in.get_uint64();
}
protozero::data_view view_of(pbf_reader& in) {
  expect(in, protozero::pbf_wire_type::length_delimited);
  return in.get_view();
}

// Calls field(number, reader) for each field; what it does not read is skipped.
template <typename Field>
void for_each_field(pbf_reader message, const Field& field) {
  while (message.next()) {
    if (!field(message.tag(), message)) message.skip();
  }
}

ValueType read_value_type(const pbf_reader& message) {
  ValueType type;
  for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case 1: type.type = int_of(in); return true;
      case 2: type.unit = int_of(in); return true;
      default: return false;
    }
  });
  return type;
}

void read_mapping(const pbf_reader& message, File* file) {
  uint64_t id = 0;
  Mapping mapping;
  for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case 1: id = uint_of(in); return true;
      case 2: mapping.start = uint_of(in); return true;
      case 3: mapping.limit = uint_of(in); return true;
      case 4: mapping.offset = uint_of(in); return true;
      case 5: mapping.path = int_of(in); return true;
      case 6: mapping.build_id = int_of(in); return true;
      default: return false;
    }
  });
  file->mappings[id] = mapping;
}

Line read_line(const pbf_reader& message) {
  Line line;
  for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case 1: line.function = uint_of(in); return true;
      case 2: line.line = int_of(in); return true;
      case 3: line.column = int_of(in); return true;
      default: return false;
    }
  });
  return line;
}

void read_location(const pbf_reader& message, File* file) {
  uint64_t id = 0;
  Location location;
  for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case 1: id = uint_of(in); return true;
      case 2: location.mapping = uint_of(in); return true;
      case 3: location.address = uint_of(in); return true;
      case 4: location.lines.push_back(read_line(pbf_reader(view_of(in)))); return true;
      default: return false;
    }
  });
  file->locations[id] = std::move(location);
}

void read_function(const pbf_reader& message, File* file) {
  uint64_t id = 0;
  Function function;
  for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case 1: id = uint_of(in); return true;
      case 2: function.name = int_of(in); return true;
      case 3: function.linkage_name = int_of(in); return true;
      case 4: function.file = int_of(in); return true;
      case 5: function.start_line = int_of(in); return true;
      default: return false;
    }
  });
  file->functions[id] = function;
}

File read_file(std::string_view bytes) {
  File file;
  for_each_field(pbf_reader(bytes.data(), bytes.size()), [&](uint32_t tag, pbf_reader& in) {
    switch (tag) {
      case kSampleType: file.types.push_back(read_value_type(pbf_reader(view_of(in)))); return true;
      case kSample: file.samples.push_back(view_of(in)); return true;
      case kMapping: read_mapping(pbf_reader(view_of(in)), &file); return true;
      case kLocation: read_location(pbf_reader(view_of(in)), &file); return true;
      case kFunction: read_function(pbf_reader(view_of(in)), &file); return true;
      case kStringTable: file.texts.push_back(std::string(view_of(in))); return true;
      case kTimeNanos: file.time_ns = int_of(in); return true;
      case kDurationNanos: file.duration_ns = int_of(in); return true;
      case kPeriodType: file.period_type = read_value_type(pbf_reader(view_of(in))); return true;
      case kPeriod: file.period = int_of(in); return true;
      case kDefaultSampleType: file.default_type = int_of(in); return true;
      default: return false;
    }
  });
  if (file.types.empty()) throw Error("it says of no value what it is");
  return file;
}

// Nothing unless all of the text is bytes in hexadecimal: Go writes a build id of another kind.
std::vector<uint8_t> bytes_of_hex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    const auto byte = number_of<uint8_t>(text.substr(0, 2), 16);
    if (!byte) return {};
    bytes.push_back(*byte);
  }
  return text.empty() ? bytes : std::vector<uint8_t>();
}

// How many ns a unit of time has; 0: it is none.
uint64_t ns_of(std::string_view unit) {
  if (unit == "nanoseconds" || unit == "ns") return 1;
  if (unit == "microseconds" || unit == "us") return kNsPerUs;
  if (unit == "milliseconds" || unit == "ms") return kNsPerMs;
  if (unit == "seconds" || unit == "s") return kNsPerSecond;
  return 0;
}

class PprofReader {
 public:
  PprofReader(const File& file, const Options& options)
      : file_(file), value_(chosen(options.weight)) {
    for (size_t i = 0; i < file_.types.size(); ++i) {
      const bool counts = file_.text(file_.types[i].unit) == "count";
      if (counts && file_.text(file_.types[i].type) == "samples") counter_ = i;
    }
    set_unit();
  }

  recording::Recording read() {
    recording::Session& session = builder_.session();
    session.start_unix_ns = UnixNs::at(static_cast<uint64_t>(std::max<int64_t>(file_.time_ns, 0)));
    const uint64_t period_ns = ns_of(file_.text(file_.period_type.unit));
    if (session.unit.empty() && period_ns != 0 && file_.period > 0) {
      const double hz = 1e9 / (static_cast<double>(period_ns) * static_cast<double>(file_.period));
      if (hz >= 1 && hz < 1e6)
        session.rate_hz = static_cast<uint32_t>(hz + 0.5);  // NOLINT(bugprone-incorrect-roundings)
    }
    for (const protozero::data_view& sample : file_.samples) read_sample(pbf_reader(sample));
    if (const auto first = file_.mappings.find(1); first != file_.mappings.end()) {
      const std::string& path = file_.text(first->second.path);
      session.program = path.substr(path.rfind('/') + 1);
    }
    return builder_.take(static_cast<uint64_t>(std::max<int64_t>(file_.duration_ns, 0)));
  }

 private:
  size_t chosen(const std::string& weight) const {
    std::string known;
    for (size_t i = 0; i < file_.types.size(); ++i) {
      const std::string& name = file_.text(file_.types[i].type);
      if (!weight.empty() && name == weight) return i;
      known += (known.empty() ? "" : ", ") + name;
    }
    if (!weight.empty()) throw Error("it has no value '{}' (it has: {})", weight, known);
    for (size_t i = 0; i < file_.types.size(); ++i) {
      if (file_.default_type != 0 && file_.types[i].type == file_.default_type) return i;
    }
    return file_.types.size() - 1;
  }

  void set_unit() {
    const std::string& type = file_.text(file_.types[value_].type);
    const std::string& unit = file_.text(file_.types[value_].unit);
    recording::Session& session = builder_.session();
    scale_ = ns_of(unit);
    if (scale_ != 0 && (type == "cpu" || type == "time" || type.empty())) return;
    if (scale_ != 0) {
      session.unit = "ns of " + type;
    } else {
      scale_ = 1;
      session.unit = unit == "count" || unit.empty() ? type : unit;
    }
    scale_ = weight_of(scale_);
  }

  void read_sample(const pbf_reader& message) {
    locations_.clear();
    values_.clear();
    labels_.clear();
    for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
      const bool is_packed = in.wire_type() == protozero::pbf_wire_type::length_delimited;
      switch (tag) {
        case 1:
          if (!is_packed) return locations_.push_back(uint_of(in)), true;
          for (const uint64_t id : in.get_packed_uint64()) locations_.push_back(id);
          return true;
        case 2:
          if (!is_packed) return values_.push_back(int_of(in)), true;
          for (const int64_t value : in.get_packed_int64()) values_.push_back(value);
          return true;
        case 3: labels_.push_back(read_label(pbf_reader(view_of(in)))); return true;
        default: return false;
      }
    });
    if (values_.size() != file_.types.size()) {
      throw Error("a sample has {} values, of {}", values_.size(), file_.types.size());
    }
    const int64_t value = values_[value_];
    if (value < 0)
      throw Error("a sample has a negative value: it is the difference of two profiles");
    if (value == 0) return;
    if (static_cast<uint64_t>(value) > INT64_MAX / scale_) throw Error("a value is too large");
    const uint64_t count = counter_ < values_.size() && values_[counter_] > 0
                               ? static_cast<uint64_t>(values_[counter_])
                               : 1;
    frames_.clear();
    for (const uint64_t id : locations_) frames_.push_back(frame_of(id));
    builder_.samples(thread_of_labels(), builder_.stack(frames_), count,
                     static_cast<uint64_t>(value) * scale_);
  }

  static Label read_label(const pbf_reader& message) {
    Label label;
    for_each_field(message, [&](uint32_t tag, pbf_reader& in) {
      switch (tag) {
        case 1: label.key = int_of(in); return true;
        case 2: label.text = int_of(in); return true;
        case 3: label.number = int_of(in); return true;
        default: return false;
      }
    });
    return label;
  }

  uint32_t thread_of_labels() {
    std::string process = "imported", thread = "all";
    int64_t pid = 0, tid = 0;
    for (const Label& label : labels_) {
      const std::string& key = file_.text(label.key);
      if (key == "process" || key == "comm") process = file_.text(label.text);
      if (key == "thread" || key == "thread_name" || key == "thread-name") {
        thread = file_.text(label.text);
      }
      if (key == "pid") pid = label.number;
      if (key == "tid" || key == "thread_id") tid = label.number;
    }
    const auto id = [](int64_t number) {
      return number >= 0 && number <= std::numeric_limits<int32_t>::max()
                 ? static_cast<int32_t>(number)
                 : 0;
    };
    return builder_.thread(builder_.process(id(pid), process), id(tid), thread);
  }

  uint32_t frame_of(uint64_t id) {
    const auto [known, is_new] = frame_by_location_.try_emplace(id, 0);
    if (!is_new) return known->second;
    const auto found = file_.locations.find(id);
    if (found == file_.locations.end())
      throw Error("a sample is in location {}, which is not there", id);
    const Location& location = found->second;
    uint32_t module = kNone;
    uint64_t address = location.address;
    if (const auto mapping = file_.mappings.find(location.mapping);
        mapping != file_.mappings.end()) {
      module = module_of(mapping->second);
      address = files_.svma(file_.text(mapping->second.path),
                            bytes_of_hex(file_.text(mapping->second.build_id)),
                            address - mapping->second.start + mapping->second.offset);
    }
    std::vector<NamedPlace> places;
    for (const Line& line : location.lines) {
      const auto function = file_.functions.find(line.function);
      if (function == file_.functions.end()) continue;
      const auto number = [](int64_t value) {
        return value > 0 && value <= std::numeric_limits<int32_t>::max()
                   ? static_cast<uint32_t>(value)
                   : 0;
      };
      const std::string& name = file_.text(function->second.name);
      places.push_back({.function = name.empty() ? file_.text(function->second.linkage_name) : name,
                        .file = file_.text(function->second.file),
                        .first_line = number(function->second.start_line),
                        .line = number(line.line),
                        .column = number(line.column)});
    }
    return known->second = places.empty() ? builder_.frame(module, address)
                                          : builder_.frame(module, address, places);
  }

  uint32_t module_of(const Mapping& mapping) {
    const std::string& path = file_.text(mapping.path);
    return path.empty() ? kNone : builder_.module(path, bytes_of_hex(file_.text(mapping.build_id)));
  }

  const File& file_;
  const size_t value_;  // of a sample's values: the one that is imported
  size_t counter_ = std::numeric_limits<size_t>::max();  // the one that counts samples
  uint64_t scale_ = 1;
  RecordingBuilder builder_;
  MappedFiles files_;
  std::unordered_map<uint64_t, uint32_t> frame_by_location_;
  std::vector<uint64_t> locations_;
  std::vector<int64_t> values_;
  std::vector<Label> labels_;
  std::vector<uint32_t> frames_;
};

}  // namespace

// Nothing marks such a file: its first field is a message, and all of it can be read.
bool is_pprof(std::string_view bytes) {
  try {
    return !read_file(bytes).texts.empty();
  } catch (const std::exception&) {
    return false;
  }
}

recording::Recording read_pprof(std::string_view bytes, const Options& options) {
  try {
    return PprofReader(read_file(bytes), options).read();
  } catch (const protozero::exception& error) {
    throw Error("it is damaged: {}", error.what());
  }
}

}  // namespace sampan::importers
