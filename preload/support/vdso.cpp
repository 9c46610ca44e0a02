#include "preload/support/vdso.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "preload/support/interpose.h"
#include "preload/support/machine.h"
#include "preload/support/symbol_table.h"

namespace sampan::preload {

void find_vdso() {
  const uint64_t start = SAMPAN_NEXT(getauxval)(AT_SYSINFO_EHDR);
  if (start == 0) return;
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(start);
  dl_phdr_info vdso{};
  vdso.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(start + header->e_phoff);
  vdso.dlpi_phnum = header->e_phnum;
  for (const ElfW(Phdr) & segment : std::span(vdso.dlpi_phdr, vdso.dlpi_phnum)) {
    if (segment.p_type == PT_LOAD) vdso.dlpi_addr = start + segment.p_offset - segment.p_vaddr;
  }
  const SymbolTable symbols(vdso);
  vdso_clock = reinterpret_cast<VdsoClock*>(symbols.avma_of(kVdsoClockName));
  vdso_signal_return = symbols.avma_of("__kernel_rt_sigreturn");
}

}  // namespace sampan::preload
