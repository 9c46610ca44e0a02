#include "remote/mcp/server.h"

#include <poll.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace sampan::mcp {
namespace {

using rapidjson::Value;

constexpr size_t kLongestMessage = size_t{1} << 20;
constexpr size_t kMostCalls = 64;

// JSON-RPC 2.0, 5.1.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kUnknownMethod = -32601,
              kInvalidParameters = -32602;

// The latest first. What is used of them is the same.
constexpr std::string_view kProtocols[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

constexpr std::string_view kInstructions =
    "sampan is a sampling profiler. A recording says where the threads of a program spent their "
    "time. Ask `summary` "
    "first: it says how good the samples are, and what to ask next. Shares have the interval that "
    "the true share is in "
    "with 95 % probability; differences within it mean nothing. Where sentences name commands such "
    "as `sampan report "
    "--callers NAME`, use the tool that does it, `callers`.";

// Line breaks end messages. Those within texts are escaped.
std::string line_of(const Json& json) {
  std::string text = json.text();
  std::erase(text, '\n');
  return text;
}

std::string json_of(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

// "" if it is no id: a text or a number.
std::string id_of(const Value& message) {
  const auto id = message.FindMember("id");
  const bool is_id = id != message.MemberEnd() && (id->value.IsString() || id->value.IsNumber());
  return is_id ? json_of(id->value) : "";
}

std::string_view text_member(const Value& object, const char* name) {
  if (!object.IsObject()) return "";
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return "";
  return {found->value.GetString(), found->value.GetStringLength()};
}

const Value& member(const Value& object, const char* name) {
  static const Value none;
  if (!object.IsObject()) return none;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? none : found->value;
}

// A message with one member beside "jsonrpc" and "id", which is JSON already.
std::string message_with(const std::string& id, std::string_view name,
                         const std::function<void(Json&)>& members) {
  Json json;
  json.object([&] { members(json); });
  return R"({"jsonrpc":"2.0","id":)" + id + ",\"" + std::string(name) + "\":" + line_of(json) +
         "}\n";
}

std::string result(const std::string& id, const std::function<void(Json&)>& members) {
  return message_with(id, "result", members);
}

std::string error(const std::string& id, int code, std::string_view text) {
  return message_with(id.empty() ? "null" : id, "error", [&](Json& json) {
    json.member("code", code);
    json.member("message", text);
  });
}

// Failures of a tool are for the model to read, so they are results.
std::string tool_result(const std::string& id, std::string_view text, bool is_error) {
  return result(id, [&](Json& json) {
    json.key("content");
    json.array_of([&] {
      json.object([&] {
        json.member("type", "text");
        json.member("text", text);
      });
    });
    json.member("isError", is_error);
  });
}

std::string initialized(const std::string& id, const Value& parameters,
                        const ServerOptions& options) {
  const std::string_view asked = text_member(parameters, "protocolVersion");
  const bool is_known = std::ranges::find(kProtocols, asked) != std::end(kProtocols);
  return result(id, [&](Json& json) {
    json.member("protocolVersion", is_known ? asked : kProtocols[0]);
    json.key("capabilities");
    json.object([&] {
      json.key("tools");
      json.object([] {});
    });
    json.key("serverInfo");
    json.object([&] {
      json.member("name", "sampan");
      json.member("version", options.version);
    });
    json.member("instructions", kInstructions);
  });
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

}  // namespace

std::string Server::receive(std::string_view line) {
  rapidjson::Document message;
  // Not recursive: the depth of a message is not limited.
  message.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      line.data(), line.size());
  if (message.HasParseError()) return error("", kParseError, "the line is not JSON");
  if (!message.IsObject())
    return error("", kInvalidRequest, "the line is not one JSON-RPC message");
  const std::string id = id_of(message);
  if (text_member(message, "method") == "notifications/cancelled") cancel(message);
  // Notifications, and answers to requests, which this server does not make.
  if (!message.HasMember("id") || !message.HasMember("method")) return "";
  if (id.empty()) return error("", kInvalidRequest, "the id is neither a text nor a number");
  return answer(message, id);
}

std::string Server::answer(const Value& message, const std::string& id) {
  const std::string_view method = text_member(message, "method");
  const Value& parameters = member(message, "params");
  if (method == "initialize") return initialized(id, parameters, options_);
  if (method == "ping") return result(id, [](Json&) {});
  if (method == "tools/call") return call(parameters, id);
  if (method != "tools/list") return error(id, kUnknownMethod, "unknown method");
  return result(id, [&](Json& json) {
    json.key("tools");
    json.array_of([&] {
      for (const Tool& tool : tools()) {
        if (tool.looks_into_processes && !options_.allow_run) continue;
        json.object([&] { describe(tool, json); });
      }
    });
  });
}

std::string Server::call(const Value& parameters, const std::string& id) {
  const Tool* const tool = find_tool(text_member(parameters, "name"));
  if (tool == nullptr) return error(id, kInvalidParameters, "there is no such tool");
  if (tool->looks_into_processes && !options_.allow_run) {
    return tool_result(id,
                       "this server may not look into processes or start programs: the person who "
                       "starts it can allow it by --allow-run",
                       true);
  }
  if (calls_.size() >= kMostCalls) return tool_result(id, "too many calls wait", true);
  try {
    calls_.push_back({id, command_line(*tool, member(parameters, "arguments"))});
  } catch (const Error& refused) {
    return tool_result(id, refused.what(), true);
  }
  return "";
}

// There is no answer to a call that was cancelled.
void Server::cancel(const Value& message) {
  const std::string id = json_of(member(member(message, "params"), "requestId"));
  const auto found = std::ranges::find(calls_, id, &Call::id);
  if (found == calls_.end()) return;
  if (found == calls_.begin()) running_.reset();
  calls_.erase(found);
}

std::string Server::start_next() {
  std::string answers;
  while (running_ == nullptr && !calls_.empty()) {
    CommandLine& line = calls_.front().line;
    try {
      for (const size_t at : line.recordings) {
        line.words[at] = options_.find_recording(line.words[at]);
      }
      running_ = std::make_unique<RunningCommand>(line);
    } catch (const Error& failed) {
      answers += tool_result(calls_.front().id, failed.what(), true);
      calls_.pop_front();
    }
  }
  return answers;
}

std::string Server::finish_running() {
  const int status = running_->wait();
  std::string text = running_->text();
  if (text.empty()) text = status == 0 ? "nothing to show" : "the command failed without a message";
  std::string answer = tool_result(calls_.front().id, text, status != 0);
  running_.reset();
  calls_.pop_front();
  return answer;
}

void Server::receive_lines(std::string& received, std::string& answers) {
  size_t begin = 0;
  for (size_t end; (end = received.find('\n', begin)) != received.npos; begin = end + 1) {
    const std::string_view line = std::string_view(received).substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != line.npos) answers += receive(line);
  }
  received.erase(0, begin);
  if (received.size() > kLongestMessage) throw Error("a message is longer than 1 MiB");
}

void Server::serve(int in, int out, int stop) {
  std::string received;
  while (true) {
    if (!write_all(out, start_next())) return;
    const bool runs = running_ != nullptr;
    if (!runs && in < 0) return;
    pollfd waits[] = {{in, POLLIN, 0},
                      {stop, POLLIN, 0},
                      {runs ? running_->end() : -1, POLLIN, 0},
                      {runs ? running_->out() : -1, POLLIN, 0},
                      {runs ? running_->err() : -1, POLLIN, 0}};
    if (poll(waits, std::size(waits), runs ? running_->timeout_ms() : -1) < 0 && errno != EINTR) {
      return;
    }
    if (waits[1].revents != 0) return;
    std::string answers;
    if (runs) {
      running_->end_if_late();
      running_->read_output();
      if (waits[2].revents != 0) answers += finish_running();
    }
    if (waits[0].revents != 0) {
      char buffer[1 << 16];
      const ssize_t size = read(in, buffer, sizeof buffer);
      if (size > 0) received.append(buffer, static_cast<size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) in = -1;
      receive_lines(received, answers);
    }
    if (!write_all(out, answers)) return;
  }
}

}  // namespace sampan::mcp
