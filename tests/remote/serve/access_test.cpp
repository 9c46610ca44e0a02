#include "remote/serve/request.h"

#include <gtest/gtest.h>

namespace sampan::serve {
namespace {

http::Request request(std::map<std::string, std::string, std::less<>> headers = {}) {
  return {.method = "GET", .path = "/", .query = {}, .headers = std::move(headers), .body = ""};
}

unsigned status(const Access& access, const http::Request& request) {
  const auto refused = access.refuse(request);
  return refused ? refused->status : 200;
}

TEST(Access, WithoutATokenNeedsLoopbackNames) {
  const Access access("");
  EXPECT_EQ(status(access, request()), 200u);
  EXPECT_EQ(status(access, request({{"host", "localhost"}})), 200u);
  EXPECT_EQ(status(access, request({{"host", "evil.example:80"}})), 403u);
}

TEST(Access, RecognizesLoopbackNames) {
  for (const char* const name :
       {"localhost", "LocalHost:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8"}) {
    EXPECT_TRUE(is_loopback_name(name)) << name;
  }
  for (const char* const name :
       {"", "localhost.example", "127.example", "127.0.0.1.example", "1.127.0.0",
        "[::1].example:8]", "[::2]", "128.0.0.1", ":80", "127.0.0.1:80, evil.example",
        "127.0.0.1:evil", "localhost:80:80"}) {
    EXPECT_FALSE(is_loopback_name(name)) << name;
  }
}

TEST(Access, AcceptsTheTokenInHeaderOrQuery) {
  const Access access("secret");
  EXPECT_EQ(status(access, request()), 401u);
  EXPECT_EQ(status(access, request({{"authorization", "Bearer secret"}})), 200u);
  EXPECT_EQ(status(access, request({{"authorization", "bearer   secret"}})), 200u);
  for (const char* const wrong : {"Bearer", "Bearer ", "Bearer Secret", "Bearer secrets",
                                  "Bearer secre", "Basic secret", "secret", "Bearersecret"}) {
    EXPECT_EQ(status(access, request({{"authorization", wrong}})), 401u) << wrong;
  }
  http::Request by_query = request();
  by_query.query["token"] = "secret";
  EXPECT_EQ(status(access, by_query), 200u);
  by_query.query["token"] = "";
  EXPECT_EQ(status(access, by_query), 401u);
}

TEST(Access, AllowsPostForSymbolsOnly) {
  const Access access("");
  http::Request post = request();
  post.method = "POST";
  EXPECT_EQ(status(access, post), 405u);
  post.path = "/pprof/symbol";
  EXPECT_EQ(status(access, post), 200u);
  post.method = "PUT";
  EXPECT_EQ(status(access, post), 405u);
}

TEST(Access, WithoutTheTokenRevealsNothing) {
  http::Request post = request();
  post.method = "DELETE";
  EXPECT_EQ(status(Access("secret"), post), 401u);
}

}  // namespace
}  // namespace sampan::serve
