"""The page and the picture of this experiment.

    python experiments/lr_rules/page.py [RUN RUN]

writes README.md beside this file and lr_rules.png into results/, from results/lr_rules.csv; with
the runs of final_digits_cnn.yaml and final_byte_lm.yaml it writes that first.
"""

import sys
from pathlib import Path

import pandas as pd
import yaml
from comparison import TUNINGS, Outcome, outcomes
from figures import MEASURES, SYNC, trial_figures
from picture import picture
from verdicts import WHERE, sentences, verdict_table

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "results"
TRIALS = RESULTS / "lr_rules.csv"

TEXT = """\
# What learning-rate rules restore of asynchronous training

<!-- Written by page.py: change that, not this. -->

An asynchronous server takes each gradient as it comes, so gradients are stale, and with p workers
it makes p updates where a synchronous one makes one. What does that cost, and which `lr_rule` wins
it back? Each rule ran with 1, 2, 4 and 8 workers, once at the learning rate that is best for
`ps-sync` with as many workers, and once at its own best rate.

{sentences}

{verdicts}

![What each rule ended with](../../results/lr_rules.png)

A rule is compared with `ps-sync` in trials of the same seed, which start from the same parameters
and draw the same batches. By the 95 % t-interval of its mean gain over {repeats} seeds it is

- **as sync**, where the whole interval lies above minus {margins};
- **restored**, where it is as sync, and `none`, no rule, is not; restored **in part**, where it is
  not shown to be as sync either, but ended better than `none` (the interval of that gain lies above
  zero);
- else **worse**, where the whole interval lies below that, or **unclear**, where that lies in it;
- marked **+**, where the whole interval lies above zero: it ended better than sync.

With one worker nothing is stale and all rules are one, so it has no row there.

## Figures

Means over {repeats} seeds with 95 % t-intervals. Gains over sync, in pairs, are positive where the
rule did better.

{tables}

## How it was made

{tasks}
- **Tuning.** Sync and every rule were tried at the same rates with the same seeds, which are not
  those above. The best mean at the end was taken, the lowest rate of equal ones; so few trials
  leave a choice uncertain by a step or two of the grid where the optimum is flat, for all alike. No
  best rate lay at the edge. Options of the rules were not tuned. The held-out samples are the same
  in choosing and above.
- Sync and async see as many samples; there is no momentum but Adam's.
- A trial that diverged, or ended worse than guessing blindly, counts as guessing blindly.
- **Machine.** {cores} cores, shared memory. Up to {workers} workers and the server share these
  cores, so the staleness is what this machine made of it; another makes another. Asynchronous
  trials do not repeat bit by bit.
- Each trial: [`results/lr_rules.csv`](../../results/lr_rules.csv).

```
for task in digits_cnn byte_lm; do
    psbench run experiments/lr_rules/sweep_$task.yaml --out lr_rules/sweep_$task
    python experiments/lr_rules/choose.py lr_rules/sweep_$task
    psbench run experiments/lr_rules/final_$task.yaml --out lr_rules/final_$task
done
python experiments/lr_rules/page.py lr_rules/final_digits_cnn lr_rules/final_byte_lm
```
"""


def main() -> None:
    if runs := sys.argv[1:]:
        collect(runs).to_csv(TRIALS, index=False, float_format="%.6g", lineterminator="\n")
    trials = pd.read_csv(TRIALS, keep_default_na=False)
    found = outcomes(trials)
    (HERE / "README.md").write_text(page(trials, found))
    picture(found, RESULTS / "lr_rules.png")


def collect(runs: list[str]) -> pd.DataFrame:
    """Return the trials of the final runs, with whose best rate each has, and the cores."""
    import psbench

    frames = []
    for run in runs:
        results = psbench.load(run)
        trials = trial_figures(results)
        trials.insert(4, "tuning", tunings(trials))
        trials["cores"] = results.manifest["environment"]["cores"]["available"]
        frames.append(trials)
    return pd.concat(frames)


def tunings(trials: pd.DataFrame) -> pd.Series:
    """Return whose best rate each trial has: "sync", the rule's "own", or "both" where they are
    one."""
    sync = trials[trials["rule"] == SYNC].groupby("workers")["lr"].first()
    at_own = trials["lr"] != trials["workers"].map(sync)
    num_rates = trials.groupby(["workers", "rule"])["lr"].transform("nunique")
    return at_own.map({True: "own", False: "sync"}).where(num_rates > 1, "both")


def page(trials: pd.DataFrame, found: list[Outcome]) -> str:
    """Return the page, which says nothing that is not in the trials or the sweeps' specs."""
    (cores,) = trials["cores"].unique()
    return TEXT.format(
        sentences=sentences(found),
        verdicts=verdict_table(found),
        repeats=trials["repeat"].nunique(),
        margins=" or ".join(f"{one.margin} {one.name}" for one in MEASURES.values()),
        tables="\n\n".join(_table(found, task, tuning) for task in MEASURES for tuning in TUNINGS),
        tasks="\n".join(_described(task) for task in MEASURES),
        cores=cores,
        workers=trials["workers"].max(),
    )


def _table(found: list[Outcome], task: str, tuning: str) -> str:
    measure = MEASURES[task]
    lines = [
        f"**`{task}`, {WHERE[tuning]}**",
        "",
        f"| workers | rule | rate | {measure.name} | gain over sync | staleness, mean |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        if (one.task, one.tuning) != (task, tuning):
            continue
        rule = "`ps-sync`" if one.rule == SYNC else f"`{one.rule}`"
        gain = "" if one.rule == SYNC else f"{one.gain.mean:+.3f} ± {one.gain.half:.3f}"
        diverged = f", {one.num_diverged} diverged" if one.num_diverged else ""
        lines.append(
            f"| {one.workers} | {rule} | {one.lr:g} | {one.figure.mean:.3f} ± {one.figure.half:.3f}"
            f"{diverged} | {gain} | {one.staleness:.1f} |"
        )
    return "\n".join(lines)


def _described(task: str) -> str:
    sweep = yaml.safe_load((HERE / f"sweep_{task}.yaml").read_text())
    rates = ", ".join(f"{rate:g}" for rate in sweep["matrix"]["task.optimizer.lr"])
    trials = "1 trial" if sweep["repeats"] == 1 else f"{sweep['repeats']} trials"
    return (
        f"- **`{task}`**: {sweep['task']['optimizer']['kind']}, {sweep['steps']} steps of"
        f" {sweep['batch']['per_worker']} samples a worker; an asynchronous trial ends after as"
        f" many pushes of each worker in the mean. Rates {rates}; {trials} each to choose by."
        f" Guessing blindly makes {MEASURES[task].blind:.3g} {MEASURES[task].name}."
    )


if __name__ == "__main__":
    main()
