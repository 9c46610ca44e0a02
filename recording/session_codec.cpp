// The payloads of kSession, kEnd, kOrigins, kSegment, kIdentities and kRates (format.h).
#include "recording/codec.h"

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
  out->uleb(session.cpus.value_or(0));
  out->string(session.unit);
  out->uleb(session.labels.size());
  for (const auto& [name, value] : session.labels) {
    out->string(name);
    out->string(value);
  }
  out->maybe(session.clock_error_ns);
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
  session.start_unix_ns = UnixNs::at(in.uleb());
  session.rate_hz = in.uleb32();
  session.kernel_hz = in.uleb32();
  session.clock = in.string();
  session.engine = in.string();
  if (!in.at_end()) session.start_monotonic_ns = MonotonicNs::at(in.uleb());
  const uint32_t cpus = in.at_end() ? 0 : in.uleb32();
  if (cpus != 0) session.cpus = cpus;
  if (!in.at_end()) session.unit = in.string();
  if (!in.at_end()) {
    session.labels.resize(in.count());
    for (auto& [name, value] : session.labels) {
      name = in.string();
      value = in.string();
    }
    session.clock_error_ns = in.maybe_u64();
  }
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
  out->maybe(end.instructions);
  out->uleb(end.sampling_clocks);
}

std::optional<SessionEnd> decode_end(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  SessionEnd end;
  end.time_ns = in.time();
  end.exit_status = in.maybe_i32();
  end.exit_signal = in.maybe_i32();
  end.user_cpu_ns = in.uleb();
  end.system_cpu_ns = in.uleb();
  end.note = in.string();
  if (!in.at_end()) end.instructions = in.maybe_u64();
  if (!in.at_end()) end.sampling_clocks = in.uleb32();
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
    origin.start_unix_ns = UnixNs::at(in.uleb());
    origin.processes = in.uleb();
  }
  if (!in.ok()) return std::nullopt;
  return origins;
}

void encode(const Segment& segment, ColumnWriter* out) {
  out->uleb(segment.number);
  out->uleb(segment.begin_ns);
  out->uleb(segment.earlier_cpu_ns);
}

std::optional<Segment> decode_segment(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  Segment segment;
  segment.number = in.uleb32();
  segment.begin_ns = in.time();
  segment.earlier_cpu_ns = in.uleb();
  if (!in.ok()) return std::nullopt;
  return segment;
}

void encode(const Identities& identities, ColumnWriter* out) {
  out->uleb(identities.processes.size());
  for (const Identities::OfProcess& process : identities.processes) {
    out->uleb(process.row);
    out->uleb(process.id);
    out->uleb(wire::kLossCount);
    for (const uint64_t count : process.losses.count) out->uleb(count);
  }
  out->uleb(identities.threads.size());
  for (const auto& [row, id] : identities.threads) {
    out->uleb(row);
    out->uleb(id);
  }
}

bool decode_identities(std::span<const uint8_t> payload, Recording* recording) {
  ColumnReader in(payload);
  Identities identities;
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    Identities::OfProcess& process = identities.processes.emplace_back();
    process.row = process.losses.process = in.index(recording->processes.size());
    process.id = in.uleb32();
    for (uint32_t i = 0, counters = in.count(); i < counters; ++i) {
      const uint64_t value = in.uleb();
      if (i < wire::kLossCount) process.losses.count[i] = value;
    }
  }
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    const uint32_t row = in.index(recording->threads.size());
    identities.threads.emplace_back(row, in.uleb32());
  }
  if (!in.ok() || !in.at_end()) return false;
  for (const Identities::OfProcess& process : identities.processes) {
    recording->processes[process.row].id = process.id;
    recording->earlier_losses.push_back(process.losses);
  }
  for (const auto& [row, id] : identities.threads) recording->threads[row].id = id;
  return true;
}

void encode(const Rates& rates, ColumnWriter* out) {
  out->uleb(rates.changes.size());
  for (const RateChange& row : rates.changes) {
    out->uleb(row.time_ns);
    out->uleb(row.rate_hz);
    out->u8(row.governed ? 1 : 0);
  }
  out->uleb(rates.costs.size());
  for (const Cost& row : rates.costs) {
    out->uleb(row.time_ns);
    out->uleb(row.target_ns);
    out->uleb(row.in_target_ns);
    out->uleb(row.recorder_ns);
  }
}

bool decode_rates(std::span<const uint8_t> payload, Rates* rates) {
  ColumnReader in(payload);
  Rates decoded;
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    RateChange& row = decoded.changes.emplace_back();
    row.time_ns = in.time();
    row.rate_hz = in.uleb32();
    row.governed = in.u8() != 0;
    if (row.rate_hz == 0) in.fail();
  }
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    Cost& row = decoded.costs.emplace_back();
    row.time_ns = in.time();
    row.target_ns = in.uleb();
    row.in_target_ns = in.uleb();
    row.recorder_ns = in.uleb();
  }
  if (!in.ok() || !in.at_end()) return false;
  rates->changes.insert(rates->changes.end(), decoded.changes.begin(), decoded.changes.end());
  rates->costs.insert(rates->costs.end(), decoded.costs.begin(), decoded.costs.end());
  return true;
}

}  // namespace sampan::recording
