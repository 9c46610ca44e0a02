#include "importers/importer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/nearest.h"
#include "importers/formats.h"

namespace sampan::importers {
namespace {

constexpr uintmax_t kMostBytes = uintmax_t{4} << 30;

// Those with a mark of their own before those that any text could be.
constexpr std::array kImporters = {
    Importer{"perf-data", "a perf.data file", is_perf_data, read_perf_data},
    Importer{"gperftools-cpu", "a CPU profile of gperftools", is_gperftools_cpu,
             read_gperftools_cpu},
    Importer{"gperftools-heap", "a heap profile of gperftools", is_gperftools_heap,
             read_gperftools_heap},
    Importer{"cpuprofile", "a CPU profile of V8", is_cpuprofile, read_cpuprofile},
    Importer{"perf-script", "the text of perf script", is_perf_script, read_perf_script},
    Importer{"folded", "folded stacks", is_folded, read_folded},
    Importer{"pprof", "a pprof file", is_pprof, read_pprof},
};

std::string known_formats() {
  std::string text;
  for (const Importer& each : kImporters)
    text += (text.empty() ? "" : ", ") + std::string(each.name);
  return text;
}

const Importer& importer_for(std::string_view bytes, const std::string& format) {
  std::vector<std::string_view> names;
  for (const Importer& each : kImporters) {
    if (format.empty() ? each.matches(bytes) : each.name == format) return each;
    names.push_back(each.name);
  }
  if (format.empty()) {
    throw Error("it has none of the known formats ({}); --as says which one it is",
                known_formats());
  }
  throw Error("no format '{}'{} (formats: {})", format, did_you_mean(format, names),
              known_formats());
}

// Also of a pipe, whose size is not known.
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw Error("{}",
                std::filesystem::exists(path) ? "it cannot be read" : "there is no such file");
  }
  constexpr size_t kPiece = size_t{1} << 20;
  std::error_code no_file;
  const uintmax_t size = std::filesystem::file_size(path, no_file);
  std::string bytes;
  if (!no_file) bytes.reserve(std::min(size, kMostBytes) + kPiece);
  for (size_t got = kPiece; got == kPiece;) {
    const size_t before = bytes.size();
    if (before > kMostBytes) throw Error("it is larger than 4 GB");
    bytes.resize(before + kPiece);
    file.read(bytes.data() + before, kPiece);
    got = static_cast<size_t>(file.gcount());
    bytes.resize(before + got);
  }
  return bytes;
}

}  // namespace

std::span<const Importer> importers() {
  return kImporters;
}

recording::Recording import_bytes(std::string_view bytes, const std::string& format,
                                  const Options& options) {
  const std::string inflated = inflate(bytes);
  if (!inflated.empty()) bytes = inflated;
  if (bytes.empty()) throw Error("it is empty");
  const Importer& importer = importer_for(bytes, format);
  recording::Recording recording = importer.read(bytes, options);
  if (recording.samples.empty()) throw Error("it has no samples");
  recording.session.engine = "import of " + std::string(importer.about);
  recording.session.kernel_hz = 0;
  return recording;
}

recording::Recording import_file(const std::string& path, const std::string& format,
                                 const Options& options) {
  try {
    recording::Recording recording = import_bytes(read_file(path), format, options);
    if (recording.session.program.empty()) {
      recording.session.program = std::filesystem::path(path).filename();
    }
    return recording;
  } catch (const Error& error) {
    throw Error("{}: {}", path, error.what());
  }
}

}  // namespace sampan::importers
