// OTLP profiles: a protobuf message for OpenTelemetry's collector and other programs with its
// protocol, in the layout of opentelemetry-proto 1.10 and 1.11 (otlp_dictionary.h).
//
// - Each process is a resource, with a profile "cpu" in nanoseconds and, for wall time, a profile
//   "off_cpu" of waiting. A profile has one kind of value.
// - Threads are attributes of samples, thread.name and thread.id, as in OpenTelemetry's own
//   profiler. Samples in a task of asyncio have the attribute task.name, too. Those of a request across
//   services have a link: its trace id and span id, or, where the span is not known, that of its caller.
// - A location's first line is the innermost inlined function; addresses are artificial ones in one
//   address space (mapping_ranges.h), within their mapping.
// - A profile's id is a hash of its content, so the same profile has the same id again.
#include "exporters/otlp.h"

#include <xxhash.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <span>

#include "base/units.h"
#include "base/utf8.h"
#include "exporters/formats.h"
#include "exporters/otlp_dictionary.h"
#include "exporters/sample_labels.h"
#include "exporters/write_stacks.h"
#include "profile/profile.h"
#include "profile/rates.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using protozero::pbf_writer;
using Rows = std::span<const profile::WeightedStack>;

std::string id_of(const std::string& encoded) {
  const XXH128_hash_t hash = XXH3_128bits(encoded.data(), encoded.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

class OtlpWriter {
 public:
  OtlpWriter(const profile::View& view, const std::vector<ResourceAttribute>& resource,
             const SampleLabels& labels)
      : view_(view),
        profile_(*view.profile),
        resource_(resource),
        labels_(labels),
        dictionary_(profile_) {}

  std::string write(Rows rows) {
    std::string data;
    pbf_writer message(data);
    while (!rows.empty()) {
      const uint32_t process = process_of(rows.front());
      const auto behind = std::ranges::find_if(
          rows, [&](const profile::WeightedStack& row) { return process_of(row) != process; });
      const Rows own = rows.first(static_cast<size_t>(behind - rows.begin()));
      message.add_message(otlp_request::kResourceProfiles, resource_profiles(process, own));
      rows = rows.subspan(own.size());
    }
    dictionary_.write(&message);
    return data;
  }

 private:
  uint32_t process_of(const profile::WeightedStack& row) const {
    return profile_.threads[row.thread].process;
  }

  std::string resource_profiles(uint32_t process, Rows rows) {
    std::string scope_profiles;
    pbf_writer writer(scope_profiles);
    {
      pbf_writer scope(writer, otlp_scope_profiles::kScope);
      scope.add_string(otlp_scope::kName, "sampan");
      scope.add_string(otlp_scope::kVersion, profile_.session.sampan_version);
    }
    const std::string resource = resource_of(process);
    for (const bool waiting : {false, true}) {
      if (waiting && !view_.is_of_wall_time()) continue;
      writer.add_message(otlp_scope_profiles::kProfiles, profile_of(resource, rows, waiting));
    }
    std::string data;
    pbf_writer whole(data);
    whole.add_message(otlp_resource_profiles::kResource, resource);
    whole.add_message(otlp_resource_profiles::kScopeProfiles, scope_profiles);
    return data;
  }

  std::string resource_of(uint32_t index) const {
    const profile::Process& process = profile_.processes[index];
    std::string data;
    pbf_writer resource(data);
    const auto add = [&](std::string_view key, const std::string& value) {
      pbf_writer attribute(resource, otlp_resource::kAttributes);
      attribute.add_string(otlp_key_value::kKey, key.data(), key.size());
      attribute.add_message(otlp_key_value::kValue, value);
    };
    for (const auto& [key, value] : resource_) {
      if (!key.starts_with("process.")) add(valid_utf8(key), otlp_value(value));
    }
    add("process.pid", otlp_value(int64_t{process.pid}));
    add("process.executable.name", otlp_value(process.name));
    if (!process.path.empty()) add("process.executable.path", otlp_value(process.path));
    return data;
  }

  std::string profile_of(const std::string& resource, Rows rows, bool waiting) {
    const bool is_time = profile_.session.unit.empty();
    const profile::ValueType counted =
        is_time ? profile::ValueType{waiting ? "off_cpu" : "cpu", "nanoseconds"}
                : profile::counted_type(profile_.session);
    const int32_t type = dictionary_.text(counted.type), unit = dictionary_.text(counted.unit);
    const auto value_type = [&](pbf_writer& profile, uint32_t field) {
      pbf_writer writer(profile, field);
      writer.add_int32(otlp_value_type::kType, type);
      writer.add_int32(otlp_value_type::kUnit, unit);
    };
    std::string data;
    pbf_writer profile(data);
    value_type(profile, otlp_profile::kSampleType);
    for (const profile::WeightedStack& row : rows) {
      if (is_waiting(row.stack) == waiting) add_sample(row, &profile);
    }
    const SessionNs end_ns = view_.to_ns != UINT64_MAX ? view_.to_ns : profile_.duration_ns();
    const SessionNs from_ns = std::min(view_.from_ns, end_ns);
    profile.add_fixed64(otlp_profile::kTime, profile_.session.unix_time(from_ns));
    profile.add_uint64(otlp_profile::kDuration, end_ns - from_ns);
    const uint32_t rate_hz = profile::rate_range(profile_).last_hz;
    if (!waiting && rate_hz != 0 && is_time) {
      value_type(profile, otlp_profile::kPeriodType);
      profile.add_int64(otlp_profile::kPeriod, static_cast<int64_t>(kNsPerSecond / rate_hz));
    }
    profile.add_bytes(otlp_profile::kId, id_of(resource + data));
    return data;
  }

  void add_sample(const profile::WeightedStack& row, pbf_writer* profile) {
    const profile::Thread& thread = profile_.threads[row.thread];
    std::vector<int32_t> attributes = {
        dictionary_.attribute("thread.name", view_.thread_name(row.thread)),
        dictionary_.attribute("thread.id", int64_t{thread.tid})};
    const SampleLabel& label = labels_.labels[row.label];
    if (label.task != 0) {
      attributes.push_back(dictionary_.attribute("task.name", labels_.tasks[label.task]));
    }
    const int32_t link =
        label.context == kNone ? 0 : dictionary_.link(profile_.contexts[label.context]);
    const auto value = static_cast<int64_t>(profile::whole_units(profile_.session, row.weight.ns));
    const int32_t stack = dictionary_.stack(row.stack);
    pbf_writer sample(*profile, otlp_profile::kSamples);
    sample.add_int32(otlp_sample::kStack, stack);
    sample.add_packed_int32(otlp_sample::kAttributes, attributes.begin(), attributes.end());
    if (link != 0) sample.add_int32(otlp_sample::kLink, link);
    sample.add_packed_int64(otlp_sample::kValues, &value, &value + 1);
  }

  bool is_waiting(uint32_t stack) const {
    return stack != kNone && profile_.locations[profile_.stacks[stack].location].wait != kNone;
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  const std::vector<ResourceAttribute>& resource_;
  const SampleLabels& labels_;
  OtlpDictionary dictionary_;
};

}  // namespace

std::vector<ResourceAttribute> usual_resource(const profile::Profile& profile) {
  std::vector<ResourceAttribute> resource = {{"service.name", profile.session.program}};
  if (!profile.session.host.empty()) resource.push_back({"host.name", profile.session.host});
  return resource;
}

std::string otlp_message(const profile::View& view,
                         const std::vector<ResourceAttribute>& resource) {
  const SampleLabels labels = sample_labels(view);
  return OtlpWriter(view, resource, labels)
      .write(profile::by_thread_and_stack(view, labels.of_samples));
}

Outcome write_otlp(const profile::View& view, const std::string& path, uint64_t max_size) {
  const std::vector<ResourceAttribute> resource = usual_resource(*view.profile);
  const SampleLabels labels = sample_labels(view);
  return write_stacks(
      view, path, max_size,
      [&](const StackRows& rows, OutputFile& file) {
        file.write(OtlpWriter(view, resource, labels).write(rows));
      },
      labels.of_samples);
}

}  // namespace sampan::exporters
