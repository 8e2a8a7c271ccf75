"""A published model in virtual time: what its layers share is when its buckets may begin."""

import pytest

from psbench.network import PRESETS, PROFILES
from psbench.results import TrialRow
from psbench.schedules import COSTS
from psbench.simulated.run_trial import run_trial
from psbench.spec import Cell, Trial


def test_a_bucket_begins_when_its_layers_are_computed():
    cell = Cell(
        task={"profile": "resnet50"},
        batch={"per_worker": 64},
        compute={"seconds": "200 ms"},
        workers=2,
        steps=1,
        strategy={"kind": "all_reduce", "algorithm": "ring", "bucket": "25 MiB", "overlap": True},
        engine="simulated",
        network="ethernet-100g",
    )
    trial = Trial(cell=cell, repeat=0, seed=0)
    *batches, summary = run_trial(trial, cell_id="x", attempt=0)
    assert isinstance(summary, TrialRow)
    assert (summary.status, summary.samples) == ("ok", 128)
    profile, link = PROFILES["resnet50"], PRESETS["ethernet-100g"]
    numel = profile.parameters
    # each bucket is over before the next one is known
    known = [0.2 * profile.share_computed(part * numel // 4, numel) for part in (3, 2, 1, 0)]
    took = COSTS["ring"](2, numel, **link.costs())
    for row in (row for batch in batches for row in batch):
        assert row.samples == 64
        assert row.enters == pytest.approx(known)
        assert row.exits == pytest.approx([begin + took for begin in known], rel=1e-6)
