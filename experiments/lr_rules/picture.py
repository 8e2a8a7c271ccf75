"""The picture: what each rule ended with, by the number of workers."""

from pathlib import Path

import matplotlib.pyplot as plt
from comparison import TUNINGS, Outcome
from figures import MEASURES, RULES, SYNC
from matplotlib.axes import Axes
from verdicts import WHERE

COLOURS = dict(zip((SYNC, *RULES), ("black", "C3", "C0", "C2", "C1", "C4"), strict=True))
APART = 0.08  # of rules beside each other, where 1 is from one number of workers to the next


def picture(outcomes: list[Outcome], path: Path) -> None:
    """Draw a row of panels a task, a panel a tuning, into a PNG."""
    figure, panels = plt.subplots(len(MEASURES), len(TUNINGS), figsize=(10, 7.5), squeeze=False)
    for row, task in zip(panels, MEASURES, strict=True):
        row[0].set_ylabel(f"{task}: {MEASURES[task].name}, held out")
        for panel, tuning in zip(row, TUNINGS, strict=True):
            _draw(panel, [one for one in outcomes if (one.task, one.tuning) == (task, tuning)])
    for panel, tuning in zip(panels[0], TUNINGS, strict=True):
        panel.set_title(WHERE[tuning])
    for panel in panels[-1]:
        panel.set_xlabel("workers")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="lower center", ncols=3)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw(panel: Axes, outcomes: list[Outcome]) -> None:
    workers = sorted({one.workers for one in outcomes})
    panel.set_xticks(range(len(workers)), [str(number) for number in workers])
    for place, rule in enumerate((SYNC, *RULES)):
        own = [one for one in outcomes if one.rule == rule]
        panel.errorbar(
            [workers.index(one.workers) + APART * (place - len(RULES) / 2) for one in own],
            [one.figure.mean for one in own],
            yerr=[one.figure.half for one in own],
            label="ps-sync" if rule == SYNC else f"ps-async, {rule}",
            color=COLOURS[rule],
            marker="o",
            markersize=4,
            linewidth=1,
            capsize=2,
        )
