// The client, with the server of the same folder.
#include "remote/http/client.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "remote/http/server.h"

namespace sampan::http {
namespace {

// Answers with parts of the request: the method, the path, the token.
class Echo : public testing::Test {
 protected:
  Listener listener{"127.0.0.1", 0};
  Server server{
      listener,
      {},
      [](const Request&) { return std::nullopt; },
      [](const Request& request, Reply reply) {
        if (request.path == "/large") {
          return reply.send(answer("text/plain", std::string(100'000, 'x')));
        }
        if (request.path == "/busy") {
          Response busy = sentence(503, "later");
          busy.headers.emplace_back("Retry-After", "7");
          return reply.send(std::move(busy));
        }
        if (request.path == "/never") return never.push_back(std::move(reply));
        const std::string token(request.header("authorization"));
        reply.send(answer("text/plain", request.method + " " + request.path + " " + token));
      }};
  std::string url(const std::string& path) { return "http://" + listener.authority() + path; }
  void TearDown() override { never.clear(); }
  static std::vector<Reply> never;
};
std::vector<Reply> Echo::never;

std::string why(const Call& call) {
  try {
    fetch(call);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(Echo, ReturnsStatusAndBody) {
  const Answer answer = fetch({.url = url("/a/b?c=1"), .bearer_token = "secret"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a/b Bearer secret");
}

TEST_F(Echo, LimitsTheSizeOfAnswers) {
  EXPECT_EQ(fetch({.url = url("/large"), .most_bytes = 100'000}).body.size(), 100'000u);
  EXPECT_NE(
      why({.url = url("/large?x"), .most_bytes = 99'999}).find("/large: the answer is larger"),
      std::string::npos);
}

TEST_F(Echo, TimesOut) {
  EXPECT_NE(why({.url = url("/never"), .whole_ms = 200}), "");
}

TEST_F(Echo, CanBeStopped) {
  int asked = 0;
  EXPECT_NE(why({.url = url("/never"), .stopped = [&] { return ++asked > 1; }}), "");
  EXPECT_EQ(asked, 2);
}

TEST_F(Echo, ReturnsRetryAfter) {
  EXPECT_EQ(fetch({.url = url("/busy")}).retry_after_s, 7u);
  EXPECT_EQ(fetch({.url = url("/")}).retry_after_s, 0u);
}

TEST_F(Echo, SendsTheUserAndHidesItInMessages) {
  const std::string with_user = "http://me:word@" + listener.authority();
  EXPECT_EQ(fetch({.url = with_user + "/a"}).body, "GET /a Basic bWU6d29yZA==");
  EXPECT_EQ(why({.url = with_user + "/large", .most_bytes = 1}),
            url("/large") + ": the answer is larger than 1 bytes");
}

TEST(PrintableUrl, HasNoSecrets) {
  EXPECT_EQ(printable_url("https://host/a@b?token=x"), "https://host/a@b");
  EXPECT_EQ(printable_url("https://me:a@b@host:1/p#x"), "https://host:1/p");
  EXPECT_EQ(printable_url("https://me@host"), "https://host");
  EXPECT_EQ(printable_url("host"), "host");
}

TEST(Client, NamesTheServerThatIsDown) {
  EXPECT_TRUE(why({.url = "http://127.0.0.1:1/x?token=y"}).starts_with("http://127.0.0.1:1/x: "));
  EXPECT_NE(why({.url = "file:///etc/passwd"}), "");
}

}  // namespace
}  // namespace sampan::http
