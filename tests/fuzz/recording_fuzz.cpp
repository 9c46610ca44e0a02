// Feeds the reader files that are wrong in every way: the input is a list of parts, each junk or a
// block with a right checksum and wrong content. Whatever comes out must keep the promises of
// reader.h, and must load as a profile.
//
//   input  { u8 kind, u16 size, size bytes }...
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/error.h"
#include "profile/call_tree.h"
#include "profile/flat.h"
#include "recording/block.h"
#include "recording/rows.h"
#include "recording/session_codec.h"

namespace {

using namespace sampan;
using recording::BlockType;
using recording::kNone;

enum Part : uint8_t {
  kJunk,         // the bytes as they are
  kBlock,        // u8 type, then the payload
  kPatchedRows,  // real rows, changed by { u16 offset, u8 value } each
  kPatchedFile,  // the file so far, changed likewise
  kPartCount,
};

void require(bool truth) {
  if (!truth) std::abort();
}

std::vector<uint8_t> real_rows() {
  recording::Recording rows;
  rows.processes = {{100, 1, 5, "/usr/bin/app"}};
  rows.process_ends = {{0, 900, 70, 3, 9, false}};
  rows.threads = {{0, 100, 5, "app"}, {0, 101, 6, "worker"}};
  rows.thread_names = {{1, 20, "late"}};
  rows.thread_ends = {{1, 800, 33}};
  rows.modules = {{"/usr/bin/app", {1, 2, 3}, 0x1000, 0x2000}};
  rows.frames = {{0, 0x10}, {0, 0x20}, {kNone, 0x30}};
  rows.stacks = {{kNone, 0}, {0, 1}, {1, 2}, {kNone, 2}};
  rows.waits = {{"read", "pipe:[4711]"}, {"runnable", ""}};
  rows.samples = {{0, 1, 40, 4, {}},     {1, 2, 10, 7, {}},     {0, 3, 60, 5, {}},
                  {1, kNone, 50, 8, {}}, {1, 2, 70, 20, {}, 0}, {1, kNone, 90, 3, {}, 1}};
  rows.losses.resize(1);
  recording::ColumnWriter out;
  encode_rows(rows, {}, &out);
  return {out.bytes().begin(), out.bytes().end()};
}

template <typename Bytes>
void patch(ByteCursor patches, Bytes* bytes) {
  while (!patches.at_end() && !bytes->empty()) {
    const size_t offset = patches.u16() % bytes->size();
    (*bytes)[offset] = static_cast<typename Bytes::value_type>(patches.u8());
  }
}

std::string file_of(std::span<const uint8_t> input) {
  static const std::vector<uint8_t> rows = real_rows();
  static recording::BlockEncoder encoder;
  std::string file("SAMPAN\2\0", 8);
  ByteCursor in(input);
  while (!in.at_end()) {
    const uint8_t kind = in.u8() % kPartCount;
    const size_t size = std::min<size_t>(in.u16(), in.remaining());
    ByteCursor part(in.take(size));
    switch (kind) {
      case kJunk:
        file.append(reinterpret_cast<const char*>(part.take(part.remaining()).data()), size);
        break;
      case kBlock: {
        const auto type = static_cast<BlockType>(part.u8());
        encoder.append(type, part.take(part.remaining()), &file);
        break;
      }
      case kPatchedRows: {
        std::vector<uint8_t> changed = rows;
        patch(part, &changed);
        encoder.append(BlockType::kRows, changed, &file);
        break;
      }
      case kPatchedFile: patch(part, &file); break;
    }
  }
  return file;
}

void check(const recording::Recording& recording) {
  for (const auto& row : recording.threads) require(row.process < recording.processes.size());
  for (const auto& row : recording.thread_names) require(row.thread < recording.threads.size());
  for (const auto& row : recording.thread_ends) require(row.thread < recording.threads.size());
  for (const auto& row : recording.process_ends) {
    require(row.process < recording.processes.size());
  }
  for (const auto& row : recording.losses) {
    require(row.process == kNone || row.process < recording.processes.size());
  }
  for (const auto& row : recording.frames) {
    require(row.module == kNone || row.module < recording.modules.size());
  }
  for (size_t i = 0; i < recording.stacks.size(); ++i) {
    require(recording.stacks[i].frame < recording.frames.size());
    require(recording.stacks[i].prefix == kNone || recording.stacks[i].prefix < i);
  }
  for (const auto& row : recording.samples) {
    require(row.thread < recording.threads.size());
    require(row.stack == kNone || row.stack < recording.stacks.size());
    require(row.wait == kNone || row.wait < recording.waits.size());
    require(static_cast<unsigned>(row.stop) < wire::kStopReasonCount);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = file_of({data, size});
  try {
    recording::Recording recording = recording::parse(file, "fuzz");
    check(recording);
    const profile::Profile profile = profile::load(std::move(recording));
    const profile::View view = profile::select(profile);
    require(profile::call_tree(view)[0].total == profile::total_weight(view));
    profile::Weight selves;
    for (const auto& row : profile::flat_table(view)) selves += row.self;
    require(selves == profile::total_weight(view));
  } catch (const Error&) {
    // Not a recording: said in a sentence.
  }
  return 0;
}
