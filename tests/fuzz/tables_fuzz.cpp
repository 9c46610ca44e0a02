// Any bytes as the tables that stripped files still have: Go's .gopclntab (if the first byte is even),
// or the compressed .gnu_debugdata, in a valid ELF file.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "symbolizer/elf_functions.h"
#include "symbolizer/go_table.h"

using namespace sampan;

namespace {

constexpr char kNames[] = "\0.shstrtab\0.gopclntab\0.gnu_debugdata\0.noptrdata";
constexpr uint64_t kTable = 0x10000;  // SVMA of the section's bytes

// A file with one section of that name and these bytes, and a segment around it.
std::vector<char> elf_with(uint32_t name, const uint8_t* data, size_t size) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sizeof header + sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 1;
  const uint64_t names = header.e_shoff + 4 * sizeof(Elf64_Shdr);
  const uint64_t content = names + sizeof kNames;
  Elf64_Phdr segment{PT_LOAD, PF_R, content, kTable, kTable, size, size, 1};
  Elf64_Shdr sections[4] = {};
  sections[1] = {1, SHT_STRTAB, 0, 0, names, sizeof kNames, 0, 0, 1, 0};
  sections[2] = {name, SHT_PROGBITS, SHF_ALLOC, kTable, content, size, 0, 0, 1, 0};
  sections[3] = {37, SHT_PROGBITS, SHF_ALLOC, kTable, content, size, 0, 0, 1, 0};
  std::vector<char> image(content + size);
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + header.e_phoff, &segment, sizeof segment);
  std::memcpy(image.data() + header.e_shoff, sections, sizeof sections);
  std::memcpy(image.data() + names, kNames, sizeof kNames);
  std::memcpy(image.data() + content, data, size);
  return image;
}

void read_go(const symbolizer::ElfFile& file) {
  const auto table = symbolizer::GoTable::of(file);
  if (!table) return;
  symbolizer::GoLines lines(*table);
  symbolizer::Names names;
  for (uint64_t svma = 0x1000; svma < 0x1400; svma += 8) {
    for (const symbolizer::SourceLine& line : lines.at(svma, names)) {
      if (line.function == nullptr || line.function->name.empty()) abort();
    }
  }
}

void read_mini(const symbolizer::ElfFile& file) {
  try {
    const auto mini = symbolizer::mini_debug_info(file);
    if (!mini) return;
    symbolizer::ElfSymbols symbols;
    symbols.add(*mini);
    symbols.sort();
    for (uint64_t svma = 0x1000; svma < 0x1400; svma += 8) symbols.find(svma);
  } catch (const Error&) {
    // Damaged: said in a sentence.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const bool is_go = *data % 2 == 0;
  const symbolizer::ElfFile file(elf_with(is_go ? 11 : 22, data + 1, size - 1), "fuzz");
  is_go ? read_go(file) : read_mini(file);
  return 0;
}
