"""What the signal handler can reach, computed from the linked shim: handler_closure.py SHIM SAMPLE

A function reaches what it calls or jumps to, what it takes the address of, and every function whose address stands
in a data object that it refers to, directly or by a pointer in another object. A call through a pointer that is set at
run time cannot be followed: the function that makes it must be listed. All that is reached must be listed, too.

SAMPLE is a library with every kind of reference (closure_sample.cpp): the self-test looks for them.
"""
import bisect
import collections
import fnmatch
import re
import subprocess
import sys

# No function of the C library is called by its name: the call would go through the PLT, where the runtime of a sanitizer
# may stand. `_dl_find_object`, which none replaces, is called through a pointer.
# Functions of the shim, without "sampan::". None waits for a lock that its own thread may hold, allocates or calls
# the loader.
SHIM = """
    own_* memcpy memmove memset memcmp bcmp strlen strcpy stpcpy clock_gettime copy_at no_idiom preload::fill preload::this_pthread
    std::* raw_syscall system_call ByteWriter::* ByteCursor::* CodeAddress::* TimePoint::* monotonic_ns read_clock_ns
    thread_cpu_clock

    wire::RingWriter::* wire::LaneWriter::* wire::control_block wire::thread_slot wire::thread_ring_buffer
    wire::lane_positions wire::lane_cells

    unwind::Walker::walk unwind::StackWalk::* unwind::StackMemory::* unwind::PackedRow::* unwind::RowCache::find
    unwind::RowCache::insert unwind::RowCache::generation unwind::LastWalk::* unwind::RecentTable::*
    unwind::Image::* unwind::ImageCursor::* unwind::Module::contains_code unwind::ModuleFinder::find
    unwind::ModuleFinder::find_in_snapshot unwind::read_segments unwind::headers_at unwind::holds
    unwind::find_fde unwind::find_row unwind::cie_of unwind::find_cie unwind::run_fde unwind::read_fde unwind::read_cie unwind::read_entry unwind::scan_for_fde
    unwind::read_pointer* unwind::CfiProgram::* unwind::Expression::* unwind::RowApplication::*
    unwind::pack unwind::follow unwind::frame_of unwind::put_frame unwind::complete_caller unwind::cfa_by_frame_record
    unwind::return_at_once unwind::leave_signal_frame unwind::follow_to_segment unwind::is_planted_end
    unwind::follow_frame_pointer unwind::is_return_address unwind::ReturnPath::* unwind::PathState::* unwind::decode unwind::registers_of
    unwind::FrameFromStart::* unwind::EntryJump::*

    unwind::is_mapped unwind::PythonChain::* unwind::PythonFrameObjects::* unwind::CframeRuns::*
    unwind::EvalLoop::* unwind::EvalLoopRuns::* unwind::PythonMerge::* unwind::CodeObject::* unwind::read_code
    unwind::identity_of unwind::find_texts unwind::find_text unwind::find_line_table
    preload::interpreter_eval_loop preload::innermost_state preload::interpreter_runtime
    preload::interpreter_runtime_layout preload::has_subinterpreters preload::merge_states preload::outer_state preload::Search::*
    preload::ReadablePages::* preload::PythonMemory::*
    preload::interpreter_layout preload::interpreter_thread preload::merge_python preload::trust_chunk
    preload::may_be_unwritten preload::Codes::* preload::find_code preload::find_entry preload::write preload::announce
    preload::kind_of* preload::LoopFrames::* preload::find_step preload::Objects::* preload::TaskName::* preload::mix
    preload::write_text preload::number_of_task preload::task_of_callback preload::task_of_coroutine
    preload::seek_task preload::id_of_step unwind::asyncio_layout preload::interpreter_float_type

    preload::keeps_sampling_signal preload::owns_sampling_signal preload::has_our_action
    preload::is_ignored_by_default preload::stop_clock

    preload::SpinLock::* preload::SignalsBlocked::* preload::signal_bit* preload::set_signal_bits preload::count_loss

    preload::follow_clock preload::requested_rate preload::clock_for_rate preload::change_to preload::set_clock
    preload::arm_clock preload::disarm_clock preload::sent_by_clock preload::period_ns preload::filtered
    preload::sampling_signal preload::cpu_timer::highest_rate_hz preload::cpu_timer::arm preload::cpu_timer::set_rate
    preload::cpu_timer::set_timer preload::cpu_timer::timespec_of preload::cpu_timer::disarm preload::cpu_timer::sent
    preload::cpu_timer::create preload::cpu_timer::remove preload::drum_clock::highest_rate_hz preload::drum_clock::arm
    preload::drum_clock::set_rate preload::drum_clock::disarm preload::drum_clock::sent preload::drum_clock::begin
    preload::drum_clock::in_use preload::drum_clock::is_lost preload::drum_clock::take_missed
    preload::drum_clock::show_awake preload::drum_clock::taken wire::wait_for_drummer
    preload::perf_clock::highest_rate_hz preload::perf_clock::try_out preload::perf_clock::arm
    preload::perf_clock::open_event preload::perf_clock::arm_event preload::perf_clock::disarm_event preload::perf_clock::remove_timer
    preload::has_timer_beside preload::perf_clock::direct_to preload::perf_clock::set_rate
    preload::perf_clock::disarm preload::perf_clock::sent preload::perf_clock::signals_outlive_exec

    preload::read_context preload::read_record preload::readable preload::in_heap preload::on_same_page preload::load
    preload::prepare_trace preload::trace_flags preload::note_trace preload::OtelPlace::* preload::has_otel_places preload::thread_pointer
    wire::context_of wire::ShownContext::* wire::TraceContext::*

    preload::walk_stack preload::record_sample preload::write_with_stack preload::shared_frames preload::for_each_delta preload::uleb_size
    preload::zigzag_size preload::prepare_samples preload::sampling_on preload::sampling_paused preload::paused
    preload::leave_out

    preload::take_action preload::level_of preload::has_replaced_handlers preload::handler_return_address preload::ProgramAction::is preload::call_handler preload::deliver_held preload::has_held_signal preload::take_held_signal
    preload::added_by preload::goes_by_us preload::is_kept preload::program_has_small_alternate_stacks preload::hidden_signals preload::hidden_of preload::SignalState::set_hidden preload::set_default_action preload::send_again preload::process_id
    preload::hold_signal preload::follow_alternate_stack preload::note_program_stack preload::keep_samples_off_alternate_stacks
    preload::SignalLock::* preload::is_ours preload::set_our_stack preload::is_set
    preload::release_thread_signals preload::kernel_stack preload::disabled

    preload::prepare_markers preload::use_memory_of_slot preload::close_markers preload::close_spans
    preload::set_depth preload::marker_record preload::OpenSections::clear

    preload::current_thread preload::current_signals preload::thread_by_tid preload::thread_by_pthread
    preload::thread_in_slot preload::find preload::slots_used preload::for_each_thread preload::explained_cpu_ns
    preload::claim_slot preload::map_slot preload::GrowingMemory::* preload::prepare preload::map_private_memory preload::raise_to preload::release_slot
    preload::begin_thread preload::end_thread preload::write_start preload::write_end
    preload::scan_when_due preload::scan_threads preload::adopt_unknown preload::adopt_when_seen_twice
    preload::seen_before preload::parse_tid preload::read_name preload::end_gone preload::under_filter

    preload::sampling_handler preload::program_handler_* preload::act preload::interrupted_by preload::is_in_handler preload::is_between preload::without_handlers preload::lacks_room preload::has_lost_siginfo preload::sample preload::signalled_thread
    preload::take_sample preload::add preload::add_cost preload::act_for_program preload::hold
    preload::another_thread_takes
""".split()
# What calls through a pointer: the handler that the program has set, the table of clocks, whose functions count, the
# clock of the vDSO, and `_dl_find_object`.
CALLS_POINTERS = {"own_clock_gettime", "clock_gettime", "preload::act", "preload::act_for_program", "preload::call_handler", "preload::change_to", "preload::set_clock",
                  "preload::clock_for_rate", "preload::interpreter_thread", "preload::arm_clock", "preload::disarm_clock",
                  "preload::follow_clock", "preload::stop_clock", "unwind::ModuleFinder::find"}

Entry = collections.namedtuple("Entry", "start end name")  # a function or a data object


def output(*command, given=None):
    return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout


def plain(name):
    """A demangled name without parameters, template arguments and what the compiler has added."""
    name = name.replace("(anonymous namespace)::", "").replace("(anonymous)::", "")
    name = re.sub(r"\{lambda.*?#\d+\}", "lambda", name)
    name = re.sub(r" ?\[clone [^]]*\]", "", name).removesuffix(" const")
    depth, kept = 0, ""
    for letter in name:
        depth += letter in "<("
        kept += letter if depth == 0 else ""
        depth -= letter in ">)"
    return kept.strip().split(" ")[-1].removeprefix("sampan::")


class Image:
    """The functions and data objects of a linked library, and who refers to what."""

    def __init__(self, path):
        self.path = path
        self.functions, self.objects = self.read_symbols()
        self.pointers = self.read_relocations()  # by the place: an address here, or a name elsewhere
        self.places = sorted(self.pointers)
        self.calls, self.refers = collections.defaultdict(set), collections.defaultdict(set)
        self.calls_pointers = set()
        self.read_code()

    def read_symbols(self):
        rows = [line.split() for line in output("readelf", "-sW", self.path).splitlines()]
        symbols = sorted({(int(row[1], 16), int(row[2], 0), row[3], row[7]) for row in rows
                          if len(row) >= 8 and row[0][:-1].isdigit() and row[6].isdigit()})
        names = output("c++filt", given="\n".join(symbol[3] for symbol in symbols)).splitlines()
        found = {"FUNC": [], "OBJECT": []}
        for (start, size, kind, _), name in zip(symbols, names):
            if size and kind in found:
                found[kind].append(Entry(start, start + size, plain(name)))
        return found["FUNC"], found["OBJECT"]

    def read_relocations(self):
        pointers = {}
        for line in output("readelf", "-rW", self.path).splitlines():
            words = line.split()
            if len(words) < 4 or not words[2].startswith("R_X86_64_"):
                continue
            place, value = int(words[0], 16), int(words[3], 16)
            if words[2] == "R_X86_64_RELATIVE":
                pointers[place] = value
            elif len(words) > 4:  # a symbol: of this library when it has a value
                pointers[place] = value or words[4].split("@")[0]
        return pointers

    @staticmethod
    def at(table, address):
        last = bisect.bisect_right(table, (address, sys.maxsize))
        return next((entry for entry in table[max(last - 4, 0):last] if address < entry.end), None)

    def read_code(self):
        pattern = re.compile(r"^ *([0-9a-f]+):\t(?:(?:bnd|notrack|lock|data16|rep\w*) )*(\w+) *(.*)$")
        before = collections.deque(maxlen=12)
        for line in output("objdump", "-d", "-w", "--no-show-raw-insn", self.path).splitlines():
            match = pattern.match(line)
            here = match and self.at(self.functions, int(match[1], 16))
            if not here:
                continue
            operation, operands = match[2], match[3]
            branch = operation.startswith(("call", "j"))
            target = re.match(r"([0-9a-f]+) <([^>]*)>", operands)
            named = re.search(r"# ([0-9a-f]+)\b", operands)
            if branch and target:
                address = int(target[1], 16)
                if target[2].endswith("@plt"):
                    self.calls[here].add(target[2].split("@")[0])
                elif not here.start <= address < here.end:
                    self.calls[here].add(address)
            elif named:
                self.refers[here].add(int(named[1], 16))
            if branch and operands.startswith("*"):
                # A jump by a table of distances is a switch and stays in its function: the distance is loaded into the
                # register, and the table's address is added to it.
                register = operands[1:]
                loads = [earlier for earlier in before if re.search(rf"\b(movslq|add) .*,{register}$", earlier)]
                is_switch = operation == "jmp" and len(loads) > 1 and "movslq" in loads[-2] and "add " in loads[-1]
                slot = self.pointers.get(int(named[1], 16)) if named else None
                if not is_switch and not isinstance(slot, str):
                    self.calls_pointers.add(here)
            before.append(line)

    def functions_by(self, reference, seen):
        """The functions here, and the names elsewhere, that one gets at from an address or a name."""
        if reference in seen:
            return
        seen.add(reference)
        if isinstance(reference, str) or self.at(self.functions, reference):
            yield reference
            return
        thing = self.at(self.objects, reference) or Entry(reference, reference + 8, "")
        first = bisect.bisect_left(self.places, thing.start)
        for place in self.places[first:bisect.bisect_left(self.places, thing.end)]:
            yield from self.functions_by(self.pointers[place], seen)

    def named(self, name):
        """The function of this name, or those that the table of this name leads to."""
        things = [entry for entry in self.functions + self.objects if entry.name == name]
        assert things, f"{self.path} has no {name}"
        return {self.at(self.functions, address) for thing in things
                for address in self.functions_by(thing.start, set()) if not isinstance(address, str)}

    def closure(self, name):
        """What is reached from a function or a table: functions here, and names elsewhere, each with the function
        before it."""
        waiting = list(self.named(name))
        reached, elsewhere, seen = dict.fromkeys(waiting), {}, set()
        while waiting:
            here = waiting.pop()
            found = list(self.calls[here])
            for address in self.refers[here]:
                found += self.functions_by(address, seen)
            for target in found:
                function = None if isinstance(target, str) else self.at(self.functions, target)
                if function is None:
                    elsewhere.setdefault(target, here)
                elif function not in reached:
                    reached[function] = here
                    waiting.append(function)
        return reached, elsewhere


def way_to(function, reached):
    way = []
    while function is not None:
        way.append(function.name)
        function = reached[function]
    return " <- ".join(way)


def check(image):
    """Yields a sentence for whatever the handler reaches and must not."""
    reached, elsewhere = image.closure("preload::sampling_handler")
    for function in sorted(reached):
        if not any(fnmatch.fnmatchcase(function.name, allowed) for allowed in SHIM):
            yield f"not listed: {way_to(function, reached)}"
        if function in image.calls_pointers and function.name not in CALLS_POINTERS:
            yield f"calls through a pointer: {way_to(function, reached)}"
    for name, by in elsewhere.items():
        yield f"not listed: {name} <- {way_to(by, reached)}"
    print(f"{len(reached)} functions of the shim are reached")
    # The program's own signal handlers may set markers.
    reached, elsewhere = image.closure("preload::kFunctions")
    for name, by in elsewhere.items():
        yield f"markers: not listed: {name} <- {way_to(by, reached)}"
    # They may post semaphores, too, and more. Whose thread it is, a key of the C library says.
    for part in ("LockWait::LockWait", "LockWait::end", "LockRelease::LockRelease", "LockRelease::write", "LockRelease::write_kept"):
        if any(entry.name == f"preload::{part}" for entry in image.functions):
            reached, elsewhere = image.closure(f"preload::{part}")
            for name, by in elsewhere.items():
                if name != "pthread_getspecific":
                    yield f"locks: not listed: {name} <- {way_to(by, reached)}"


def self_test(path):
    image = Image(path)
    reached, elsewhere = image.closure("entry")
    assert {function.name for function in reached} == {
        "entry", "called", "jumped_to", "address_taken", "in_table", "in_table_behind_pointer"}, reached
    assert set(elsewhere) == {"abort", "free", "getenv"}, elsewhere
    assert {function.name for function in image.closure("kTable")[0]} == {"in_table", "in_table_behind_pointer"}
    assert "entry" in {function.name for function in image.calls_pointers}


def main():
    self_test(sys.argv[2])
    wrong = list(check(Image(sys.argv[1])))
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
