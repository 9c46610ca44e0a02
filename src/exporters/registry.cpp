#include <array>

#include "base/error.h"
#include "base/nearest.h"
#include "exporters/formats.h"

namespace sampan::exporters {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"trace", ".json", "https://ui.perfetto.dev or chrome://tracing", false, write_trace},
      Format{"pprof", ".pb.gz", "go tool pprof -http=: FILE", true, write_pprof},
      Format{"pstats", ".prof", "snakeviz FILE, or python3 -m pstats FILE", true, write_pstats},
      Format{"folded", ".folded", "flamegraph.pl FILE, or https://www.speedscope.app", true,
             write_folded},
  };
  return kFormats;
}

const Format& format(std::string_view name) {
  std::vector<std::string_view> names;
  std::string known;
  for (const Format& candidate : formats()) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
    known += known.empty() ? "" : ", ";
    known += candidate.name;
  }
  throw Error("no format '{}'{} (formats: {})", name, did_you_mean(name, names), known);
}

}  // namespace sampan::exporters
