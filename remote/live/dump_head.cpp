#include "remote/live/dump_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/proc_task.h"

namespace sampan::live {

DumpHead dump_head(pid_t pid) {
  if (const std::string why = sampler::why_not_profilable(pid); !why.empty()) {
    throw Error("{}", why);
  }
  return {pid, sampler::program_of(pid), sampler::command_line_of(pid), iso_8601(unix_now_ns())};
}

std::string head_as_text(const DumpHead& head, const std::string& summary) {
  return fmt::format("process {}: {}\n{}, {}\n", head.pid,
                     printable(fmt::format("{}", fmt::join(head.command, " "))), summary,
                     head.time);
}

void write_head(Json& json, const DumpHead& head, uint64_t stopped_ns,
                const std::vector<std::string>& notes) {
  json.member("pid", head.pid);
  json.member("executable", head.executable);
  json.member("command", head.command);
  json.member("time", head.time);
  json.member("stopped_s", in_seconds(stopped_ns));
  json.member("notes", notes);
}

}  // namespace sampan::live
