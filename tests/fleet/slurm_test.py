#!/usr/bin/env python3
"""Slurm with its own authentication (munge), its controller and its node daemon, all on this machine: srun, and a job
array."""
import getpass
import os
import shutil
import socket
import unittest

import fleet

CONFIGURATION = """
ClusterName=sampan
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={path}/munge.socket
CryptoType=crypto/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=100000
SrunPortRange={first_srun}-{last_srun}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


class Slurm(fleet.Case):
    def setUp(self):
        self.need("munged", "slurmctld", "slurmd", "srun", "sbatch")
        if os.geteuid() != 0:
            self.skip("slurmd starts tasks as root")
        for folder in ("state", "spool"):
            (self.path / folder).mkdir(exist_ok=True)
        host = socket.gethostname().split(".")[0]
        key = self.path / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        port = fleet.free_port()
        (self.path / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, controller=fleet.free_port(), node=port, user=getpass.getuser(), path=self.path, cpus=os.cpu_count(),
            first_srun=40000 + port % 1000 * 10, last_srun=40000 + port % 1000 * 10 + 400))
        self.environment["SLURM_CONF"] = str(self.path / "slurm.conf")
        self.start(["munged", "--foreground", "--force", "--key-file", key, "--socket", self.path / "munge.socket", "--pid-file", self.path / "munge.pid",
                    "--log-file", self.path / "munge.log", "--seed-file", self.path / "munge.seed"], "munged.log")
        fleet.wait_for((self.path / "munge.socket").exists, "munged")
        self.start(["slurmctld", "-D"], "controller.log")
        self.start(["slurmd", "-D", "-N", host], "node.log")
        fleet.wait_for(lambda: "idle" in self.shell("sinfo -h -o %T").stdout, "slurmd")
        shutil.copy(fleet.SOURCES / "worker.py", self.path / "solver")
        (self.path / "solver").chmod(0o755)
        (self.path / "input").touch()

    def test_srun(self):
        tasks = {"srun sampan": "srun -n 4 --overcommit sampan"}
        self.follow("guide.md", "srun sampan run --quiet --format none --output profiles -- ./solver input", tasks)
        names = sorted(entry.name.split("_")[-1] for entry in (self.path / "profiles").iterdir())
        self.assertEqual(names, [f"solver-rank-{rank}" for rank in range(4)])
        self.shell("sampan merge profiles/*-rank-* -o job")
        origins = self.shell("sampan report --json job | python3 -c 'import json, sys; print([o[\"label\"] for o in json.load(sys.stdin)[\"origins\"]])'")
        self.assertEqual(origins.stdout.strip(), str([f"rank-{rank}" for rank in range(4)]))

    def test_a_job_array(self):
        (self.path / "array.sh").write_text(self.text("fleet.md", "#!/bin/sh\n#SBATCH --array"))
        self.follow("fleet.md", "sbatch array.sh", {"sbatch": "sbatch --wait"})
        folder = self.path / "array"
        names = sorted(entry.name.split("_")[-1] for entry in folder.iterdir())
        self.assertEqual(names, [f"solver-task-{task}-rank-0" for task in range(1, 4)])
        merge = self.follow("fleet.md", "sampan merge array/* -o all-tasks")
        self.assertIn("merged 3 of 3 recordings", merge.stderr)
        self.follow("fleet.md", "sampan ranks all-tasks")
        csv = self.shell("sampan ranks --csv all-tasks").stdout.splitlines()[0]
        self.assertEqual(csv.split(",")[4:], [f"task-{task}-rank-0" for task in range(1, 4)])


if __name__ == "__main__":
    unittest.main()
