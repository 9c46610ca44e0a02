#include "remote/top/render.h"

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "remote/top/content.h"

namespace sampan::top {
namespace {

double fraction(uint64_t part_ns, uint64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

Content content_in(Look look, const History& history, Choices choices) {
  choices.look = look;
  return content_of(history, choices);
}

void write_threads(Json& json, const Content& content, const Status& status) {
  json.objects("threads", content.threads, [&](const ThreadRow& row) {
    json.member("tid", row.tid);
    json.member("name", row.name);
    json.member("state", std::string(1, static_cast<char>(row.state)));
    json.member("doing", row.doing);
    json.member("cpu_s", in_seconds(row.cpu_ns));
    if (status.waits_known) {
      json.member("waiting_s", in_seconds(row.waiting_ns));
      json.member("runnable_s", in_seconds(row.queued_ns));
    }
    json.member("samples", row.samples);
  });
}

void write_functions(Json& json, const Content& content) {
  json.objects("functions", content.functions, [&](const FunctionRow& row) {
    json.member("name", row.name);
    json.member("module", row.module);
    json.member("self_s", in_seconds(row.self.ns));
    json.member("total_s", in_seconds(row.total.ns));
    json.member("self_share", fraction(row.self.ns, content.total.ns));
    json.member("total_share", fraction(row.total.ns, content.total.ns));
    json.member("samples", row.total.samples);
    json.member("self_s_since_start", in_seconds(row.start_self.ns));
    json.member("total_s_since_start", in_seconds(row.start_total.ns));
  });
}

void write_tree(Json& json, const Content& content) {
  json.objects("tree", content.tree, [&](const TreeRow& row) {
    json.member("depth", row.depth);
    json.member("name", row.name);
    json.member("self_s", in_seconds(row.self.ns));
    json.member("total_s", in_seconds(row.total.ns));
    json.member("samples", row.total.samples);
    json.member("open", row.is_open);
  });
}

void write_lost(Json& json, const profile::Profile& profile) {
  json.key("lost");
  json.object([&] {
    for (const profile::Lost& lost : profile::losses(profile)) json.member(lost.key, lost.count);
  });
}

}  // namespace

std::string json(const History& history, const Choices& choices, const Status& status) {
  const profile::Profile& profile = history.profile();
  const Content threads = content_in(Look::kThreads, history, choices);
  Json json;
  json.object([&] {
    json.member("target", status.target);
    json.member("start_time", iso_8601(profile.session.start_unix_ns));
    json.member("rate_hz", status.rate_hz);
    json.member("clock", profile.session.clock);
    json.member("duration_s", in_seconds(threads.span_ns));
    json.member("cpu_s", in_seconds(threads.cpu_ns));
    json.member("samples", status.samples);
    write_lost(json, profile);
    write_threads(json, threads, status);
    write_functions(json, content_in(Look::kFunctions, history, choices));
    write_tree(json, content_in(Look::kTree, history, choices));
  });
  return json.text();
}

}  // namespace sampan::top
