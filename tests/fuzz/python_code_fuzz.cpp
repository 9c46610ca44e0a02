// Any bytes as the announcement of a code object, which the target writes, and any frame in it.
#include <cstdint>
#include <span>
#include <utility>

#include "sampler/recorder/python_code.h"
#include "wire/record.h"

using namespace sampan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto record = sampler::decode_python_code({data, size});
  if (!record) return 0;
  const uint32_t number = record->number & 0xffffff;
  record->number = number;
  sampler::PythonCodes codes;
  codes.add(std::move(*record));
  for (uint32_t unit = 0; unit < 64; ++unit) {
    const uint64_t frame = wire::python_frame(number, unit * unit);
    if (!codes.knows(frame)) __builtin_trap();
    const recording::FrameName name = codes.name(frame);
    if (!wire::is_python_frame(sampler::python_frame_row(name).address)) __builtin_trap();
  }
  return 0;
}
