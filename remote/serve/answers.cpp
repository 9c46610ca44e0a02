#include "remote/serve/answers.h"

#include <algorithm>
#include <utility>

#include "base/temporary_directory.h"
#include "base/text/json_writer.h"
#include "exporters/exporter.h"
#include "exporters/page_data.h"
#include "profile/load.h"
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
  NamedView(recording::Recording recording, const Window& window, symbolizer::Options naming)
      : profile_(profile::load(std::move(recording))) {
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

http::Response Answers::exported(const Window& window, const std::string& format,
                                 const std::string& type) {
  const NamedView named(read(window), window, naming_);
  const exporters::Format& writer = exporters::format(format);
  const TemporaryDirectory directory("sampan-serve-");
  const std::string path = directory.file("file");
  const exporters::Outcome outcome = writer.write(named.view(), path, writer.max_size);
  http::Response response = http::answer_with_file(type, path);
  add_notes(outcome.notes, response);
  return response;
}

http::Response Answers::page(const Window& window) {
  const NamedView named(read(window), window, naming_);
  const TemporaryDirectory directory("sampan-serve-");
  const std::string path = directory.file("page");
  const uint64_t max_size = source_.is_live() ? kLivePageBytes : exporters::format("html").max_size;
  exporters::write_page(named.view(), path, max_size, {.is_live = source_.is_live()});
  http::Response response = http::answer_with_file("text/html; charset=utf-8", path);
  add_page_headers(response);
  return response;
}

http::Response Answers::page_data(const Window& window) {
  const NamedView named(read(window), window, naming_);
  const exporters::PageData data = exporters::page_data(named.view(), kLivePageBytes);
  Json json;
  json.object([&] {
    json.member("header", data.header);
    json.member("columns", data.columns);
  });
  return http::answer(kJson, json.text());
}

http::Response Answers::pprof(const Window& window) {
  http::Response response = exported(window, "pprof", kBinary);
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"profile.pb.gz\"");
  return response;
}

http::Response Answers::trace(const Window& window) {
  return exported(window, "trace", kJson);
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
  const NamedView named(read(window), window, naming_);
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
