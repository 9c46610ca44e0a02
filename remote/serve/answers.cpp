#include "serve/answers.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "exporters/exporter.h"
#include "exporters/html_page.h"
#include "exporters/page_data.h"
#include "recording/merge.h"
#include "reports/json_writer.h"
#include "reports/report.h"
#include "serve/gperftools.h"
#include "serve/temporary_directory.h"

namespace sampan::serve {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kBinary = "application/octet-stream";
// As a page that is asked for again and again can carry.
constexpr uint64_t kLivePageBytes = 5'000'000;

// A profile with names, and what of it is looked at.
class Seen {
 public:
  Seen(recording::Recording recording, const Window& window, symbolizer::Options naming)
      : profile_(profile::load(std::move(recording))) {
    naming.only_unnamed = true;
    symbolizer::symbolize(profile_, naming);
    view_ = profile::select(profile_);
    view_.from_ns = window.from_ns;
    view_.to_ns = window.to_ns;
  }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  const profile::View& view() const { return view_; }

 private:
  profile::Profile profile_;
  profile::View view_;
};

// What the page may do: show itself, and ask its server for more.
void add_page_headers(http::Response& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

// What was merged or left out to fit; a header has no newlines.
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
  const Seen seen(read(window), window, naming_);
  const exporters::Format& writer = exporters::format(format);
  const TemporaryDirectory directory;
  const std::string path = directory.file("file");
  const exporters::Outcome outcome = writer.write(seen.view(), path, writer.max_size);
  http::Response response = http::answer_with_file(type, path);
  add_notes(outcome.notes, response);
  return response;
}

http::Response Answers::page(const Window& window) {
  const Seen seen(read(window), window, naming_);
  const TemporaryDirectory directory;
  const std::string path = directory.file("page");
  const uint64_t max_size = source_.is_live() ? kLivePageBytes : exporters::format("html").max_size;
  exporters::write_page(seen.view(), path, max_size, {.is_live = source_.is_live()});
  http::Response response = http::answer_with_file("text/html; charset=utf-8", path);
  add_page_headers(response);
  return response;
}

http::Response Answers::page_data(const Window& window) {
  const Seen seen(read(window), window, naming_);
  const exporters::PageData data = exporters::page_data(seen.view(), kLivePageBytes);
  reports::Json json;
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
  const TemporaryDirectory directory;
  const std::string path = directory.file("recording.sampan");
  recording::write(recording, path);
  http::Response response = http::answer_with_file(kBinary, path);
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"recording.sampan\"");
  return response;
}

http::Response Answers::report(const Window& window) {
  const Seen seen(read(window), window, naming_);
  return http::answer(kJson, reports::json(seen.view()));
}

http::Response Answers::dump(const Window&) {
  return http::answer(kJson, dump_());
}

http::Response Answers::metrics(const Window&) {
  return http::answer("text/plain; version=0.0.4; charset=utf-8", metrics_.look(source_));
}

std::vector<std::string> Answers::command() {
  const uint64_t now_ns = source_.now_ns();
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
