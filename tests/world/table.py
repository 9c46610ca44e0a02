"""What is judged of a program that was sampled, and how it is shown."""
import re

UNNAMED = re.compile(r"^\[(jit|.*\+0x[0-9a-f]+)\]$")
MEANINGFUL = 20  # samples: below, shares say nothing


def judged(program, report, waits):
    if report is None:
        return {}
    if not report["samples"]:
        return {"samples": 0, "cpu_s": report["cpu_s"], "lost": report["lost"]}
    self_s = sum(row["self_s"] for row in report["functions"]) or 1
    unnamed_s = sum(row["self_s"] for row in report["functions"] if UNNAMED.match(row["name"]))
    row = {"samples": report["samples"], "cpu_s": report["cpu_s"], "sampled_s": report["sampled_cpu_s"],
           "complete": report["complete_stacks"], "named": 1 - unnamed_s / self_s, "lost": report["lost"]}
    if program.hot and report["samples"] >= MEANINGFUL and not waits:
        seen_s = max((row["total_s"] for row in report["functions"] if re.search(program.hot, row["name"])), default=0)
        row["hot"] = seen_s / self_s
        row["hot_missed"] = row["hot"] < program.share
    return row


def percent(share):
    return f"{100 * share:.0f}"


def coverage(row):
    return min(1, row["sampled_s"] / row["cpu_s"]) if row.get("cpu_s") else 0


def line(row):
    text = f"{row['program']:20} {row['setting']:14} {row['verdict']}"
    if row.get("samples") == 0:
        text += f"  no samples of {row['cpu_s']:.2f} s"
    elif "samples" in row:
        text += f"  {row['samples']} samples, covered {percent(coverage(row))} %, complete {percent(row['complete'])} %, named {percent(row['named'])} %"
    if row.get("hot_missed"):
        text += f", HOT FUNCTION MISSED: {percent(row['hot'])} %"
    if row["verdict"] in ("DIFFERENT", "known"):
        text += f"\n    {row['times']}\n    bare    {row['bare']}\n    sampled {row['sampled']}"
    return text


def markdown(rows, settings):
    """One line a program: how many settings were equal, and what was seen at 250 Hz."""
    programs = {}
    for row in rows:
        programs.setdefault((row["kind"], row["program"]), {})[row["setting"]] = row
    lines = ["| program | kind | equal | differs | samples | covered % | complete % | named % |", "|---|---|---|---|---|---|---|---|"]
    for (kind, name), found in sorted(programs.items()):
        equal = sum(row["verdict"] in ("equal", "unsteady") for row in found.values())
        differs = [f"{setting} ({row['verdict'].lower()})" for setting, row in found.items() if row["verdict"] in ("DIFFERENT", "known")]
        unsteady = " (status)" if any(row["verdict"] == "unsteady" for row in found.values()) else ""
        seen = found.get("250 Hz", {})
        numbers = [""] * 4
        if seen.get("samples", 0) >= MEANINGFUL:
            numbers = [str(seen["samples"]), percent(coverage(seen)), percent(seen["complete"]), percent(seen["named"])]
        elif "samples" in seen:
            numbers[0] = str(seen["samples"])
        lines.append(f"| {name} | {kind} | {equal} of {len(found)}{unsteady} | {', '.join(differs)} | {' | '.join(numbers)} |")
    missing = [setting for setting in settings if not any(setting in found for found in programs.values())]
    if missing:
        lines.append(f"\nNot run: {', '.join(missing)}.")
    return "\n".join(lines)
