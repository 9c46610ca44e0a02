"""What markers cost in the program: rows of bench/run.py."""
import json
import subprocess

import pairs

# A zone (begin and end) according to Tracy 0.11's manual, on a physical machine with the processor's
# own clock; its FAQ says 15. A span of sampan reads the kernel's clock twice.
TRACY_NS = 2.25


def cost(bench):
    """Each marker, without sampan and with it, compared with an empty function and reading the clock."""
    program = str(bench.build / "bench" / "markers_bench")
    output = bench.folder / "markers.json"
    command = [program, f"--benchmark_out={output}", "--benchmark_min_time=0.2",
               "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"]

    def run(prefix):
        bench.table.note(pairs.shown([*prefix, *command]))
        subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return {row["run_name"]: row["cpu_time"] for row in json.loads(output.read_text())["benchmarks"]
                if row["aggregate_name"] == "median"}

    off, on = run([]), run(bench.capture())
    bench.judge("span without sampan, begin and end, ns", off["span"], 2, f"{off['span']:.2f}")
    bench.table.row("  empty function", f"{off['empty_function']:.2f}")
    bench.judge("span, begin or end, ns", on["span"] / 2, 60, f"{on['span'] / 2:.0f}")
    bench.table.row("  reading the clock", f"{on['read_clock']:.0f}")
    bench.table.row("  Tracy, as published (begin and end)", f"{TRACY_NS}")
    for name in ("span_across", "event", "counter", "set_context"):
        bench.table.row(f"  {name}", f"{on[name]:.0f}")
    # In the handler, for each sample. The kernel is asked for a record that may be gone.
    bench.judge("context of a sample, in the thread's storage, ns", off["context_of_thread"], 10,
                f"{off['context_of_thread']:.1f}")
    bench.table.row("  none published", f"{off['context_none']:.1f}")
    bench.table.row("  elsewhere in memory, with a system call", f"{off['context_elsewhere']:.0f}")


def storm(bench):
    """Two threads that do nothing but make spans: each span is recorded, or counted as dropped."""
    made = 20_000_000
    command = [*bench.capture(), str(bench.build / "bench" / "span_storm"), str(made)]
    bench.table.note(pairs.shown(command))
    rate, here = map(float, subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split())
    path, report = bench.recording()
    spans = json.loads(subprocess.run([bench.sampan, "spans", "--json", str(path)], check=True,
                                      stdout=subprocess.PIPE).stdout)
    recorded = sum(row["count"] for row in spans["spans"])
    dropped = report["lost"].get("marker_full", 0)
    bench.judge("spans a second of two threads, a CPU each, millions", rate / 1e6, 10, f"{rate / 1e6:.1f}",
                ">=")
    bench.table.row("  as measured, beside what else ran", f"{here / 1e6:.1f}")
    bench.judge("  neither recorded nor counted as dropped", made - recorded - dropped, 0,
                f"{made - recorded - dropped} ({dropped / made:.0%} dropped)")


ROWS = {"markers": cost, "storm_of_spans": storm}
