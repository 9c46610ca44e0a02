#include "recording/session_codec.h"

namespace sampan::recording {

void encode(const Session& session, ColumnWriter* out) {
  out->string(session.program);
  out->uleb(session.command.size());
  for (const std::string& word : session.command) out->string(word);
  out->string(session.host);
  out->string(session.kernel);
  out->string(session.sampan_version);
  out->uleb(session.start_unix_ns);
  out->uleb(session.rate_hz);
  out->uleb(session.kernel_hz);
  out->string(session.clock);
  out->string(session.engine);
  out->uleb(session.start_monotonic_ns);
}

std::optional<Session> decode_session(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  Session session;
  session.program = in.string();
  session.command.resize(in.count());
  for (std::string& word : session.command) word = in.string();
  session.host = in.string();
  session.kernel = in.string();
  session.sampan_version = in.string();
  session.start_unix_ns = in.uleb();
  session.rate_hz = in.uleb32();
  session.kernel_hz = in.uleb32();
  session.clock = in.string();
  session.engine = in.string();
  if (!in.at_end()) session.start_monotonic_ns = in.uleb();
  if (!in.ok()) return std::nullopt;
  return session;
}

void encode(const SessionEnd& end, ColumnWriter* out) {
  out->uleb(end.time_ns);
  out->maybe(end.exit_status);
  out->maybe(end.exit_signal);
  out->uleb(end.user_cpu_ns);
  out->uleb(end.system_cpu_ns);
  out->string(end.note);
}

std::optional<SessionEnd> decode_end(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  SessionEnd end;
  end.time_ns = in.uleb();
  end.exit_status = in.maybe_i32();
  end.exit_signal = in.maybe_i32();
  end.user_cpu_ns = in.uleb();
  end.system_cpu_ns = in.uleb();
  end.note = in.string();
  if (!in.ok()) return std::nullopt;
  return end;
}

void encode(std::span<const Origin> origins, ColumnWriter* out) {
  out->uleb(origins.size());
  for (const Origin& origin : origins) {
    out->string(origin.label);
    out->string(origin.host);
    out->string(origin.program);
    out->uleb(origin.start_unix_ns);
    out->uleb(origin.processes);
  }
}

std::optional<std::vector<Origin>> decode_origins(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  std::vector<Origin> origins;
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    Origin& origin = origins.emplace_back();
    origin.label = in.string();
    origin.host = in.string();
    origin.program = in.string();
    origin.start_unix_ns = in.uleb();
    origin.processes = in.uleb();
  }
  if (!in.ok()) return std::nullopt;
  return origins;
}

}  // namespace sampan::recording
