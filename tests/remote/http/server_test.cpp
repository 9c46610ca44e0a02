// The server over real sockets: when answers are sent, and how it treats clients that misbehave.
#include "remote/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace sampan::http {
namespace {

class Client {
 public:
  explicit Client(const Listener& listener)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::string& authority = listener.authority();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoul(authority.substr(authority.rfind(':') + 1))));
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  void say(std::string_view text) {
    EXPECT_EQ(send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Reads up to the end of the connection.
  std::string hear() {
    std::string text;
    char bytes[65536];
    for (ssize_t size; (size = recv(socket_.get(), bytes, sizeof bytes, 0)) > 0;) {
      text.append(bytes, static_cast<size_t>(size));
    }
    return text;
  }
  std::string ask(std::string_view head) {
    say(std::string(head) + "\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return hear();
  }

 private:
  FileDescriptor socket_;
};

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

std::optional<Response> allow(const Request&) {
  return std::nullopt;
}

// Keeps replies until the test asks for them.
class Kept {
 public:
  Handler handler() {
    return [this](const Request&, Reply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      changed_.notify_all();
    };
  }
  std::vector<Reply> take(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return replies_.size() >= count; });
    return std::move(replies_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Reply> replies_;
};

TEST(Server, PassesTheRequestToTheHandler) {
  const Listener listener("127.0.0.1", 0);
  Request seen;
  const Server server(listener, {}, allow, [&](Request request, Reply reply) {
    seen = std::move(request);
    reply.send(sentence(200, "yes"));
  });
  const std::string answer = Client(listener).ask(
      "POST /a%20b?x=1%2b1&y&x=2 HTTP/1.1\r\nX-Word: Value\r\nContent-Length: 0");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_EQ(body_of(answer), "yes\n");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.parameter("x"), "1+1");
  EXPECT_EQ(seen.parameter("y"), "");
  EXPECT_EQ(seen.parameter("z"), std::nullopt);
  EXPECT_EQ(seen.header("x-word"), "Value");
}

// In libmicrohttpd 1.0.1 they end the program where they have no header fields and the head is followed by so much that little
// room is left.
TEST(Server, SurvivesParametersWithoutValues) {
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow, [](const Request& request, Reply reply) {
    reply.send(sentence(200, std::string(request.parameter("x").value_or("none")) +
                                 (request.parameter("y") ? " and y" : "")));
  });
  const auto answer = [&](const std::string& target, size_t more) {
    Client client(listener);
    client.say("GET " + target + " HTTP/1.0\r\n\r\n" + std::string(more, '+'));
    return body_of(client.hear());
  };
  EXPECT_EQ(answer("/?x=1&y&&z", 0), "1\n");
  EXPECT_EQ(answer("/?x=1&y&z=", 0), "1 and y\n");
  EXPECT_EQ(answer("/?x", 0), "none\n");
  EXPECT_EQ(answer("/?&", 0), "none\n");
  for (size_t more = 0; more < 20'000; more += 100) answer("/?y", more);
  EXPECT_EQ(answer("/?x=2", 0), "2\n");
}

TEST(Server, ReadsBodies) {
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow, [&](const Request& request, Reply reply) {
    reply.send(answer("text/plain", request.body));
  });
  Client client(listener);
  client.say("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\n01234");
  client.say("56789");
  EXPECT_EQ(body_of(client.hear()), "0123456789");
}

TEST(Server, AnswersLaterFromAnotherThread) {
  const Listener listener("127.0.0.1", 0);
  Kept kept;
  const Server server(listener, {}, allow, kept.handler());
  Client first(listener), second(listener);
  first.say("GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  second.say("GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::vector<Reply> replies = kept.take(2);
  const Response shared = sentence(200, "late");
  for (Reply& reply : replies) reply.send(shared);
  EXPECT_EQ(body_of(first.hear()), "late\n");
  EXPECT_EQ(body_of(second.hear()), "late\n");
}

TEST(Server, Answers503IfAReplyIsDropped) {
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow, [](const Request&, Reply) {});
  EXPECT_TRUE(Client(listener).ask("GET / HTTP/1.1").starts_with("HTTP/1.1 503"));
}

TEST(Server, Answers503IfTheHandlerThrows) {
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow,
                      [](const Request&, Reply) { throw std::runtime_error("no"); });
  EXPECT_TRUE(Client(listener).ask("GET / HTTP/1.1").starts_with("HTTP/1.1 503"));
}

TEST(Server, CallsTheGuardBeforeReadingTheBody) {
  const Listener listener("127.0.0.1", 0);
  const Server server(
      listener, {}, [](const Request&) { return std::optional(sentence(401, "no")); },
      [](const Request&, Reply) { FAIL() << "handled"; });
  Client client(listener);
  client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc");
  EXPECT_TRUE(client.hear().starts_with("HTTP/1.1 401"));
}

TEST(Server, RefusesLargeBodies) {
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow, [](const Request&, Reply) { FAIL() << "handled"; });
  const std::string size = std::to_string(kMaxBody + 1);
  const std::string said = Client(listener).ask("POST / HTTP/1.1\r\nContent-Length: " + size);
  EXPECT_TRUE(said.starts_with("HTTP/1.1 413")) << said;
}

TEST(Server, SendsDeletedFiles) {
  const std::string path = testing::TempDir() + "sampan-http-file";
  const std::string content(1'000'000, 'x');
  std::ofstream(path) << content;
  const Response file = answer_with_file("text/plain", path);
  unlink(path.c_str());
  const Listener listener("127.0.0.1", 0);
  const Server server(listener, {}, allow, [&](const Request&, Reply reply) { reply.send(file); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(body_of(Client(listener).ask("GET / HTTP/1.1")), content);
  }
}

TEST(Server, EndsWhileClientsAreConnected) {
  const Listener listener("127.0.0.1", 0);
  Kept kept;
  auto server = std::make_unique<Server>(listener, Certificate{}, allow, kept.handler());
  Client silent(listener), waiting(listener);
  waiting.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  kept.take(1);  // and drops it: all replies must be gone before the server ends
  server.reset();
  EXPECT_EQ(silent.hear(), "");
}

TEST(Server, ReportsAnInvalidKey) {
  const Listener listener("127.0.0.1", 0);
  EXPECT_THROW(Server(listener, {"nonsense", "nonsense"}, allow, [](const Request&, Reply) {}),
               Error);
}

TEST(Listener, RecognizesLoopback) {
  EXPECT_TRUE(Listener("127.0.0.1", 0).is_loopback());
  EXPECT_TRUE(Listener("127.1.2.3", 0).is_loopback());
  EXPECT_FALSE(Listener("0.0.0.0", 0).is_loopback());
  EXPECT_THROW(Listener("localhost.example", 0), Error);
}

}  // namespace
}  // namespace sampan::http
