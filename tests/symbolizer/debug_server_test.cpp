// debuginfod, with servers of the test's own on the loopback: one with files, and some that
// misbehave.
#include "symbolizer/debug_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "support.h"
#include "target.h"

namespace sampan::symbolizer::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Answers each request with answer(path); "": no answer at all.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& path)>;

  explicit Server(Answer answer) : answer_(std::move(answer)) {
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
    listen(listening_, 8);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Server() {
    thread_.request_stop();
    thread_.join();
    close(listening_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& url() const { return url_; }
  size_t requests() const { return requests_; }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{listening_, POLLIN, 0};
      if (poll(&waiting, 1, 20) != 1) continue;
      const int client = accept(listening_, nullptr, nullptr);
      std::string request;
      char buffer[4096];
      for (ssize_t count; request.find("\r\n\r\n") == request.npos &&
                          (count = read(client, buffer, sizeof buffer)) > 0;) {
        request.append(buffer, static_cast<size_t>(count));
      }
      ++requests_;
      const size_t begin = request.find(' ') + 1;
      const std::string answer = answer_(request.substr(begin, request.find(' ', begin) - begin));
      if (answer.empty()) {
        while (!stop.stop_requested()) std::this_thread::sleep_for(10ms);
      }
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t count =
            send(client, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<size_t>(count);
      }
      close(client);
    }
  }

  Answer answer_;
  int listening_ = -1;
  std::string url_;
  std::atomic<size_t> requests_ = 0;
  std::jthread thread_;
};

std::string not_there(const std::string&) {
  return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

class Debuginfod : public testing::Test {
 protected:
  Debuginfod() {
    run("objcopy --only-keep-debug " + target_path() + " " + debug_);
    run("objcopy --strip-all " + target_path() + " " + stripped_);
    setenv("DEBUGINFOD_CACHE_PATH", (directory_ / "cache").c_str(), 1);
    setenv("DEBUGINFOD_TIMEOUT", "30", 1);  // a machine may stand still for a second
    unsetenv("DEBUGINFOD_URLS");
  }
  ~Debuginfod() override { unsetenv("DEBUGINFOD_URLS"); }

  // Names the target's function, whose line only its debug file has.
  Report symbolize_with(const std::string& urls, size_t modules = 1) {
    if (!urls.empty()) setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
    Options options;
    options.debug_directories = {};
    options.debug_server = DebugServer::of_environment();
    profile_ = profile_of(stripped_, {svma_});
    for (uint32_t i = 1; i < modules; ++i) {
      profile_.modules.push_back(
          {"/nowhere/lib.so", {static_cast<uint8_t>(i), 2, 3, 4, 5, 6, 7, 8}, 0, 0});
      profile_.locations.push_back({i, 0x10, 0, 0});
    }
    return symbolize(profile_, options);
  }
  bool is_named() const { return lines_of(profile_, 0).back().line != 0; }

  TemporaryDirectory directory_;
  std::string stripped_ = directory_ / "target.so";
  std::string debug_ = directory_ / "target.debug";
  uint64_t svma_ = target_svma(target::inlined_call().return_avma) - 1;
  profile::Profile profile_;
};

TEST_F(Debuginfod, IsUsedOnlyIfConfigured) {
  EXPECT_EQ(DebugServer::of_environment(), nullptr);
  const Server server(not_there);
  symbolize_with("");
  EXPECT_EQ(server.requests(), 0u);
}

TEST_F(Debuginfod, ProvidesDebugFilesByBuildId) {
  std::ifstream file(debug_, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  std::string asked;
  Server server([&](const std::string& path) {
    asked = path;
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(content.size()) +
           "\r\nConnection: close\r\n\r\n" + content;
  });
  const Report report = symbolize_with(server.url());
  EXPECT_TRUE(report.problems.empty());
  EXPECT_TRUE(is_named());
  EXPECT_EQ(lines_of(profile_, 0).size(), 3u);  // with inlined functions
  std::string id;
  for (const uint8_t byte : build_id_of(target_path())) id += fmt::format("{:02x}", byte);
  EXPECT_EQ(asked, "/buildid/" + id + "/debuginfo");
  // The second time the file is in debuginfod's own cache.
  const size_t requests = server.requests();
  symbolize_with(server.url());
  EXPECT_TRUE(is_named());
  EXPECT_EQ(server.requests(), requests);
}

TEST_F(Debuginfod, MayHaveNoFile) {
  const Server server(not_there);
  const Report report = symbolize_with(server.url(), 4);
  EXPECT_EQ(report.problems, (std::vector<std::string>{"/nowhere/lib.so: file not found",
                                                       "/nowhere/lib.so: file not found",
                                                       "/nowhere/lib.so: file not found"}));
  EXPECT_GE(server.requests(), 4u);
}

TEST_F(Debuginfod, WithTheWrongFileIsNotTrusted) {
  Server server([](const std::string&) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
  });
  symbolize_with(server.url());
  EXPECT_FALSE(is_named());
}

// A timeout of one second, which debuginfod checks once a second: forty modules together take no
// longer. One by one they would take forty seconds.
TEST_F(Debuginfod, ThatIsSilentCostsItsTimeoutOnce) {
  setenv("DEBUGINFOD_TIMEOUT", "1", 1);
  const Server server([](const std::string&) { return ""; });
  const auto begun = Clock::now();
  const Report report = symbolize_with(server.url(), 40);
  EXPECT_LT(Clock::now() - begun, 20s);
  EXPECT_EQ(server.requests(), 1u);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("did not answer within"), std::string::npos)
      << report.problems[0];
  EXPECT_NE(report.problems[0].find("40 debug files"), std::string::npos) << report.problems[0];
}

TEST_F(Debuginfod, ThatIsDownIsAskedOnce) {
  std::string url;
  {
    const Server server(not_there);
    url = server.url();
  }
  const Report report = symbolize_with(url, 40);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_TRUE(report.problems[0].starts_with("debuginfod at " + url)) << report.problems[0];
  EXPECT_NE(report.problems[0].find("40 debug files"), std::string::npos) << report.problems[0];
}

}  // namespace
}  // namespace sampan::symbolizer::test
