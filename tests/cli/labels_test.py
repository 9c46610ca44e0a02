"""Labels of a recording: of --label, and of what launched the program.

usage: labels_test.py SAMPAN SHIM_FOLDER
"""
import unittest

import cli_test


class Labels(cli_test.Case):
    def test_a_rank_is_in_the_name(self):
        for name, rank, suffix in (("OMPI_COMM_WORLD_RANK", "3", "-rank-3"), ("PMI_RANK", "0", "-rank-0"), ("SLURM_PROCID", "17", "-rank-17"),
                                   ("PMIX_RANK", "../x", "")):
            output = self.path / name
            self.assertEqual(self.sampan("run", "--quiet", "--format", "none", "--output", output, "--", "true", env={name: rank}).returncode, 0)
            self.assertRegex(self.only_run(output).name, f"_true{suffix}$")
            self.assertEqual(self.report_of(self.only_run(output))["program"], "true")

    def test_a_task_of_a_job_array_is_in_the_name(self):
        self.assertEqual(self.sampan("run", "--quiet", "--format", "none", "--output", self.output, "--", "true",
                                     env={"SLURM_PROCID": "0", "SLURM_ARRAY_TASK_ID": "12"}).returncode, 0)
        self.assertRegex(self.only_run(self.output).name, "_true-task-12-rank-0$")

    def test_labels_are_recorded(self):
        result = self.sampan("run", "--quiet", "--format", "none", "--output", self.output, "--label", "team=search", "--label", "rank=FROM_ENV",
                             "--label", "shard=FROM_ENV:SHARD", "--", "true", env={"PMI_RANK": "3", "SHARD": "b"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.report_of(self.only_run(self.output))["labels"], {"team": "search", "rank": "3", "shard": "b"})
        self.assertIn("labels    team=search, rank=3, shard=b", self.sampan("report", self.only_run(self.output)).stdout)

    def test_labels_that_are_not_there(self):
        for label, words in (("rank=FROM_ENV", "no launcher"), ("x=FROM_ENV:NOT_SET", "NOT_SET is not set"), ("x", "a name and a value")):
            result = self.sampan("run", "--label", label, "--output", self.output, "--", "true")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
