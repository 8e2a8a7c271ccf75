"""How a process knows that it is a job's driver, and what it then says of a relative --out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from psbench.live.submission import relative_out_warning, submission_id

CONFIG = {"runtime_env": {"working_dir": "gcs://x.zip"}, "metadata": {"job_submission_id": "j7"}}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (json.dumps(CONFIG), "j7"),
        (None, None),
        ("{}", None),
        ('{"metadata": {}}', None),
        ('{"metadata": null}', None),
        ("[]", None),
        ("not JSON", None),
    ],
)
def test_a_job_is_known_by_its_configuration(monkeypatch, text, known):
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    if text is not None:
        monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", text)
    assert submission_id() == known


def test_a_job_without_an_absolute_out_is_told_where_its_results_will_be(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    assert relative_out_warning(None) is None
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(CONFIG))
    assert relative_out_warning(Path("/shared/x")) is None
    for out, folder in ((None, "results"), (Path("x/y"), "x/y")):
        warning = relative_out_warning(out)
        assert warning.startswith(f"results go to {tmp_path / folder} on ")
        assert warning.endswith("give --out an absolute path to keep them")


def test_knowing_it_needs_no_ray():
    code = "import sys, psbench.live.submission; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
