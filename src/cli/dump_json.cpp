#include <fmt/core.h>

#include "cli/dump.h"
#include "profile/frames.h"
#include "reports/json_writer.h"

namespace sampan::cli {
namespace {

using reports::Json;

void write_frame(Json& json, const profile::Profile& profile, const profile::Frame& frame,
                 uint64_t avma) {
  const uint32_t module = profile.locations[frame.location].module;
  json.member("function", function_name(profile, frame.function));
  json.member("file", profile.strings[frame.file]);
  json.member("line", frame.line);
  json.member("inlined", frame.inlined);
  json.member("module", module != profile::kNone ? profile.modules[module].path : "");
  json.member("address", fmt::format("0x{:x}", avma));
}

void write_thread(Json& json, const Dump& dump, size_t index) {
  const attach::ThreadSnapshot& thread = dump.threads[index];
  const bool waits = !thread.wait.call.empty();
  json.member("tid", thread.tid);
  json.member("name", thread.name);
  json.member("state", std::string(1, thread.state));
  json.member("wait", waits ? std::optional(thread.wait.call) : std::nullopt);
  json.member("object", thread.wait.object);
  json.member("complete", thread.problem.empty() && thread.stop == wire::StopReason::kRoot);
  json.member("stop", thread.problem.empty() ? stop_reason_text(thread.stop) : thread.problem);
  json.key("stack");
  json.array_of([&] {
    for_each_frame_of(dump, index, [&](const profile::Frame& frame, uint64_t avma) {
      json.object([&] { write_frame(json, dump.profile, frame, avma); });
    });
  });
}

}  // namespace

std::string dump_as_json(const Dump& dump) {
  Json json;
  json.object([&] {
    json.member("pid", dump.pid);
    json.member("executable", dump.executable);
    json.member("command", dump.command);
    json.member("time", dump.time);
    json.member("stopped_ns", dump.stopped_ns);
    json.member("notes", dump.notes);
    json.key("threads");
    json.array(dump.threads, [&](const attach::ThreadSnapshot& thread) {
      const auto index = static_cast<size_t>(&thread - dump.threads.data());
      json.object([&] { write_thread(json, dump, index); });
    });
  });
  return json.text();
}

}  // namespace sampan::cli
