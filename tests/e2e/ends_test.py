"""The profile is whole, whichever way the process ends."""
import unittest

import stalls
from profiled import LIBRARY, bare, profiled

STATUS = {"return": 3, "exit": 3, "_exit": 3, "quick_exit": 3, "abort": 134, "sigterm": 143,
          "sigsegv": 139, "sigkill": 137, "pthread_exit": 5, "exec": 3, "fork-exit": 4,
          "fork-_exit": 4, "vfork-exec": 4}

SECONDS = 0.4  # kSeconds of targets/ends.cpp: of each thread


class Ends(stalls.TestCase):
    def check(self, kind):
        plain = bare("ends", kind)
        self.assertEqual(plain.status, STATUS[kind])
        run = profiled("ends", kind)
        self.assertEqual(run.status, STATUS[kind], run.err)
        self.assertEqual(len(run.out.splitlines()), len(plain.out.splitlines()))

        used = sum(run.numbers("cpu").values())
        self.assertGreater(used, 3 * SECONDS)
        self.assertGreaterEqual(run.sampled_cpu(), 0.9 * used)
        self.assertLessEqual(run.sampled_cpu(), 1.02 * used + 0.01)
        processes = 2 if "fork" in kind else 1
        self.assertEqual(len({p["pid"] for p in run.report["processes"]}), processes)
        images = 2 if "fork" in kind or kind == "exec" else 1
        for name in ("worker-a", "worker-b"):
            self.assertEqual(len(run.threads(name)), images)
            # The whole has its 90 %. Of one short thread the turns after its last tick are missing,
            # and on a busy machine it may have many turns between two ticks.
            self.assertGreater(run.sampled_cpu(name), 0.75 * SECONDS * images)
        if kind == "pthread_exit":
            self.assertGreater(run.sampled_cpu("survivor"), 0.75 * SECONDS)

    def test_reload(self):
        run = profiled("reload", LIBRARY)
        self.assertEqual(run.status, 0)
        # The library is gone when the run ends, and its function has a name all the same.
        self.assertGreater(run.seconds_in("burn_in_library"), 0.9 * run.numbers("library")[""])


for end in STATUS:
    setattr(Ends, "test_" + end.replace("-", "_then_"), lambda self, kind=end: self.check(kind))

if __name__ == "__main__":
    unittest.main(verbosity=2)
