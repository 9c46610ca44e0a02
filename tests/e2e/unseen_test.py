"""Threads that are made past the functions which usually make them are sampled."""
import unittest

import sampan
from profiled import profiled
from tolerances import unsampled_s

THREADS = 100
THREAD_S = 0.03  # of CPU: kThreadSeconds of targets/unseen.cpp


class Threads(sampan.Case):
    def test_all_by_raw_clone(self):
        """More than the shim once remembered between two looks at the threads."""
        run = profiled("unseen", "threads", THREADS)
        self.assertEqual((run.status, run.err), (0, ""))
        threads = run.report["threads"]
        self.assertEqual(len(threads), THREADS + 1)
        self.assertEqual(run.report["lost"], {})
        missing = unsampled_s(len(threads))
        self.assertGreater(run.sampled_cpu() + missing, THREADS * THREAD_S)


if __name__ == "__main__":
    unittest.main()
