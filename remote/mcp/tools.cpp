#include "remote/mcp/tools.h"

#include <algorithm>
#include <iterator>

namespace sampan::mcp {
namespace {

constexpr Parameter kRecordingParameter = {"recording", Kind::kRecording, false, "",
                                           "The recording's directory, as `list` shows it; -1 (the "
                                           "default) is the latest, -2 the one before"};
constexpr Parameter kThread = {"thread", Kind::kText, false, "--thread",
                               "Only threads with this name or tid"};
constexpr Parameter kFrom = {"from", Kind::kTime, false, "--from",
                             "Only what happened later, in seconds after the start"};
constexpr Parameter kTo = {"to", Kind::kTime, false, "--to",
                           "Only what happened earlier, in seconds after the start"};
constexpr Parameter kState = {
    "state",
    Kind::kChoice,
    false,
    "--state",
    "Only samples on CPU, or only waiting ones (of a recording with clock wall)",
    "cpu|waiting|all"};
constexpr Parameter kRate = {"rate", Kind::kCount, false, "--rate",
                             "Samples per second of CPU of each thread; default 250"};
constexpr Parameter kClock = {
    "clock",
    Kind::kChoice,
    false,
    "--clock",
    "cpu: sample threads on CPU (the default); wall: also while they wait",
    "cpu|wall"};
constexpr Parameter kPidParameter = {"pid", Kind::kPid, true, "", "The process"};

constexpr Parameter kRecord[] = {
    {"command", Kind::kProgram, true, "",
     "The program and its arguments, one word each; no shell reads them"},
    {"seconds", Kind::kTime, false, "",
     "End the program (SIGTERM) after so long; default: it ends by itself, or after an hour"},
    kRate,
    kClock};
constexpr Parameter kAttach[] = {kPidParameter,
                                 {"seconds", Kind::kTime, true, "--duration", "How long to sample"},
                                 kRate,
                                 kClock};
constexpr Parameter kSummary[] = {kRecordingParameter, kThread, kFrom, kTo};
constexpr Parameter kHot[] = {
    kRecordingParameter,
    {"by", Kind::kChoice, false, "--by", "What the rows stand for; default function",
     "function|line|file|module|thread|process"},
    {"sort", Kind::kChoice, false, "--sort",
     "self: time in the function itself (the default); total: also in what it calls",
     "self|total|samples"},
    {"limit", Kind::kCount, false, "--top", "Number of rows; default 20"},
    kState,
    kThread,
    kFrom,
    kTo};
constexpr Parameter kCallers[] = {
    {"function", Kind::kText, true, "--callers", "A function's name, or a part of it"},
    kRecordingParameter,
    kState,
    kThread,
    kFrom,
    kTo};
constexpr Parameter kCallees[] = {
    {"function", Kind::kText, true, "--callees", "A function's name, or a part of it"},
    kRecordingParameter,
    kState,
    kThread,
    kFrom,
    kTo};
constexpr Parameter kTree[] = {kRecordingParameter, kState, kThread, kFrom, kTo};
constexpr Parameter kLines[] = {
    {"function", Kind::kName, true, "", "A function's name, or a part of it"},
    kRecordingParameter,
    {"instructions", Kind::kFlag, false, "--asm", "Show instructions instead of source lines"},
    kThread,
    kFrom,
    kTo};
constexpr Parameter kDiff[] = {
    {"before", Kind::kRecording, false, "", "A recording; default -2, the one before the latest"},
    {"after", Kind::kRecording, false, "", "The recording to compare with; default -1, the latest"},
    {"of", Kind::kChoice, false, "--of",
     "Compare functions without (self, the default) or with (total) their callees", "self|total"}};
constexpr Parameter kSpans[] = {kRecordingParameter,
                                {"explain", Kind::kText, false, "--explain",
                                 "The name of a span: what its slowest 1 % do differently"},
                                kThread,
                                kFrom,
                                kTo};
constexpr Parameter kWaits[] = {kRecordingParameter, kThread, kFrom, kTo};
constexpr Parameter kThreads[] = {kRecordingParameter, kFrom, kTo};
constexpr Parameter kDump[] = {
    kPidParameter,
    {"tasks", Kind::kFlag, false, "--tasks", "Show the tasks of asyncio instead of the threads"}};
constexpr Parameter kDoctor[] = {kRecordingParameter};
constexpr Parameter kQuery[] = {kRecordingParameter,
                                {"sql", Kind::kName, true, "",
                                 "One SELECT of SQLite, such as: SELECT state, sum(weight_ns)/1e9 "
                                 "FROM samples GROUP BY state"}};

constexpr Tool kTools[] = {
    {"record",
     "Run a program and record where its threads spend their time. Returns what the program "
     "printed, and a report "
     "with the recording's path. Ask `summary` next.",
     "run --format none", kRecord, true},
    {"attach",
     "Record a running process for some seconds, without stopping it. Ask `summary` next.",
     "attach --format none", kAttach, true},
    {"list", "List the recordings, the latest first.", "list", {}},
    {"summary",
     "The essence of a recording: how good the samples are, the hottest functions with the "
     "interval that the "
     "true share is in, threads, waits, and what to ask next. Begin here.",
     "report --summary", kSummary},
    {"hot_functions", "The functions (or lines, files, modules) that use most time.", "report",
     kHot},
    {"callers", "Who calls a function, as a tree upwards, with the time of each branch.", "report",
     kCallers},
    {"callees", "What a function calls, as a tree downwards, with the time of each branch.",
     "report", kCallees},
    {"call_tree",
     "The whole call tree from the threads' first functions; small branches are left out.",
     "report --tree", kTree},
    {"lines",
     "The source lines of a function with the time of each. Sources outside of the server's "
     "directory are not shown.",
     "annotate --sources-below .", kLines},
    {"diff", "What changed between two recordings, beyond the noise of sampling.", "diff", kDiff},
    {"spans",
     "How long the intervals took that the program marks, such as requests: count, percentiles, "
     "CPU, waiting.",
     "spans --cpu", kSpans},
    {"waits", "What threads wait for, and where. The recording must have clock wall.",
     "report --state waiting --tree", kWaits},
    {"threads", "The time of each thread, also of those that only wait.",
     "report --by thread --idle", kThreads},
    {"query",
     "SQL over the samples, threads, functions, spans and counters, for what no other tool "
     "answers. Ask `schema` first. The answer is comma-separated values.",
     "query --csv", kQuery, false, 60},
    {"schema", "The tables and columns of `query`.", "query --schema", {}},
    {"dump", "What every thread of a process does or waits for at this moment, with its stack.",
     "dump", kDump, true},
    {"doctor", "What a recording lacks: names, lines, samples, and what to do about it.", "doctor",
     kDoctor},
};

std::string_view type_of(Kind kind) {
  switch (kind) {
    case Kind::kCount:
    case Kind::kPid: return "integer";
    case Kind::kTime: return "number";
    case Kind::kFlag: return "boolean";
    case Kind::kProgram: return "array";
    case Kind::kText:
    case Kind::kName:
    case Kind::kChoice:
    case Kind::kRecording: break;
  }
  return "string";
}

void describe_parameter(const Parameter& parameter, Json& json) {
  json.key(parameter.name);
  json.object([&] {
    json.member("type", type_of(parameter.kind));
    json.member("description", parameter.about);
    if (parameter.kind == Kind::kProgram) {
      json.key("items");
      json.object([&] { json.member("type", "string"); });
    }
    if (parameter.choices.empty()) return;
    json.key("enum");
    json.array_of([&] {
      for (std::string_view rest = parameter.choices; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find('|'));
        json.value(word);
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      }
    });
  });
}

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

const Tool* find_tool(std::string_view name) {
  const auto* const found = std::ranges::find(kTools, name, &Tool::name);
  return found == std::end(kTools) ? nullptr : found;
}

void describe(const Tool& tool, Json& json) {
  json.member("name", tool.name);
  json.member("description", tool.about);
  json.key("inputSchema");
  json.object([&] {
    json.member("type", "object");
    json.key("properties");
    json.object([&] {
      for (const Parameter& parameter : tool.parameters) describe_parameter(parameter, json);
    });
    json.key("required");
    json.array_of([&] {
      for (const Parameter& parameter : tool.parameters) {
        if (parameter.is_required) json.value(parameter.name);
      }
    });
    json.member("additionalProperties", false);
  });
  json.key("annotations");
  json.object([&] { json.member("readOnlyHint", tool.command != "run --format none"); });
}

}  // namespace sampan::mcp
