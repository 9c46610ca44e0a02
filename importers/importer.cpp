#include "importers/importer.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/nearest.h"
#include "importers/formats.h"
#include "importers/inflate.h"

namespace sampan::importers {
namespace {

constexpr uintmax_t kMostBytes = uintmax_t{4} << 30;

// Those with a mark of their own before those that any text could be.
constexpr std::array kImporters = {
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

std::string read_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kMostBytes) throw Error("it is larger than 4 GB");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error("{}",
                std::filesystem::exists(path) ? "it cannot be read" : "there is no such file");
  return {std::istreambuf_iterator<char>(file), {}};
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
