// sampan annotate: where in a function the time goes, beside its source or its instructions.
#include "profile/annotate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/source_files.h"
#include "profile/frames.h"
#include "profile/view.h"
#include "reports/annotate.h"
#include "symbolizer/machine_code.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

using profile::kNone;
using profile::Profile;
using reports::CodeRow;

struct AnnotateOptions {
  RecordingOptions recording;
  std::string function;
  std::vector<std::string> source_paths;
  bool assembly = false;
  bool json = false;
};

// One for each file that the function has lines in, first its own.
std::vector<reports::Source> find_sources(const Profile& profile,
                                          const profile::Annotation& annotation,
                                          const std::vector<SourceMapping>& mappings,
                                          std::vector<std::string>* notes) {
  std::vector<reports::Source> sources;
  const auto add = [&](uint32_t file) {
    const auto same = [&](const reports::Source& source) { return source.file == file; };
    if (std::any_of(sources.begin(), sources.end(), same)) return;
    reports::Source& source = sources.emplace_back();
    source.file = file;
    const std::string& path = profile.strings[file];
    if (const auto found = find_source(path, mappings)) {
      source.path = *found;
      source.lines = lines_of_file(*found);
    } else if (!path.empty()) {
      notes->push_back(fmt::format(
          "the source {} is not there: --source-path FROM=TO says where sources are", path));
    }
  };
  const auto own = [&](const profile::FlatRow& row) {
    return row.file == annotation.function.file;
  };
  if (std::any_of(annotation.lines.begin(), annotation.lines.end(), own)) {
    add(annotation.function.file);
  }
  for (const profile::FlatRow& row : annotation.lines) add(row.file);
  const bool nowhere = std::all_of(annotation.lines.begin(), annotation.lines.end(),
                                   [](const auto& row) { return row.line == 0; });
  if (nowhere) {
    notes->push_back(
        "its lines are not known: compile with -g, or install the debug package; --asm shows its "
        "instructions");
  }
  return sources;
}

// The functions that hold the annotated addresses, each once, as instructions.
class CodeFinder {
 public:
  CodeFinder(const Profile& profile, std::vector<std::string>* notes)
      : profile_(profile), notes_(notes) {}

  std::vector<CodeRow> rows_of(const profile::Annotation& annotation) {
    std::vector<CodeRow> rows;
    for (const profile::AnnotatedAddress& address : annotation.addresses) {
      if (address.module == kNone) {
        note("code that was made at run time is gone: it has no instructions");
        continue;
      }
      if (!is_known(address)) add_function(address, &rows);
      if (!is_known(address)) continue;
      // The instruction that the address is in: of a call, lookup addresses are its last byte.
      const auto after = std::upper_bound(
          rows.begin(), rows.end(), address, [](const auto& wanted, const CodeRow& row) {
            return std::pair(wanted.module, wanted.address) < std::pair(row.module, row.address);
          });
      CodeRow& row = *std::prev(after);
      row.self += address.self;
      row.total += address.total;
    }
    add_lines(annotation.function.function, &rows);
    return rows;
  }

 private:
  bool is_known(const profile::AnnotatedAddress& address) const {
    const auto after = known_.upper_bound({address.module, address.address});
    if (after == known_.begin()) return false;
    const auto& [begin, end] = *std::prev(after);
    return begin.first == address.module && address.address < end;
  }

  void add_function(const profile::AnnotatedAddress& address, std::vector<CodeRow>* rows) {
    const profile::Module& module = profile_.modules[address.module];
    try {
      auto [code, is_new] = modules_.try_emplace(address.module, nullptr);
      if (is_new) {
        code->second = std::make_unique<symbolizer::MachineCode>(
            module, symbolizer::Options().debug_directories);
      }
      if (code->second == nullptr) return;  // said before
      const auto instructions = code->second->function_at(address.address);
      if (instructions.empty()) {
        note(fmt::format("{}: nothing says where the function at 0x{:x} begins", module.path,
                         address.address));
        return;
      }
      const symbolizer::Instruction& last = instructions.back();
      known_[{address.module, instructions.front().svma}] = last.svma + last.size;
      for (const symbolizer::Instruction& instruction : instructions) {
        rows->push_back(
            {.module = address.module, .address = instruction.svma, .text = instruction.text});
      }
    } catch (const Error& error) {
      note(fmt::format("no instructions: {}", error.what()));
    }
  }

  // What each instruction is compiled from, as the symbolizer says of any address.
  void add_lines(uint32_t function, std::vector<CodeRow>* rows) {
    Profile places;
    places.modules = profile_.modules;
    for (const CodeRow& row : *rows) {
      places.locations.push_back({.module = row.module, .address = row.address});
    }
    symbolizer::symbolize(places);
    const std::string_view name = function_name(profile_, function);
    for (uint32_t i = 0; i < rows->size(); ++i) {
      for_each_frame(places, i, [&](const profile::Frame& frame) {
        if (function_name(places, frame.function) != name) return;
        (*rows)[i].line = frame.line;
        (*rows)[i].file = file_handle(places.strings[frame.file]);
      });
    }
  }

  uint32_t file_handle(const std::string& path) {
    const auto [place, is_new] = files_.try_emplace(path, 0);
    for (uint32_t i = 0; is_new && i < profile_.strings.size(); ++i) {
      if (profile_.strings[i] == path) place->second = i;
    }
    return place->second;
  }

  void note(const std::string& text) {
    if (std::find(notes_->begin(), notes_->end(), text) == notes_->end()) notes_->push_back(text);
  }

  const Profile& profile_;
  std::vector<std::string>* notes_;
  std::map<uint32_t, std::unique_ptr<symbolizer::MachineCode>> modules_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> known_;  // begin to end of functions
  std::map<std::string, uint32_t> files_;
};

int annotate(const AnnotateOptions& options) {
  std::vector<SourceMapping> mappings;
  for (const std::string& word : options.source_paths) {
    mappings.push_back(parse_source_mapping(word));
  }
  Profile profile = profile::load(read_recording(options.recording.path()));
  const profile::View view = profile::select(profile, options.recording.selection);
  {
    Progress progress;
    find_names(profile, progress);
  }
  const profile::Annotation annotation = profile::annotate(view, options.function);
  reports::Annotated annotated{
      .view = view, .annotation = annotation, .sources = {}, .code = {}, .notes = {}};
  annotated.sources = find_sources(profile, annotation, mappings, &annotated.notes);
  if (options.assembly) {
    annotated.code = CodeFinder(profile, &annotated.notes).rows_of(annotation);
  }
  fmt::print("{}", options.json
                       ? reports::annotation_json(annotated)
                       : reports::annotation_page(annotated, reports::page_options_for(stdout)));
  return 0;
}

}  // namespace

void add_annotate(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("annotate", "The lines of a function, and the time spent on each");
  const auto options = std::make_shared<AnnotateOptions>();
  command
      ->add_option("FUNCTION", options->function,
                   "Its name, with or without parameters and namespace, or a part of it")
      ->required();
  add_recording_options(*command, options->recording);
  command
      ->add_option("--source-path", options->source_paths,
                   "What was built in FROM has its sources in TO (repeatable)")
      ->type_name("FROM=TO")
      ->allow_extra_args(false);
  command->add_flag("--asm", options->assembly, "Its instructions, instead of its source");
  command->add_flag("--json", options->json, "The same as data: see docs/annotate-json.md");
  commands.actions[command] = [options] { return annotate(*options); };
}

}  // namespace sampan::cli
