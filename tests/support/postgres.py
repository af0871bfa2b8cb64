#!/usr/bin/env python3
"""A PostgreSQL server of Debian's in a folder of its own, for the time of a command:

    tests/support/postgres.py build/release/qw_study_test --gtest_filter='*postgres*'

With --durable before the command, what it commits is on the disk, as on a server that matters; tests do without.
It listens on a socket in its folder, without passwords, and on 127.0.0.1, with one. The command finds it by

    QW_TEST_POSTGRES      postgresql://USER@SOCKET, to which a test adds /DATABASE
    QW_TEST_POSTGRES_TCP  127.0.0.1:PORT

Ends with 77, and a line that says why, where no server can be started.
"""
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

USER = "qw"
PASSWORD = "p/w:@?"
SKIPPED = 77
START_LIMIT = 60  # seconds
SETTINGS = {"max_connections": "60", "shared_buffers": "32MB", "logging_collector": "off", "autovacuum": "on"}
# What is thrown away soon need not survive a crash of the machine.
FORGETFUL = {"fsync": "off", "full_page_writes": "off"}


class NoServer(Exception):
    """Why there is none."""


def programs():
    """The folder of the newest initdb and postgres."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise NoServer("PostgreSQL is not installed (Debian's package postgresql)")
    return found[-1].parent


def account():
    """Who the server runs as: it refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoServer("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


class Server:
    def __init__(self, durable=False):
        self.bin, self.account = programs(), account()
        self.settings = {**SETTINGS, **({} if durable else FORGETFUL)}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="qw-pg-"))
        self.process = None
        try:
            self.make()
            self.start()
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def as_user(self):
        if self.account is None:
            return {}
        return {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}

    def make(self):
        password = self.folder / "password"
        password.write_text(PASSWORD + "\n")
        if self.account is not None:
            for path in (self.folder, password):
                os.chown(path, self.account.pw_uid, self.account.pw_gid)
        made = subprocess.run([self.bin / "initdb", "-D", self.folder / "data", "-U", USER, "--no-sync", "--encoding=UTF8",
                               "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"],
                              capture_output=True, text=True, cwd=self.folder, **self.as_user())
        if made.returncode != 0:
            raise NoServer(f"initdb failed: {(made.stderr or made.stdout).strip().splitlines()[-1]}")

    def start(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = self.port if hasattr(self, "port") else probe.getsockname()[1]
        options = [f"-c{name}={value}" for name, value in self.settings.items()]
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder / "data", f"-p{self.port}", f"-k{self.folder}", "-h127.0.0.1",
             *options], stdout=self.log, stderr=self.log, cwd=self.folder, start_new_session=True, **self.as_user())
        end = time.monotonic() + START_LIMIT
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", self.folder, f"-p{self.port}"]).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise NoServer(f"the server did not start: {(self.folder / 'log').read_text()[-300:]}")
            time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """SIGINT ends all connections; SIGQUIT is a crash."""
        self.process.send_signal(how)
        self.process.wait()
        self.log.close()

    def remove(self):
        if self.process is not None and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database=""):
        """By the socket."""
        host = urllib.parse.quote(str(self.folder), safe="")
        return f"postgresql://{USER}@{host}:{self.port}" + (f"/{database}" if database else "")

    def sql(self, text, database="postgres"):
        """The rows, as psql prints them without decoration."""
        done = subprocess.run([self.bin / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", text],
                              capture_output=True, text=True, check=True)
        return done.stdout.splitlines()


def main():
    command = sys.argv[1:]
    durable = command[:1] == ["--durable"]
    try:
        server = Server(durable)
    except NoServer as reason:
        print(f"PostgreSQL: {reason}")
        return SKIPPED
    with server:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        environment = {**os.environ, "QW_TEST_POSTGRES": server.url(), "QW_TEST_POSTGRES_TCP": f"127.0.0.1:{server.port}"}
        return subprocess.run(command[durable:], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
