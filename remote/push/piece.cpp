// The formats of stores:
//
// - Pyroscope's push API: push/v1/push.proto of github.com/grafana/pyroscope, by the Connect
//   protocol (connectrpc.com) with a body of protobuf.
// - Pyroscope's /ingest: the pprof as it is, everything else in the query (its "server API" page).
//   Times are in nanoseconds, which it knows by their 19 digits: in seconds, profiles that begin in
//   one second would be one.
// - OTLP: exporters/otlp.h.
#include "push/compose.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "base/units.h"
#include "exporters/gzip_writer.h"
#include "exporters/otlp.h"
#include "exporters/output_file.h"
#include "profile/profile.h"
#include "profile/view.h"
#include "push/percent.h"
#include "push/store_labels.h"
#include "recording/join.h"

namespace sampan::push {
namespace {

using protozero::pbf_writer;

// Field numbers of push.proto and of types/v1/types.proto.
namespace push_request {
constexpr uint32_t kSeries = 1;
}
namespace series_field {
constexpr uint32_t kLabels = 1, kSamples = 2;
}
namespace label_field {
constexpr uint32_t kName = 1, kValue = 2;
}
namespace sample_field {
constexpr uint32_t kProfile = 1, kId = 2;
}

std::string taken(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  ::unlink(path.c_str());
  if (!file || bytes.empty()) throw Error("{} cannot be read", path);
  return bytes;
}

std::string pprof_of(const profile::View& view, const std::string& scratch) {
  exporters::write_file(view, exporters::format("pprof"), scratch);
  return taken(scratch);
}

std::string gzipped(const std::string& bytes, const std::string& scratch) {
  exporters::OutputFile file(scratch);
  exporters::GzipWriter gzip(file);
  gzip.write(bytes);
  gzip.finish();
  file.commit();
  return taken(scratch);
}

Piece pyroscope_piece(const profile::View& view, const Labels& labels, const std::string& scratch,
                      std::vector<std::string>* notes) {
  StoreLabels own = pyroscope_labels(labels);
  *notes = own.changed;
  own.pairs.emplace(own.pairs.begin(), "__name__", view.is_of_wall_time() ? "wall" : "process_cpu");
  const std::string profile = pprof_of(view, scratch);
  Piece piece{.id = uuid_of(encoded_pairs(own.pairs) + profile), .type = "application/proto"};
  pbf_writer request(piece.body);
  pbf_writer series(request, push_request::kSeries);
  for (const auto& [name, value] : own.pairs) {
    pbf_writer label(series, series_field::kLabels);
    label.add_string(label_field::kName, name);
    label.add_string(label_field::kValue, value);
  }
  pbf_writer sample(series, series_field::kSamples);
  sample.add_bytes(sample_field::kProfile, profile);
  sample.add_string(sample_field::kId, piece.id);
  sample.commit();
  series.commit();
  return piece;
}

Piece ingest_piece(const profile::View& view, const Labels& labels, const std::string& scratch,
                   std::vector<std::string>* notes) {
  const profile::Session& session = view.profile->session;
  StoreLabels own = pyroscope_labels(labels);
  Piece piece{.type = "application/octet-stream"};
  piece.query =
      encoded_pairs({{"name", ingest_name(&own)},
                     {"from", std::to_string(session.start_unix_ns)},
                     {"until", std::to_string(session.start_unix_ns + view.profile->duration_ns())},
                     {"format", "pprof"},
                     {"spyName", "sampan"},
                     {"sampleRate", std::to_string(session.rate_hz)}});
  piece.body = pprof_of(view, scratch);
  piece.id = uuid_of(piece.query + piece.body);
  *notes = own.changed;
  return piece;
}

Piece otlp_piece(const profile::View& view, const Labels& labels, const std::string& scratch) {
  std::vector<exporters::ResourceAttribute> resource;
  for (const auto& [name, value] : labels.pairs()) resource.push_back({name, value});
  const std::string message = exporters::otlp_message(view, resource);
  return {.id = uuid_of(message),
          .type = "application/x-protobuf",
          .encoding = "gzip",
          .body = gzipped(message, scratch)};
}

}  // namespace

Composed compose(recording::Recording recording, Labels labels, Format format,
                 const symbolizer::Options& names, const std::string& scratch) {
  Composed composed;
  profile::Profile profile = profile::load(recording::rebased(std::move(recording)));
  if (profile.samples.empty()) return composed;
  symbolizer::symbolize(profile, names);
  for (const auto& [name, value] : exporters::usual_resource(profile)) labels.add(name, value);
  const profile::View view = profile::select(profile);
  switch (format) {
    case Format::kPyroscope:
      composed.piece = pyroscope_piece(view, labels, scratch, &composed.notes);
      break;
    case Format::kIngest:
      composed.piece = ingest_piece(view, labels, scratch, &composed.notes);
      break;
    case Format::kOtlp: composed.piece = otlp_piece(view, labels, scratch); break;
  }
  composed.piece->about = fmt::format("{}, {:.1f} s, {} samples", profile.session.program,
                                      static_cast<double>(profile.duration_ns()) / kNsPerSecond,
                                      profile.samples.size());
  composed.notes.insert(composed.notes.end(), profile.damage.begin(), profile.damage.end());
  return composed;
}

}  // namespace sampan::push
