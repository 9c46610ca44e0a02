// An MCP server on a pair of streams (Model Context Protocol, https://modelcontextprotocol.io, transport stdio): JSON-RPC
// 2.0 messages, one in each line. It offers tools only.
//
// Calls are answered one after the other. While a command runs, pings are answered, and a call can be cancelled.
#pragma once

#include <rapidjson/document.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "remote/mcp/run_command.h"
#include "remote/mcp/tools.h"

namespace sampan::mcp {

struct ServerOptions {
  std::string version;     // sampan's
  bool allow_run = false;  // tools that look into processes, or start them
  // The path of the recording that a word of the model names. Throws Error, with a sentence for the model, for one that
  // it may not read. Called when the command starts: the recording may be that of the call before.
  std::function<std::string(const std::string& word)> find_recording = {};
};

class Server {
 public:
  explicit Server(ServerOptions options) : options_(std::move(options)) {}

  // Serves until `in` ends and all calls are answered, until nobody reads `out`, or until `stop` is
  // readable, which ends the command that runs. Throws Error for a message without an end.
  void serve(int in, int out, int stop);

  // One message. Returns what is to be sent now, each a line; calls of tools are queued.
  std::string receive(std::string_view line);

 private:
  struct Call {
    std::string id;  // JSON
    CommandLine line;
  };

  std::string answer(const rapidjson::Value& message, const std::string& id);
  std::string call(const rapidjson::Value& message, const std::string& id);
  void cancel(const rapidjson::Value& message);
  // Takes the complete lines out of `received`.
  void receive_lines(std::string& received, std::string& answers);
  std::string start_next();
  std::string finish_running();

  const ServerOptions options_;
  std::deque<Call> calls_;  // the first one runs, if there is a command
  std::unique_ptr<RunningCommand> running_;
};

}  // namespace sampan::mcp
