"""What a spec says of servers' learning-rate rules and clipping, and where they mean nothing."""

import pytest

from psbench.errors import SpecError
from psbench.spec import LR_RULES, Spec, cell_id

MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
SYNC = {"consistency": "synchronous"}
SSP = {"consistency": "bounded_staleness", "bound": 2}


def make(task=MODEL, cluster=None, **fields):
    strategy = {"kind": "parameter_server", "consistency": "asynchronous"} | fields
    batch = {"batch": {"per_worker": 4}} if "model" in task else {}
    (cell,) = Spec(
        name="x", task=task, workers=4, steps=3, strategy=strategy, cluster=cluster, **batch
    ).cells()
    return cell


def rule(kind, **options):
    return {"lr_rule": {"kind": kind, **options}}


@pytest.mark.parametrize("others", [{}, {"staleness": 3}, SSP, {"servers": 2}, {"bucket": "4 KiB"}])
@pytest.mark.parametrize("name", LR_RULES)
def test_a_name_is_short_for_a_map(name, others):
    assert make(lr_rule=name, **others) == make(**rule(name), **others)
    assert make(lr_rule=name, **others).strategy.lr_rule.kind == name


def test_none_is_what_is_left_out():
    assert cell_id(make(lr_rule="none", clip_norm=None)) == cell_id(make())
    assert make(lr_rule="none", **SYNC) == make(**SYNC)


def test_defaults_and_labels():
    constant, adaptive = make(lr_rule="delay_compensated"), make(lr_rule=LR_RULES[-1])
    assert constant.strategy.lr_rule.strength == 0.04
    assert (adaptive.strategy.lr_rule.strength, adaptive.strategy.lr_rule.decay) == (2.0, 0.95)
    same = rule("delay_compensated_adaptive", strength=2.0, decay=0.95)
    assert cell_id(make(**same)) == cell_id(adaptive)
    assert cell_id(make(**rule("delay_compensated", strength=0.1))) != cell_id(constant)
    assert constant.label == "ps-async(lr_rule=delay_compensated), 4 workers"
    assert (
        make(**rule("delay_compensated_adaptive", decay=0.5), clip_norm=1.5).label
        == "ps-async(lr_rule=delay_compensated_adaptive(decay=0.5), clip_norm=1.5), 4 workers"
    )


def test_both_are_axes():
    axes = {"strategy.lr_rule": ["none", "staleness_aware"], "strategy.clip_norm": [None, 1.0]}
    fields = {"name": "x", "task": MODEL, "batch": {"global": 8}, "steps": 1, "workers": 2}
    cells = Spec(**fields, strategy="ps-async", matrix=axes).cells()
    got = [(cell.strategy.lr_rule.kind, cell.strategy.clip_norm) for cell in cells]
    assert got == [(k, n) for k in ("none", "staleness_aware") for n in (None, 1.0)]
    axes = {"strategy.lr_rule.strength": [0.01, 0.1]}
    strategy = {"kind": "parameter_server", "consistency": "asynchronous"}
    cells = Spec(**fields, strategy=strategy | rule("delay_compensated"), matrix=axes).cells()
    assert [cell.strategy.lr_rule.strength for cell in cells] == [0.01, 0.1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *(
            (
                SYNC | {"lr_rule": name},
                "strategy.lr_rule: only asynchronous and bounded_staleness servers have it, and"
                " these are synchronous",
            )
            for name in LR_RULES[1:]
        ),
        (
            {"lr_rule": "staleness_awar"},
            "strategy.lr_rule: unknown lr_rule 'staleness_awar'; did you mean 'staleness_aware'?"
            " (known: none, inverse_workers, staleness_aware, delay_compensated,"
            " delay_compensated_adaptive)",
        ),
        (
            {"lr_rule": 3},
            "strategy.lr_rule: expected a name (none, inverse_workers, staleness_aware,"
            " delay_compensated, delay_compensated_adaptive) or a map, got 3",
        ),
        (
            {"lr_rule": {"strength": 0.1}},
            "strategy.lr_rule.kind: missing; one of none, inverse_workers, staleness_aware,"
            " delay_compensated, delay_compensated_adaptive",
        ),
        (
            rule("inverse_workers", strength=0.1),
            "strategy.lr_rule: unknown field 'strength'; delay_compensated,"
            " delay_compensated_adaptive have it (known: kind)",
        ),
        (
            rule("delay_compensated", decay=0.1),
            "strategy.lr_rule: unknown field 'decay'; delay_compensated_adaptive has it"
            " (known: kind, strength)",
        ),
        (
            rule("delay_compensated", strength=0),
            "strategy.lr_rule.strength: must be greater than 0, got 0",
        ),
        (
            rule("delay_compensated_adaptive", decay=1.0),
            "strategy.lr_rule.decay: must be less than 1, got 1.0",
        ),
        (
            rule("delay_compensated_adaptive", decay=-0.5),
            "strategy.lr_rule.decay: must be at least 0, got -0.5",
        ),
        ({"clip_norm": 0}, "strategy.clip_norm: must be greater than 0, got 0"),
        ({"clip_norm": "1"}, "strategy.clip_norm: expected a number, got '1'"),
        ({"clip_norm": float("inf")}, "strategy.clip_norm: must be finite, got inf"),
        (
            {"clip_norm": 1.0, "servers": 2},
            "strategy.clip_norm: it is by the norm of the whole vector, and these servers' shards"
            " are parts of it; write servers: 1",
        ),
        (
            SYNC | {"clip_norm": 1.0, "bucket": "4 KiB"},
            "strategy.clip_norm: it is by the norm of the whole vector, and these servers' shards"
            " are parts of it; leave bucket out",
        ),
        (
            {"clip_norm": 1.0, "placement": "colocated", "cluster": {"hosts": 2}},
            "cluster: strategy.clip_norm is by the norm of the whole vector, and 2 servers on these"
            " hosts keep parts of it; write strategy.servers: 1",
        ),
        (
            {"task": {"payload": "4 kB"}, "lr_rule": "inverse_workers"},
            "strategy.lr_rule: a payload task learns nothing; leave it out",
        ),
        (
            SYNC | {"task": {"payload": "4 kB"}, "clip_norm": 1.0},
            "strategy.clip_norm: a payload task learns nothing; leave it out",
        ),
    ],
)
def test_what_means_nothing_is_refused_by_name(fields, message):
    with pytest.raises(SpecError) as error:
        make(**fields)
    assert str(error.value) == message


@pytest.mark.parametrize("option", [{"lr_rule": "staleness_aware"}, {"clip_norm": 1.0}])
def test_local_steps_send_no_gradients(option):
    over = {"kind": "parameter_server", "consistency": "asynchronous"} | option
    with pytest.raises(SpecError) as error:
        Spec(
            name="x",
            task=MODEL,
            batch={"per_worker": 4},
            workers=2,
            steps=8,
            strategy={"kind": "easgd", "every": 4, "over": over},
        )
    assert str(error.value) == (
        "strategy.over: lr_rule and clip_norm are of gradients, and none are sent; leave them out"
    )


def test_one_colocated_server_may_clip():
    one = {"clip_norm": 1.0, "placement": "colocated", "servers": 1}
    assert make(**one, cluster={"hosts": 2}).servers == 1
    assert make(clip_norm=1.0, placement="colocated").servers == 1
