"""Threads and processes that are made past the functions which usually make them are sampled, or the report says that they
are not."""
import unittest

import sampan
from profiled import bare, profiled
from tolerances import LOADER_S, unsampled_s

THREADS = 100
THREAD_S, CHILD_S = 0.03, 0.5  # of CPU: kThreadSeconds and kChildSeconds of targets/unseen.cpp


class Threads(sampan.Case):
    def test_all_by_raw_clone(self):
        """More than the shim once remembered between two looks at the threads."""
        run = profiled("unseen", "threads", THREADS)
        self.assertEqual((run.status, run.err), (0, ""))
        threads = run.report["threads"]
        self.assertEqual(len(threads), THREADS + 1)
        self.assertEqual(run.report["lost"], {})
        # One that is found while it computes is sampled from then on: on a busy machine that is most of them.
        self.assertGreater(run.sampled_cpu() + unsampled_s(len(threads)), THREADS * THREAD_S / 2)


class Children(sampan.Case):
    def run_way(self, way):
        run = profiled("unseen", way)
        self.assertEqual((run.status, run.out, run.err), (0, "status 5\n", ""))
        self.assertEqual(bare("unseen", way).out, run.out)
        return run

    def check_sampled(self, way):
        run = self.run_way(way)
        self.assertEqual(run.report["lost"], {})
        self.assertEqual(len(run.report["processes"]), 2)
        child = run.report["threads"][0]
        self.assertGreater(child["sampled_cpu_s"] + unsampled_s(), CHILD_S)
        stacks = [stack for stack, _ in run.folded_stacks() if any("burn" in frame for frame in stack)]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertFalse([frame for frame in stack if "sampan" in frame], stack)
        self.assert_whole(run.run)

    def check_counted(self, way):
        run = self.run_way(way)
        self.assertEqual(len(run.report["processes"]), 1)
        unseen_s = run.report["lost"]["unseen_cpu_ms"] / 1000
        self.assertGreaterEqual(unseen_s, CHILD_S - LOADER_S)
        self.assertLess(unseen_s, CHILD_S + LOADER_S)


for each in ("clone", "clone-call", "clone3-call", "clone3-without-handlers", "fork-call"):
    setattr(Children, "test_" + each.replace("-", "_"), lambda self, way=each: self.check_sampled(way))
# They run in the memory of their parent.
for each in ("clone-shares-memory", "vfork"):
    setattr(Children, "test_" + each.replace("-", "_"), lambda self, way=each: self.check_counted(way))

if __name__ == "__main__":
    unittest.main()
