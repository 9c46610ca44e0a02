// sampan recorder --config FD: started by `top` and `serve`. It works as `run` or `attach`, with the
// settings of a RecorderConfig (remote/live/recorder_config.h).
#include <fcntl.h>

#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/record.h"
#include "remote/live/recorder_config.h"

namespace sampan::cli {
namespace {

int record(live::RecorderConfig config) {
  AttachOptions options;
  RunOptions& run = options.run;
  run.sampling = {config.rate_hz, config.clock, config.max_overhead};
  run.watched = config.watched;
  run.output = config.output;
  run.mode = config.mode;
  run.formats = {"none"};
  run.follow = config.follow;
  run.quiet = true;
  run.symbolize = false;
  run.continuous = {true, config.rotate, config.keep, ""};
  PushOptions& push = run.push;
  push.url = config.push.url;
  push.format = config.push.format;
  push.labels = config.push.labels;
  push.spool = config.push.spool;
  push.token_file = config.push.token_file;
  push.headers = config.push.headers;
  push.ca_file = config.push.ca_file;
  if (push.wanted()) push.spool_size = config.push.spool_size;
  run.environment = std::move(config.environment);
  run.strict = true;  // the program is not ours to become
  run.owner = config.owner;
  if (run.owner >= 0) fcntl(run.owner, F_SETFD, FD_CLOEXEC);
  if (!config.command.empty()) return run_and_record(config.command, run);
  options.target = std::to_string(config.pid);
  options.engine = config.engine;
  return attach_and_record(options);
}

}  // namespace

void add_recorder(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("recorder", "Record for another sampan");
  command->group("");  // hidden
  const auto fd = std::make_shared<int>(-1);
  command->add_option("--config", *fd)->required();
  commands.actions[command] = [fd] { return record(live::read_config(*fd)); };
}

}  // namespace sampan::cli
