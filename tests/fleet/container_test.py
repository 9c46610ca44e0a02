#!/usr/bin/env python3
"""The recipes for Docker, run by rootless podman; those for Kubernetes as far as they go without a cluster."""
import json
import pathlib
import re
import shutil
import sys
import unittest

import fleet

sys.path.insert(0, str(fleet.SOURCES.parent / "e2e"))
import chroots

IMAGE = "localhost/sampan-fleet"


class Podman(fleet.Case):
    def setUp(self):
        self.need("podman")
        root = self.path / "image"
        if root.exists():
            return
        for program in ("/bin/sh", "/bin/sleep", "/usr/bin/python3"):
            chroots.add_program(root, program, program)
        made = self.shell(f"tar -C {root} -c . | podman import - {IMAGE}", check=False)
        if made.returncode != 0:
            self.skip(f"podman cannot make an image here: {made.stderr.strip()}")

    def need_containers(self):
        result = self.shell(f"podman run --rm {IMAGE} /bin/sh -c 'echo it runs'", check=False)
        if "it runs" not in result.stdout:
            self.skip(f"podman cannot run a container here: {result.stderr.strip()}")

    def test_inside_a_container(self):
        self.need_containers()
        opt = self.path / "opt"
        (opt / "lib/sampan").mkdir(parents=True)
        (opt / "bin").mkdir()
        program = pathlib.Path(fleet.sampan.PROGRAM).resolve()
        shutil.copy(program, opt / "bin")
        shutil.copy(program.parent / "libsampan_preload.so", opt / "lib/sampan")
        (self.path / "profiles").mkdir(mode=0o777)
        replaced = {"docker": "podman", "/opt/sampan:/opt/sampan": f"{opt}:/opt/sampan", "IMAGE": f"{IMAGE} /bin/sh -c 'i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done'"}
        self.follow("guide.md", "docker run -v /opt/sampan:/opt/sampan:ro -v \"$PWD/profiles:/profiles\" -e LD_PRELOAD", replaced)
        [directory] = (self.path / "profiles").iterdir()
        self.assertGreater(json.loads(self.shell(f"sampan report --json {directory}").stdout)["samples"], 0)
        replaced = {"docker": "podman", "/opt/sampan:/opt/sampan": f"{opt}:/opt/sampan", "IMAGE": IMAGE, "DIRECTORY": directory.name}
        self.follow("guide.md", "docker run -v /opt/sampan:/opt/sampan:ro -v \"$PWD/profiles:/profiles\" IMAGE", replaced)

    def test_a_container_beside_it(self):
        self.need_containers()
        self.follow("fleet.md", "docker run -d --name redis redis", {"docker": "podman", "redis redis": f"sampan-fleet {IMAGE} /bin/sleep 600"})
        self.addCleanup(self.shell, "podman rm -f sampan-fleet sampan-fleet-beside")
        beside = self.text("fleet.md", "docker run -d --pid container:redis", {"docker run": "podman run --name sampan-fleet-beside"})
        self.assertIn("serve --bind 0.0.0.0 --port 6061 --token-file /token redis-server", beside)


class Kubernetes(fleet.Case):
    def objects(self, begin):
        try:
            import yaml
        except ImportError:
            self.skip("not installed: python3-yaml")
        return yaml.safe_load(self.text("fleet.md", begin))

    def test_the_sidecar(self):
        pod = self.objects("apiVersion: v1\nkind: Pod")["spec"]
        self.assertTrue(pod["shareProcessNamespace"])
        [container] = [one for one in pod["containers"] if one["name"] == "sampan"]
        token = self.path / "token"
        token.write_text("a secret of this test\n")
        token.chmod(0o600)
        port = fleet.free_port()
        service = self.service()
        words = [{"0.0.0.0": "127.0.0.1", "6061": str(port), "/sampan/token": str(token), "redis-server": str(service.pid)}.get(word, word)
                 for word in container["args"]]
        self.start([self.bin / "sampan", *words], "sidecar.log")
        fleet.wait_for(lambda: fleet.get(f"http://127.0.0.1:{port}/metrics", token.read_text().strip()), "the sidecar")
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, {volume["name"] for volume in pod["volumes"]})

    def test_the_daemon_set(self):
        """Its script serves each process of that name, and one that comes later."""
        pod = self.objects("apiVersion: apps/v1\nkind: DaemonSet")["spec"]["template"]["spec"]
        [container] = pod["containers"]
        [script] = container["args"]
        token = self.path / "token2"
        token.write_text("a secret of this test\n")
        token.chmod(0o600)
        shutil.copy(shutil.which("sleep"), self.path / "fleet-sleeper")
        state = self.path / "state"
        state.mkdir()
        for old, new in (("/tmp/", f"{state}/"), ("sleep 5", "sleep 1"), ("pgrep -x redis-server", "pgrep -x fleet-sleeper"), ("0.0.0.0", "127.0.0.1"),
                         ("6061 + pid % 1000", "20000 + pid % 10000"), ("/sampan/token", str(token))):
            self.assertIn(old, script)
            script = script.replace(old, new)
        sleepers = [self.start([self.path / "fleet-sleeper", "600"], "sleeper.log")]
        self.start(["/bin/sh", "-c", script], "daemon.log")

        def served(process):
            return fleet.wait_for(lambda: fleet.get(f"http://127.0.0.1:{20000 + process.pid % 10000}/debug/pprof/cmdline", token.read_text().strip()), "a server")
        self.assertIn(b"fleet-sleeper", served(sleepers[0]))
        sleepers.append(self.start([self.path / "fleet-sleeper", "601"], "sleeper.log"))
        self.assertIn(b"601", served(sleepers[1]))
        self.assertIsNone(re.search("error", self.log("daemon.log")))


class Store(fleet.Case):
    def test_one_look_at_one_machine(self):
        self.need("go", "openssl", "curl")
        (self.path / "token").write_text("a-secret-of-this-test\n")
        (self.path / "token").chmod(0o600)
        self.shell("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost "
                   "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null && chmod 600 key.pem")
        port = fleet.free_port()
        service = self.service()
        self.start([self.bin / "sampan", "serve", "--port", port, "--token-file", "token", "--cert", "cert.pem", "--key", "key.pem", service.pid], "tls.log")
        fleet.wait_for(lambda: "https" in self.log("tls.log"), "sampan serve")
        place = {"HOST:6061": f"localhost:{port}"}
        self.follow("fleet.md", "curl -H \"Authorization: Bearer $(cat token)\" -o r.sampan", {**place, "curl": "curl -sS --cacert cert.pem"}, DISPLAY="")
        self.assertTrue((self.path / "r.sampan").stat().st_size)
        self.follow("fleet.md", "go tool pprof -http=: \"https://HOST:6061", {**place, "-http=:": "-top", "seconds=10": "seconds=2",
                                                                           "token=…": "token=a-secret-of-this-test"}, SSL_CERT_FILE="cert.pem")


if __name__ == "__main__":
    unittest.main()
