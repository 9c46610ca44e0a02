#include "remote/serve/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/temporary_directory.h"
#include "base/text/json_writer.h"
#include "base/units.h"
#include "exporters/exporter.h"
#include "exporters/page_data.h"
#include "profile/heap.h"
#include "profile/load.h"
#include "profile/locks.h"
#include "recording/complete_file.h"
#include "recording/merge.h"
#include "remote/serve/gperftools.h"
#include "reports/report.h"

namespace sampan::serve {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kBinary = "application/octet-stream";
// Small enough for a page that is requested again and again.
constexpr uint64_t kLivePageBytes = 5'000'000;

// A profile with names, and the view of the window.
class NamedView {
 public:
  NamedView(profile::Profile profile, const Window& window, symbolizer::Options naming)
      : profile_(std::move(profile)) {
    naming.only_unnamed = true;
    symbolizer::symbolize(profile_, naming);
    view_ = profile::select(profile_);
    view_.from_ns = window.from_ns;
    view_.to_ns = window.to_ns;
  }
  NamedView(const NamedView&) = delete;
  NamedView& operator=(const NamedView&) = delete;

  const profile::View& view() const { return view_; }

 private:
  profile::Profile profile_;
  profile::View view_;
};

// Makes the profile one of something else than samples. Returns the refusal if that was not recorded.
std::optional<http::Response> refuse_unless_shown(const std::function<void()>& show) {
  try {
    show();
  } catch (const Error& error) {
    return http::sentence(400, error.what());
  }
  return std::nullopt;
}

// The page may show itself and request data from its server, nothing else.
void add_page_headers(http::Response& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

// Notes on what was merged or left out to keep the size; header values have no newlines.
void add_notes(const std::vector<std::string>& notes, http::Response& response) {
  for (std::string note : notes) {
    std::ranges::replace_if(
        note, [](char c) { return c < ' ' || c > '~'; }, '?');
    response.headers.emplace_back("Sampan-Note", note);
  }
}

http::Response exported(const profile::View& view, const std::string& format,
                        const std::string& type) {
  const exporters::Format& writer = exporters::format(format);
  const TemporaryDirectory directory("sampan-serve-");
  const std::string path = directory.file("file");
  const exporters::Outcome outcome = writer.write(view, path, writer.max_size);
  http::Response response = http::answer_with_file(type, path);
  add_notes(outcome.notes, response);
  return response;
}

http::Response pprof_of(const profile::View& view) {
  http::Response response = exported(view, "pprof", kBinary);
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"profile.pb.gz\"");
  return response;
}

}  // namespace

Answers::Answers(Source& source, const symbolizer::Options& names,
                 std::function<std::string()> dump)
    : source_(source), naming_(names), dump_(std::move(dump)), names_(names) {}

void Answers::learn_names(const Window& window) {
  names_.learn(source_.read(window.from_ns, window.to_ns));
}

recording::Recording Answers::read(const Window& window) {
  recording::Recording recording = source_.read(window.from_ns, window.to_ns);
  names_.learn(recording);
  names_.enter(&recording);
  return recording;
}

profile::Profile Answers::read_profile(const Window& window) {
  return profile::load(read(window));
}

http::Response Answers::page(const Window& window) {
  const NamedView named(read_profile(window), window, naming_);
  const TemporaryDirectory directory("sampan-serve-");
  const std::string path = directory.file("page");
  const uint64_t max_size = source_.is_live() ? kLivePageBytes : exporters::format("html").max_size;
  exporters::write_page(named.view(), path, max_size, {.is_live = source_.is_live()});
  http::Response response = http::answer_with_file("text/html; charset=utf-8", path);
  add_page_headers(response);
  return response;
}

http::Response Answers::page_data(const Window& window) {
  const NamedView named(read_profile(window), window, naming_);
  const exporters::PageData data = exporters::page_data(named.view(), kLivePageBytes);
  Json json;
  json.object([&] {
    json.member("header", data.header);
    json.member("columns", data.columns);
  });
  return http::answer(kJson, json.text());
}

http::Response Answers::pprof(const Window& window) {
  return pprof_of(NamedView(read_profile(window), window, naming_).view());
}

http::Response Answers::heap(const Window& window, profile::HeapPart part) {
  profile::Profile profile = read_profile(window);
  if (const auto refusal = refuse_unless_shown([&] { show_heap(&profile); })) return *refusal;
  const NamedView named(std::move(profile), window, naming_);
  return pprof_of(profile::heap_part(named.view(), part));
}

http::Response Answers::live_heap(const Window& window) {
  return heap(window, profile::HeapPart::kLive);
}

http::Response Answers::allocations(const Window& window) {
  return heap(window, profile::HeapPart::kAllocated);
}

http::Response Answers::waiters(const Window& window) {
  profile::Profile profile = read_profile(window);
  if (const auto refusal = refuse_unless_shown([&] { show_locks(&profile); })) return *refusal;
  return pprof_of(NamedView(std::move(profile), window, naming_).view());
}

http::Response Answers::holders(const Window& window) {
  profile::Profile profile = read_profile(window);
  const auto refusal =
      refuse_unless_shown([&] { show_locks(&profile, profile::LockSide::kHolders); });
  if (refusal) return *refusal;
  const NamedView named(std::move(profile), window, naming_);
  const profile::View known = profile::with_known_holders(named.view());
  http::Response response = pprof_of(known);
  const double unknown_ns =
      profile::lock_total(named.view()).waited_ns - profile::lock_total(known).waited_ns;
  if (unknown_ns > 0) {
    add_notes(
        {fmt::format("{:.3f} s of waits are left out: nobody holds a condition, a semaphore or "
                     "a barrier, or the holder is not known",
                     unknown_ns / kNsPerSecond)},
        response);
  }
  return response;
}

http::Response Answers::trace(const Window& window) {
  return exported(NamedView(read_profile(window), window, naming_).view(), "trace", kJson);
}

http::Response Answers::recording(const Window& window) {
  const recording::Recording recording = read(window);
  const TemporaryDirectory directory("sampan-serve-");
  const std::string path = directory.file("recording.sampan");
  recording::write(recording, path);
  http::Response response = http::answer_with_file(kBinary, path);
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"recording.sampan\"");
  return response;
}

http::Response Answers::report(const Window& window) {
  const NamedView named(read_profile(window), window, naming_);
  return http::answer(kJson, reports::json(named.view()));
}

http::Response Answers::dump(const Window&) {
  return http::answer(kJson, dump_());
}

http::Response Answers::metrics(const Window&) {
  return http::answer("text/plain; version=0.0.4; charset=utf-8", metrics_.collect(source_));
}

std::vector<std::string> Answers::command() {
  const SessionNs now_ns = source_.now_ns();
  return source_.read(now_ns, now_ns).session.command;
}

http::Response Answers::command_line(const Window&) {
  std::string text;
  for (const std::string& word : command())
    text += (text.empty() ? "" : std::string(1, '\0')) + word;
  return http::answer(kText, text);
}

http::Response Answers::command_lines(const Window&) {
  std::string text;
  for (const std::string& word : command()) text += word + "\n";
  return http::answer(kText, text);
}

http::Response Answers::gperftools_profile(const Window& window) {
  return http::answer(kBinary, serve::gperftools_profile(read(window), names_));
}

http::Response Answers::symbols(const std::string& addresses) {
  return http::answer(kText, gperftools_symbols(addresses, names_));
}

}  // namespace sampan::serve
