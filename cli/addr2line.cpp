// sampan addr2line: functions, files and lines of addresses in a file, with the interfaces of
// addr2line and llvm-symbolizer.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "symbolizer/address_lookup.h"

namespace sampan::cli {
namespace {

using symbolizer::AddressStyle;

struct Addr2lineOptions {
  std::string file = "a.out";
  std::vector<std::string> addresses;
  std::string style = "GNU";
  bool functions = false;
  bool inlines = false, no_inlines = false;
  bool demangle = false, no_demangle = false;
  bool no_cache = false;
  symbolizer::AddressFormat format;
};

const std::map<std::string, AddressStyle> kStyles = {
    {"GNU", AddressStyle::kGnu}, {"LLVM", AddressStyle::kLlvm}, {"JSON", AddressStyle::kJson}};

class Answers {
 public:
  explicit Answers(const Addr2lineOptions& options) : format_(options.format) {
    format_.style = kStyles.at(options.style);
    format_.module = options.file;
    // llvm-symbolizer prints everything by default, addr2line as little as possible.
    const bool says_all = format_.style != AddressStyle::kGnu;
    format_.functions = options.functions || says_all;
    format_.inlines = !options.no_inlines && (options.inlines || says_all);
    symbolizer::Options how;
    how.debug_server = symbolizer::DebugServer::of_environment();
    // The cache has no columns; addr2line does not print them.
    if (!says_all && !options.no_cache) {
      how.cache_directory = symbolizer::default_cache_directory();
    }
    how.linkage_names = options.no_demangle || !(options.demangle || says_all);
    try {
      lookup_ = std::make_unique<symbolizer::AddressLookup>(options.file, how);
    } catch (const Error& error) {
      throw Error("{}: {}", options.file, error.what());
    }
    file_ = options.file;
  }

  AddressStyle style() const { return format_.style; }

  void print(const std::vector<uint64_t>& svmas) {
    std::string text;
    text.reserve(2 * kWriteSize);
    lookup_->find(svmas, [&](uint64_t svma, std::span<const symbolizer::AnswerLine> lines) {
      append_address(svma, lines, format_, &text);
      if (text.size() >= kWriteSize) write(&text);
    });
    write(&text);
    if (const std::string problem = lookup_->problem(); !problem.empty() && !problem_said_) {
      say("sampan: {}: {}\n", file_, problem);
      problem_said_ = true;
    }
  }

 private:
  static constexpr size_t kWriteSize = 1 << 16;

  // Not stdio: it writes to files and pipes in units of 4 KB.
  static void write(std::string* text) {
    for (size_t done = 0; done < text->size();) {
      const ssize_t count = ::write(STDOUT_FILENO, text->data() + done, text->size() - done);
      if (count < 0 && errno != EINTR) throw Error("writing the answers: {}", strerror(errno));
      if (count > 0) done += static_cast<size_t>(count);
    }
    text->clear();
  }

  symbolizer::AddressFormat format_;
  std::string file_;
  bool problem_said_ = false;
  std::unique_ptr<symbolizer::AddressLookup> lookup_;
};

// Reads addresses from stdin. All lines that are available are answered together; a client that
// asks for one at a time gets one answer at a time.
class Questions {
 public:
  Questions() {
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
      text_.reserve(std::min(static_cast<size_t>(status.st_size), kEnough) + kChunk);
    }
  }

  // Whole lines, valid until the next call; "" at the end.
  std::string_view next() {
    text_.erase(0, used_);
    while (!at_end_ && (text_.find('\n') == text_.npos || more_waits())) read_some();
    if (at_end_ && !text_.empty() && text_.back() != '\n') text_ += '\n';
    used_ = text_.rfind('\n') + 1;
    return std::string_view(text_).substr(0, used_);
  }

 private:
  bool more_waits() const {
    if (text_.size() >= kEnough) return false;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
  }

  void read_some() {
    const size_t size = text_.size();
    text_.resize(size + kChunk);
    const ssize_t got = read(STDIN_FILENO, text_.data() + size, kChunk);
    text_.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) return;
    if (got < 0) throw Error("reading addresses: {}", strerror(errno));
    at_end_ = got == 0;
  }

  static constexpr size_t kChunk = 1 << 16;
  static constexpr size_t kEnough = 1 << 24;
  std::string text_;
  size_t used_ = 0;
  bool at_end_ = false;
};

int addr2line(const Addr2lineOptions& options) {
  Answers answers(options);
  std::vector<uint64_t> svmas;
  for (const std::string& word : options.addresses) {
    svmas.push_back(symbolizer::parse_address(word, answers.style()));
  }
  if (!options.addresses.empty()) {
    answers.print(svmas);
    return 0;
  }
  Questions questions;
  for (std::string_view lines; !(lines = questions.next()).empty();) {
    answers.print(symbolizer::parse_addresses(lines, answers.style()));
  }
  return 0;
}

}  // namespace

void add_addr2line(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "addr2line", "Print the functions, files and lines of addresses in a file");
  const auto options = std::make_shared<Addr2lineOptions>();
  symbolizer::AddressFormat& format = options->format;
  command->add_option("-e,--exe,--obj", options->file, "The program, library or debug file")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("ADDR", options->addresses,
                      "Addresses in the file (default: from stdin, one per line)");
  command->add_flag("-f,--functions", options->functions, "Print function names");
  command->add_flag("-i,--inlines", options->inlines,
                    "Print the callers of inlined functions, too");
  command->add_flag("--no-inlines", options->no_inlines,
                    "Do not print them, with --output-style LLVM or JSON");
  command->add_flag("-C,--demangle", options->demangle, "Demangle function names");
  command->add_flag("--no-demangle", options->no_demangle,
                    "Keep linkage names, with --output-style LLVM or JSON");
  command->add_flag("-p,--pretty-print", format.pretty, "One line for each function");
  command->add_flag("-a,--addresses", format.addresses, "Print each address before its answer");
  command->add_flag("-s,--basenames", format.base_names, "Print file names without directories");
  command->add_flag("--no-cache", options->no_cache, "Do not use the cache of names");
  command
      ->add_option("--output-style", options->style,
                   "GNU: as addr2line; LLVM or JSON: as llvm-symbolizer, with its defaults")
      ->type_name("GNU|LLVM|JSON")
      ->check(CLI::IsMember({"GNU", "LLVM", "JSON"}).description(""))
      ->capture_default_str();
  set_examples(*command, {"sampan addr2line -e ./program 0x1139",
                          "sampan addr2line -Cfip -e ./program 0x1139 0x1150",
                          "sampan addr2line --output-style JSON -e ./program 0x1139"});
  commands.actions[command] = [options] { return addr2line(*options); };
}

}  // namespace sampan::cli
