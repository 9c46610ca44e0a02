#!/usr/bin/env python3
"""Open MPI and MPICH, as docs/guide.md says: each rank profiles itself; the slow one is named, and so is what it does more."""
import json
import os
import shutil
import unittest

import fleet

RANKS = 4
SLOW = 3


class Mpi(fleet.Case):
    def check(self, flavour, as_root=""):
        self.need(f"mpicc.{flavour}", f"mpirun.{flavour}")
        for name in ("profiles", "job", "solver"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        self.shell(f"mpicc.{flavour} -O1 -g -I {fleet.INCLUDE} -o solver {fleet.SOURCES}/solver.c && touch input")
        command = {"mpirun -n 64": f"mpirun.{flavour} {as_root} -n {RANKS}"}
        run = self.follow("guide.md", "mpirun -n 64 sampan run", command, SLOW=str(SLOW), SAMPAN_RATE="1000", timeout=600)
        self.assertIn(f"{RANKS} ranks", run.stdout)
        merge = self.follow("guide.md", "sampan merge profiles/*-rank-* -o job")
        self.assertIn(f"merged {RANKS} of {RANKS} recordings, at the times of their host's clock", merge.stderr)
        self.follow("guide.md", "sampan ranks job")
        self.follow("guide.md", "sampan report --by process job")
        self.follow("guide.md", "sampan report --label rank-7 job", {"rank-7": f"rank-{SLOW}"})
        return json.loads(self.shell("sampan ranks --json job").stdout)

    def judge(self, said):
        self.assertEqual([worker["name"] for worker in said["workers"]], [f"rank-{rank}" for rank in range(RANKS)])
        rows = {row["name"]: row for row in json.loads(self.shell("sampan ranks --json --of total job").stdout)["functions"]}
        self.assertEqual(rows["relax"]["slowest"], f"rank-{SLOW}")
        # They take about 2.4 s. Both ends of 80 pieces are met by samples 4 ms apart, if not closer: sqrt(80 / 6) * 4 ms, in the
        # slow rank and in the mean of the others. Six standard deviations, because ranks share the CPUs.
        others = (rows["relax"]["mean_s"] * RANKS - rows["relax"]["most_s"]) / (RANKS - 1)
        self.assertAlmostEqual(rows["relax"]["most_s"] / others, 1.3, delta=6 * 0.0146 * (1 + 1.3 / (RANKS - 1) ** 0.5) / 2.4)
        self.assertTrue(all(worker["mpi_s"] > 0 for worker in said["workers"]))
        [cells] = [row for row in said["counters"] if row["name"] == "cells"]
        self.assertEqual((cells["value"], cells["highest"], cells["most"], cells["least"]), ("last", f"rank-{SLOW}", 104000, 80000))
        # The others wait for it in the barrier.
        [[_, *barrier]] = [line.split(",")[3:] for line in self.shell("sampan ranks --csv job").stdout.splitlines() if line.startswith("span,barrier,")]
        self.assertEqual(barrier.index(min(barrier, key=float)), SLOW)

    def align(self):
        """All ranks leave a barrier together; a recording whose clock is an hour off is put where it belongs."""
        merge = self.follow("guide.md", "sampan merge --align marker:barrier profiles/*-rank-* -o aligned")
        self.assertIn(f"by {80 * (RANKS - 1)} markers in common", merge.stderr)
        shutil.rmtree(self.path / "aligned")

    def test_open_mpi(self):
        # Its processes may be root's in a container, and more than there are CPUs.
        as_root = "--allow-run-as-root --oversubscribe" if os.geteuid() == 0 else "--oversubscribe"
        said = self.check("openmpi", as_root)
        self.judge(said)
        self.align()

    def test_mpich(self):
        self.judge(self.check("mpich"))
        self.align()


if __name__ == "__main__":
    unittest.main()
