"""psbench as jobs of a Ray cluster: two nodes of three CPUs each, and what README says to type."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest

import psbench

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
AS_IN_README = (
    "ray job submit --address http://127.0.0.1:8265 --working-dir . --"
    " psbench run experiments/quickstart.yaml --out /some/shared/folder/quickstart"
)
SHORT = ["repeats=1", "steps=30", "warmup=5", "eval_every=null"]
SECONDS = 120.0  # of each wait: some take ten, on a busy machine sixty


def readme_command():
    """Return the words of the first block of README.md that submits a job."""
    blocks = re.findall(r"^```\w*\n(ray job submit.*?)^```", _readme(), re.DOTALL | re.MULTILINE)
    text = blocks[0] if blocks else AS_IN_README
    return shlex.split(text.replace("\\\n", " ").splitlines()[0])


def _readme():
    return (ROOT / "README.md").read_text()


class Cluster:
    """A Ray cluster of this machine, and jobs submitted to it as from a shell."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []
        # without what would win over --address
        clean = {name: os.environ[name] for name in os.environ if not name.startswith("RAY_")}
        self.env = clean | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": uuid.uuid4().hex,
            "PSBENCH_TEST": uuid.uuid4().hex,
        }

    def start(self):
        with socket.socket() as free:  # Ray's client server would take 10001, and knows no port 0
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        head = ["--head", "--port=0", "--dashboard-port=0", f"--ray-client-server-port={port}"]
        told = self._node(*head, f"--temp-dir={self.folder}")
        (self.dashboard,) = set(re.findall(r"RAY_API_SERVER_ADDRESS='([^']*)'", told))
        (address,) = set(re.findall(r"--address='([^']*)'", told))
        # a folder of its own, as on a host of its own: an agent that has not yet met the working
        # folder of a job unpacks it afresh, over the one that others may be running in
        self._node(f"--address={address}", f"--temp-dir={self.folder}/2")
        wait_until(self._takes_jobs)  # some seconds more

    def _takes_jobs(self):
        try:
            self.ask("jobs/", {"entrypoint": "true"})
        except urllib.error.HTTPError as error:
            if "No available agent" not in error.read().decode():
                raise
            return False
        return True

    def _node(self, *arguments):
        """Start a node and return what it says until it is up."""
        common = ["--block", "--num-cpus=3", "--object-store-memory=100000000"]
        common += ["--dashboard-agent-listen-port=0"]  # else 52365, and the second has no agent
        node = self._start(["ray", "start", *common, "--include-log-monitor=false", *arguments])
        told = ""
        for line in node.stdout:
            told += line
            if "will now block" in line:
                return told
        raise AssertionError(told)

    def _start(self, command):
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def submit(self, name, out, *settings):
        """Type README's command, with the address and folder of here, as job `name`."""
        words = readme_command()
        words[words.index("--address") + 1] = self.dashboard
        if out is None:
            del words[words.index("--out") :]
        else:
            words[words.index("--out") + 1] = str(out)
        words[3:3] = ["--submission-id", name]
        sets = [part for setting in settings for part in ("--set", setting)]
        return self._start([*words, *sets])

    def stop(self, name):
        command = ["ray", "job", "stop", "--address", self.dashboard, name]
        subprocess.run(command, env=self.env, check=True, capture_output=True, timeout=SECONDS)

    def ask(self, what, given=None):
        """Return an answer of the dashboard."""
        headers = {
            "Authorization": f"Bearer {self.env['RAY_AUTH_TOKEN']}",
            "Content-Type": "application/json",
        }
        data = None if given is None else json.dumps(given).encode()
        url = f"{self.dashboard}/api/{what}"
        request = urllib.request.Request(url, data, headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return json.load(answer)

    def log(self, name):
        """Return what job `name` has written, "" where Ray does not know it yet."""
        try:
            return self.ask(f"jobs/{name}/logs")["logs"]
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return ""

    def wait_for(self, name, text):
        """Return the log of job `name` once `text` is in it."""
        return wait_until(lambda: text in self.log(name) and self.log(name))

    def end(self):
        """End all that was started, what a job left included."""
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        for process in self.started:
            process.wait(timeout=20)
            process.stdout.close()

    def left(self):
        """Return the living processes that carry the mark."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if self.env["PSBENCH_TEST"].encode() in (entry / "environ").read_bytes():
                    found += [int(entry.name)] if (entry / "cmdline").read_bytes() else []
            except OSError:
                continue
        return found


def wait_until(answer, otherwise=lambda: "nothing more is known"):
    """Return what `answer()` gives once it is true; where it never is, tell `otherwise()`."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        given = answer()
        if given:
            return given
        time.sleep(0.2)
    raise AssertionError(f"waited too long: {otherwise()}")


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory(prefix="psb-", ignore_cleanup_errors=True) as folder:
        made = Cluster(folder)  # a short path: Ray's sockets lie deep in it
        try:
            made.start()
            yield made
        finally:
            made.end()


def finished(process):
    """Return the exit code and output of `ray job submit`."""
    output, _ = process.communicate(timeout=SECONDS)
    return process.returncode, output


def status(folder):
    return json.loads((folder / "status.json").read_text())["status"]


def has_steps(folder):
    return any(path.stat().st_size > 10_000 for path in folder.glob("steps/*.arrow"))


@pytest.mark.timeout(400)
def test_jobs_share_a_cluster_queue_for_it_and_are_stopped(cluster, tmp_path):
    one = cluster.submit(
        "one", tmp_path / "one", *SHORT, "workers=2", "matrix.strategy=[ring, ps-async]"
    )
    endless = ["workers=2", "steps=1000000", "matrix.strategy=[none]"]
    two = cluster.submit("two", tmp_path / "two", *endless)
    bad = cluster.submit("bad", tmp_path / "bad", "steps=many")

    code, output = finished(bad)
    assert code == 1, "ray's own code, whatever the job's is"
    assert "'bad' submitted successfully" in output, output
    assert cluster.ask("jobs/bad")["driver_exit_code"] == 2
    assert cluster.log("bad").splitlines()[-1].startswith("psbench: error: --set steps=many: ")
    assert not (tmp_path / "bad").exists()

    wait_until(lambda: has_steps(tmp_path / "two"), lambda: cluster.log("two"))
    # 5 CPUs: more than are free, and more than a node has
    wide = cluster.submit("wide", None, *SHORT, "matrix.strategy=[ps-sync]")
    log = cluster.wait_for("wide", "are free")
    assert re.search(r"^waiting for 5 CPUs of the cluster; [014] are free$", log, re.MULTILINE)

    code, output = finished(one)
    assert code == 0, output
    assert [line for line in output.splitlines() if line.startswith("[2/2]")], output
    check(tmp_path / "one", workers=2, strategies=["ps-async", "ring"])

    cluster.stop("two")
    assert finished(two)[0] == 0, "ray's own code for a stopped job"
    assert cluster.ask("jobs/two")["status"] == "STOPPED"
    assert cluster.log("two").splitlines()[-1] == "psbench: interrupted"
    assert status(tmp_path / "two") == "interrupted"
    assert len(psbench.load(tmp_path / "two").steps) > 10

    code, output = finished(wide)
    assert code == 0, output
    folder = re.search(r"^psbench: warning: results go to (\S+) on ", output, re.MULTILINE)[1]
    assert str(folder).startswith(cluster.folder), "Ray's copy of the working folder"
    (run,) = Path(folder).glob("quickstart/*")
    check(run, workers=4, strategies=["ps-sync"])


def check(folder, workers, strategies):
    """Check the results of one repeat of each strategy."""
    assert status(folder) == "finished"
    results = psbench.load(folder)
    assert sorted(results.trials["strategy"]) == strategies
    assert set(results.trials["status"]) == {"ok"}
    for strategy in strategies:
        steps = results.steps[results.steps["strategy"] == strategy]
        assert sorted(set(steps["rank"])) == list(range(workers))
        assert strategy == "ps-async" or len(steps) == 30 * workers
    assert (folder / "breakdown.png").exists()
