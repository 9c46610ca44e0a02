#include "remote/push/piece.h"

#include <fmt/core.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "base/units.h"
#include "exporters/otlp.h"
#include "exporters/output_file.h"
#include "profile/load.h"
#include "profile/view.h"
#include "recording/segments.h"
#include "remote/push/labels.h"

namespace sampan::push {
namespace {

constexpr size_t kLongestHead = size_t{64} << 10;
constexpr std::string_view kHash = "&hash=";

std::string hash_of(std::string_view head, std::string_view body) {
  return fmt::format("{:016x}", XXH3_64bits_withSeed(body.data(), body.size(),
                                                     XXH3_64bits(head.data(), head.size())));
}

// A value must not start another header or another part of the URL.
bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

using protozero::pbf_writer;

// Field numbers of push.proto and types/v1/types.proto.
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

std::string read_and_remove(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  ::unlink(path.c_str());
  if (!file || bytes.empty()) throw Error("{} cannot be read", path);
  return bytes;
}

std::string pprof_of(const profile::View& view, const std::string& scratch) {
  exporters::write_file(view, exporters::format("pprof"), scratch);
  return read_and_remove(scratch);
}

std::string gzipped(const std::string& bytes, const std::string& scratch) {
  exporters::OutputFile file(scratch);
  exporters::GzipWriter gzip(file);
  gzip.write(bytes);
  gzip.finish();
  file.commit();
  return read_and_remove(scratch);
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
                     {"until", std::to_string(session.unix_time(view.profile->duration_ns()))},
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

std::string file_of(const Piece& piece) {
  const std::string head = encoded_pairs({{"sampan-piece", "1"},
                                          {"id", piece.id},
                                          {"query", piece.query},
                                          {"type", piece.type},
                                          {"encoding", piece.encoding},
                                          {"about", piece.about},
                                          {"size", std::to_string(piece.body.size())}});
  return head + std::string(kHash) + hash_of(head, piece.body) + "\n" + piece.body;
}

Piece parse_piece(std::string_view file, const std::string& name) {
  const auto refuse = [&](const char* why) {
    throw Error("{}: not a piece written by sampan: {}", name, why);
  };
  const size_t end = file.substr(0, kLongestHead).find('\n');
  if (end == file.npos) refuse("it has no head");
  const std::string_view line = file.substr(0, end);
  const std::string_view body = file.substr(end + 1);
  const size_t hash = line.rfind(kHash);
  if (hash == line.npos) refuse("it has no checksum");
  const std::string_view head = line.substr(0, hash);
  if (line.substr(hash + kHash.size()) != hash_of(head, body)) refuse("its checksum differs");

  const std::optional<Pairs> pairs = decoded_pairs(head, '&');
  if (!pairs) refuse("its head is invalid");
  const auto value = [&](std::string_view key) {
    const auto found = std::ranges::find_if(*pairs, [&](const auto& p) { return p.first == key; });
    if (found == pairs->end() || !is_one_line(found->second)) refuse("its head is incomplete");
    return found->second;
  };
  if (value("sampan-piece") != "1") refuse("it is of another version");
  if (value("size") != std::to_string(body.size())) refuse("it is cut off");
  return {value("id"),       value("query"), value("type"),
          value("encoding"), value("about"), std::string(body)};
}

std::string uuid_of(std::string_view content) {
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(content.data(), content.size()));
  hash.digest[6] = static_cast<unsigned char>((hash.digest[6] & 0x0f) | 0x80);
  hash.digest[8] = static_cast<unsigned char>((hash.digest[8] & 0x3f) | 0x80);
  std::string text;
  for (size_t i = 0; i < sizeof hash.digest; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", hash.digest[i]);
  }
  return text;
}

Composed compose(recording::Recording recording, Labels labels, Format format,
                 const symbolizer::Options& names, const std::string& scratch) {
  Composed composed;
  profile::Profile profile = profile::load(recording::rebased(std::move(recording)));
  if (profile.samples.empty()) return composed;
  symbolizer::symbolize(profile, names);
  for (const auto& [name, value] : profile.session.labels) labels.add(name, value);
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
