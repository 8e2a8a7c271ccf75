"""The picture: how much of linear scaling is left, a panel a model and network.

    python experiments/scaling/picture.py RUN_OF_SPEC RUN_OF_HOSTS

draws results/scaling-simulated.png.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from crossovers import FEWEST, Crossover, crossovers
from figures import ONE_EACH, RAILS, efficiencies, step_times
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

PICTURE = Path(__file__).parents[2] / "results" / "scaling-simulated.png"
MODELS = {"resnet50": "ResNet-50", "vgg16": "VGG-16"}
NETWORKS = {"ethernet-25g": "25 Gbit/s Ethernet", "rdma-100g": "100 Gbit/s RDMA"}
TITLE = "How synchronous training scales, in virtual time: all-reduce and parameter servers (PS)"
SUBTITLE = (
    "32 samples a worker, float32, all gradients at once after the backward pass (no overlap). A"
    " card for each worker, and for each server (PS), which are on other hosts;\n"
    "dashed: by rails, where 8 workers of a host share one card. Scales differ from panel to panel."
)


class Look(NamedTuple):
    """How a strategy is drawn, and what it is called at the right."""

    colour: str
    label: str
    width: float = 1.5
    style: str = "-"


LOOKS = {
    "halving-doubling": Look("#111111", "halving-doubling", width=3.2),
    "ring": Look("#1F83C6", "ring"),
    "double tree": Look("#AA3377", "double tree"),
    "tree": Look("#D55E00", "tree"),
    RAILS: Look("#6A5ACD", "rails, 8 a host", style="--"),
    ONE_EACH: Look("#0B5D3B", "PS = workers"),
    "64 servers": Look("#2E9E5B", "64 PS"),
    "8 servers": Look("#69B578", "8 PS"),
    "1 server": Look("#9CCB94", "1 PS"),
}
"""By strategy; what is drawn later lies above."""
LINE = 0.05
"""The height of a label, where that of a panel is 1."""
MARKS = "#C1121F"


def picture(times: pd.DataFrame, path: Path) -> None:
    """Draw a row of panels a model, a panel a network, into a PNG."""
    models = [name for name in MODELS if name in set(times["model"])]
    networks = [name for name in NETWORKS if name in set(times["network"])]
    size = {"figsize": (6 * len(networks), 1.1 + 3.9 * len(models)), "squeeze": False}
    figure, panels = plt.subplots(len(models), len(networks), **size)
    for row, model in zip(panels, models, strict=True):
        row[0].set_ylabel("samples/s, % of linear scaling\nof one worker alone")
        for panel, network in zip(row, networks, strict=True):
            own = times[(times["model"] == model) & (times["network"] == network)]
            panel.set_title(f"{MODELS[model]}, {NETWORKS[network]}", fontweight="bold", fontsize=11)
            draw(panel, efficiencies(own), own)
    for panel in panels[-1]:
        panel.set_xlabel("workers")
    height = figure.get_figheight()
    figure.suptitle(TITLE, x=0.01, y=1 - 0.12 / height, ha="left", fontweight="bold", fontsize=13)
    figure.text(0.01, 1 - 0.38 / height, SUBTITLE, ha="left", va="top", fontsize=9.5, color="0.25")
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.45 / height), w_pad=2)
    save(figure, path)
    plt.close(figure)


def draw(panel: Axes, shares: pd.DataFrame, times: pd.DataFrame) -> None:
    """Draw a line a strategy, where workers have others, on other hosts, to agree with."""
    hosts = times.set_index(["workers", "strategy"])["ranks_per_host"]
    ends = []
    for name, look in LOOKS.items():
        if name not in shares:
            continue
        alone = max(FEWEST - 1, int(hosts.xs(name, level="strategy").max()))
        line = shares.loc[shares.index > alone, name].dropna()
        panel.plot(
            line.index, line, color=look.colour, linestyle=look.style, linewidth=look.width,
            marker="o", markersize=look.width + 1.5,
        )  # fmt: skip
        ends.append((float(line.iloc[-1]), look))
    shown = shares[shares.index >= FEWEST]
    panel.set_xscale("log", base=2)
    panel.set_xticks(list(shown.index), [f"{count:,}" for count in shown.index], fontsize=8)
    panel.minorticks_off()
    panel.set_xlim(shown.index.min() / 1.15, shown.index.max() * 1.1)
    panel.set_ylim(0, 1.22 * max(line.get_ydata().max() for line in panel.lines))
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(alpha=0.2)
    label(panel, ends)
    mark(panel, crossovers(shares))


def label(panel: Axes, ends: Sequence[tuple[float, Look]]) -> None:
    """Name each line at its end, as near to that as its neighbours allow."""
    top = panel.get_ylim()[1]
    ordered = sorted(ends, key=lambda one: one[0])
    heights = apart([max(LINE, end / top) for end, _ in ordered], LINE)  # none below the axis
    for height, (end, look) in zip(heights, ordered, strict=True):
        panel.annotate(
            look.label,
            (1, end / top),
            (1.05, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=look.colour,
            fontsize=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": look.colour, "linewidth": 0.6, "shrinkA": 1},
            annotation_clip=False,
        )


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Return heights as near to the `wanted`, ascending ones as keeps them `gap` apart: those that
    are too near stand around their middle."""
    groups: list[list[float]] = []
    for one in wanted:
        groups.append([one])
        while len(groups) > 1 and _bottom(groups[-1], gap) < _bottom(groups[-2], gap) + gap * len(
            groups[-2]
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, gap) + gap * place for group in groups for place in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def mark(panel: Axes, found: Sequence[Crossover]) -> None:
    """Put a lettered dot at each crossover, and say above the lines what it is."""
    notes = []
    for place, one in enumerate(found):
        letter = chr(ord("a") + place)
        panel.plot(one.workers, one.height, "o", color=MARKS, markersize=6, zorder=5)
        panel.annotate(
            letter,
            (one.workers, one.height),
            (0, 5 if place % 2 == 0 else -13),  # those at one place beside each other
            textcoords="offset points",
            ha="center",
            fontweight="bold",
            color=MARKS,
        )
        notes.append(f"{letter}  from {two_digits(one.workers)}: {said(one)}")
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    panel.text(
        1.0, 1.0, "\n".join(notes), transform=panel.transAxes, ha="right", va="top", fontsize=8.5,
        color=MARKS, bbox=box,
    )  # fmt: skip


def two_digits(number: float) -> str:
    return f"{round(float(f'{number:.1e}')):,}"


def said(one: Crossover) -> str:
    """Say who is ahead of whom."""
    ahead, behind = (name.replace("servers", "PS") for name in (one.ahead, one.behind))
    return (
        f"as many PS as workers beat {behind}" if ahead == ONE_EACH else f"{ahead} beats {behind}"
    )


def save(figure: Figure, path: Path) -> None:
    """Write a PNG of few colours, a third as large."""
    whole = io.BytesIO()
    figure.savefig(whole, dpi=110)
    Image.open(whole).convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    picture(step_times(*sys.argv[1:]), PICTURE)


if __name__ == "__main__":
    main()
