// The protocol, message by message. Calls that run commands are in e2e/mcp_test.py, with the official client.
#include "remote/mcp/server.h"

#include <gtest/gtest.h>

#include <string>

namespace sampan::mcp {
namespace {

rapidjson::Document parsed(const std::string& line) {
  rapidjson::Document document;
  document.Parse(line.c_str());
  EXPECT_FALSE(document.HasParseError()) << line;
  return document;
}

std::string answer(const std::string& message, bool allow_run = false) {
  return Server({.version = "1", .allow_run = allow_run}).receive(message);
}

int code_of(const std::string& message) {
  return parsed(answer(message))["error"]["code"].GetInt();
}

TEST(Server, AgreesOnAProtocol) {
  const auto asked = [](const std::string& version) {
    const auto document = parsed(
        answer(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
               version + "\"}}"));
    EXPECT_EQ(document["id"].GetInt(), 1);
    EXPECT_TRUE(document["result"]["capabilities"]["tools"].IsObject());
    EXPECT_STREQ(document["result"]["serverInfo"]["name"].GetString(), "sampan");
    return std::string(document["result"]["protocolVersion"].GetString());
  };
  EXPECT_EQ(asked("2024-11-05"), "2024-11-05");
  EXPECT_EQ(asked("2025-11-25"), "2025-11-25");
  EXPECT_EQ(asked("1999-01-01"), "2025-11-25");
}

TEST(Server, EveryAnswerIsOneLine) {
  for (const char* message :
       {R"({"id":"a\nb","method":"ping"})", R"({"id":1,"method":"tools/list"})", "[", "[]"}) {
    const std::string line = answer(message);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  }
  EXPECT_STREQ(parsed(answer(R"({"id":"a\nb","method":"ping"})"))["id"].GetString(), "a\nb");
}

TEST(Server, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(code_of("{"), -32700);
  EXPECT_EQ(code_of("\"\xff\""), -32700);
  EXPECT_EQ(code_of("[]"), -32600);
  EXPECT_EQ(code_of(R"({"id":{},"method":"ping"})"), -32600);
  EXPECT_EQ(code_of(R"({"id":1,"method":"resources/list"})"), -32601);
  EXPECT_EQ(code_of(R"({"id":1,"method":7})"), -32601);
  EXPECT_EQ(code_of(R"({"id":1,"method":"tools/call","params":{"name":"rm"}})"), -32602);
  EXPECT_EQ(code_of(R"({"id":1,"method":"tools/call","params":7})"), -32602);
  EXPECT_EQ(code_of(std::string(500'000, '[')), -32700) << "no stack overflow";
}

TEST(Server, DoesNotAnswerNotifications) {
  EXPECT_EQ(answer(R"({"method":"notifications/initialized"})"), "");
  EXPECT_EQ(answer(R"({"method":"notifications/cancelled","params":{"requestId":5}})"), "");
  EXPECT_EQ(answer(R"({"method":"notifications/cancelled"})"), "");
  EXPECT_EQ(answer(R"({"id":1,"result":{}})"), "");
}

TEST(Server, LooksIntoProcessesOnlyIfAllowed) {
  const auto names = [](bool allow_run) {
    std::string all;
    const auto document = parsed(answer(R"({"id":1,"method":"tools/list"})", allow_run));
    for (const auto& tool : document["result"]["tools"].GetArray()) {
      all += std::string(tool["name"].GetString()) + " ";
      EXPECT_STREQ(tool["inputSchema"]["type"].GetString(), "object");
    }
    return all;
  };
  EXPECT_EQ(names(false).find("record"), std::string::npos);
  EXPECT_EQ(names(false).find("attach"), std::string::npos);
  EXPECT_EQ(names(false).find("dump"), std::string::npos);
  EXPECT_NE(names(true).find("record attach list"), std::string::npos);
  const auto refused = parsed(
      answer(R"({"id":1,"method":"tools/call","params":{"name":"dump","arguments":{"pid":1}}})"));
  EXPECT_TRUE(refused["result"]["isError"].GetBool());
}

TEST(Server, WrongArgumentsAreForTheModelToRead) {
  const auto document =
      parsed(answer(R"({"id":1,"method":"tools/call","params":{"name":"callers"}})"));
  EXPECT_TRUE(document["result"]["isError"].GetBool());
  EXPECT_STREQ(document["result"]["content"][0]["text"].GetString(), "function: it is missing");
}

TEST(Server, QueuesABoundedNumberOfCalls) {
  Server server({.version = "1"});
  const std::string call = R"({"id":1,"method":"tools/call","params":{"name":"list"}})";
  for (int i = 0; i < 64; ++i) ASSERT_EQ(server.receive(call), "");
  EXPECT_NE(server.receive(call).find("too many calls"), std::string::npos);
}

}  // namespace
}  // namespace sampan::mcp
