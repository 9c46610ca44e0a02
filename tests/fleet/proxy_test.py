#!/usr/bin/env python3
"""nginx and Apache before `sampan serve`: who passes them sees the page, the profiles and the metrics."""
import getpass
import gzip
import json
import unittest
import urllib.request

import fleet

NGINX = """
pid {path}/nginx.pid;
error_log {path}/nginx-error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {path}/body;
  proxy_temp_path {path}/proxy;
  fastcgi_temp_path {path}/fastcgi;
  uwsgi_temp_path {path}/uwsgi;
  scgi_temp_path {path}/scgi;
  server {{
    listen 127.0.0.1:{port};
{recipe}
  }}
}}
"""
MODULES = "mpm_event authn_core authn_file auth_basic authz_core authz_user proxy proxy_http headers"
APACHE = """
ServerRoot {path}
ServerName localhost
PidFile {path}/apache.pid
ErrorLog {path}/apache-error.log
Listen 127.0.0.1:{port}
User {user}
{modules}
{recipe}
"""


class Proxy(fleet.Case):
    def setUp(self):
        self.token = self.path / "token"
        self.token.write_text("a secret of this test\n")
        self.token.chmod(0o600)
        self.backend = self.serve(self.service().pid, "--token-file", self.token).rstrip("/")
        # htpasswd's format: SHA-1 of "open sesame", which both servers read.
        (self.path / "users").write_text("ann:{SHA}" + self.shell("printf 'open sesame' | openssl sha1 -binary | base64").stdout)

    def replaced(self, users):
        return {"http://127.0.0.1:6061": self.backend, users: self.path / "users", "TOKEN": self.token.read_text().strip()}

    def judge(self, front):
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, front, "ann", "open sesame")
        opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
        fleet.wait_for(lambda: opener.open(f"{front}/redis/metrics", timeout=10).status == 200, front, seconds=60)
        self.assertIn(b"sampan_samples_total", opener.open(f"{front}/redis/metrics").read())
        self.assertIn(b"<html", opener.open(f"{front}/redis/").read()[:2000].lower())
        self.assertGreater(len(opener.open(f"{front}/redis/page-data").read()), 100)
        profile = opener.open(f"{front}/redis/debug/pprof/profile?seconds=1", timeout=60).read()
        self.assertIn(b"answer", gzip.decompress(profile))
        self.assertGreater(json.loads(opener.open(f"{front}/redis/report.json?last=60").read())["samples"], 0)
        for url in (f"{front}/redis/metrics", f"{front}/redis/"):
            with self.assertRaisesRegex(Exception, "401"):
                urllib.request.urlopen(url)

    def test_nginx(self):
        self.need("nginx")
        port = fleet.free_port()
        recipe = self.text("fleet.md", "location /redis/ {", self.replaced("/etc/nginx/sampan.users"))
        user = f"user {getpass.getuser()};" if getpass.getuser() == "root" else ""
        (self.path / "nginx.conf").write_text(user + NGINX.format(path=self.path, port=port, recipe=recipe))
        self.start(["nginx", "-p", self.path, "-e", self.path / "nginx-error.log", "-c", self.path / "nginx.conf", "-g", "daemon off;"], "nginx.log")
        self.judge(f"http://127.0.0.1:{port}")

    def test_apache(self):
        self.need("apache2")
        port = fleet.free_port()
        recipe = self.text("fleet.md", "<Location \"/redis/\">", self.replaced("/etc/apache2/sampan.users"))
        modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES.split())
        (self.path / "apache.conf").write_text(APACHE.format(path=self.path, port=port, user="www-data", modules=modules, recipe=recipe))
        (self.path / "users").chmod(0o644)
        self.start(["apache2", "-f", self.path / "apache.conf", "-DFOREGROUND"], "apache.log")
        self.judge(f"http://127.0.0.1:{port}")


if __name__ == "__main__":
    unittest.main()
