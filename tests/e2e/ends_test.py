"""The profile is complete, however the process ends."""
import unittest

import stalls
from profiled import LIBRARY, profiled
from tolerances import LOADER_S, unsampled_s

# What each has without sampan.
STATUS = {"return": 3, "exit": 3, "_exit": 3, "quick_exit": 3, "abort": 134, "sigterm": 143,
          "sigsegv": 139, "sigkill": 137, "pthread_exit": 5, "exec": 3, "fork-exit": 4,
          "fork-_exit": 4, "vfork-exec": 4}

SECONDS = 0.3  # of CPU of each thread: kSeconds of targets/ends.cpp


def images(kind):
    """How many images of programs run, each of which prints a line."""
    return 2 if "fork" in kind or kind == "exec" else 1


class Ends(unittest.TestCase):
    def check(self, kind):
        run = profiled("ends", kind)
        self.assertEqual(run.status, STATUS[kind], run.err)
        self.assertEqual(len(run.out.splitlines()), images(kind))

        used = sum(run.numbers("cpu").values())
        self.assertGreater(used, 3 * SECONDS)
        missing = unsampled_s(len(run.report["threads"])) + LOADER_S * len(run.report["processes"])
        self.assertGreaterEqual(run.sampled_cpu() + missing, 0.95 * used)
        self.assertLessEqual(run.sampled_cpu(), 1.02 * used + 0.01)
        processes = 2 if "fork" in kind else 1
        self.assertEqual(len({p["pid"] for p in run.report["processes"]}), processes)
        for name in ("worker-a", "worker-b"):
            self.assertEqual(len(run.threads(name)), images(kind))
            self.assertGreater(run.sampled_cpu(name) + unsampled_s(images(kind)), 0.95 * SECONDS * images(kind))
        if kind == "pthread_exit":
            self.assertGreater(run.sampled_cpu("survivor") + unsampled_s(), 0.95 * SECONDS)

    def test_reload(self):
        run = profiled("reload", LIBRARY)
        self.assertEqual(run.status, 0)
        # The library is gone when the run ends; its function has a name nevertheless.
        self.assertGreater(run.seconds_in("burn_in_library"), 0.9 * run.numbers("library")[""] - unsampled_s())


for end in STATUS:
    setattr(Ends, "test_" + end.replace("-", "_then_"), lambda self, kind=end: self.check(kind))
Ends = stalls.measures_time("compares sampled CPU with the process's clock")(Ends)

if __name__ == "__main__":
    unittest.main(verbosity=2)
