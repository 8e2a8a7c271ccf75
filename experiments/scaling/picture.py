"""Draw how strategies scale in virtual time, and mark where one passes another.

psbench run experiments/scaling/spec.yaml --out flat
psbench run experiments/scaling/hosts.yaml --out hosts
python experiments/scaling/picture.py flat hosts results/scaling-simulated.png
"""

import math
import sys
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

import psbench

TITLES = {"resnet50": "ResNet-50", "vgg16": "VGG-16"}
NETWORKS = {"ethernet-25g": "25 GbE, TCP", "rdma-100g": "100 Gbit/s RDMA"}
LINES = {  # by the label's beginning: what it is called, colour, style
    "ring": ("ring", "#0072b2", "-"),
    "halving_doubling": ("halving-doubling", "#009e73", "-"),
    "double_tree(chunks=auto)": ("double tree", "#56b4e9", "-"),
    "tree(chunks=auto)": ("tree", "#999999", "-"),
    "hierarchical_rails, 8 a host": ("rails, 8 a host", "#5e3c99", "-"),
    "ps-sync": ("PS, 1 server", "#b2182b", "--"),
    "ps-sync(servers=8)": ("PS, 8 servers", "#e08214", "--"),
    "ps-sync(servers=64)": ("PS, 64 servers", "#cc79a7", "--"),
    "ps-sync(servers=workers)": ("PS, p servers", "#000000", "--"),
}
FLAT = ("ring", "halving_doubling", "double_tree(chunks=auto)", "tree(chunks=auto)")
MARKED = (  # whose crossings are marked, with whom
    ("ps-sync(servers=8)", "the best all-reduce"),
    ("ps-sync(servers=64)", "the best all-reduce"),
    ("ring", "ps-sync(servers=workers)"),
    ("ring", "double_tree(chunks=auto)"),
)


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """From so many workers on, `behind` takes longer than `ahead` did before."""

    behind: str
    ahead: str
    workers: float


def crossing(behind: dict[int, float], ahead: dict[int, float]) -> float | None:
    """Return from how many workers on the first takes longer than the second for good, between two
    measured worlds by their logarithms; None where it never does, or always has.

    Both are seconds a step by the number of workers.
    """
    worlds = sorted(behind.keys() & ahead.keys())
    gaps = [math.log(behind[p] / ahead[p]) for p in worlds]
    for place in range(len(worlds) - 1, 0, -1):
        before, after = gaps[place - 1], gaps[place]
        if before <= 0 < after and all(gap > 0 for gap in gaps[place:]):
            share = -before / (after - before)
            low, high = math.log(worlds[place - 1]), math.log(worlds[place])
            return math.exp(low + share * (high - low))
    return None


def steps(run: str, suffix: str = "") -> pd.DataFrame:
    """Return task, network, strategy (with `suffix`), workers and step_s of a run's cells."""
    summary = psbench.load(run).summary()
    strategy = summary["label"].str.replace(r", \d+ workers?.*", "", regex=True) + suffix
    return pd.DataFrame(
        {
            "task": summary["task"],
            "network": summary["network.preset"],
            "strategy": strategy,
            "workers": summary["workers"],
            "step_s": summary["step_s"],
        }
    )


def by_workers(panel: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Return seconds a step by strategy and workers, with those of the best flat all-reduce."""
    found = {
        name: dict(zip(own["workers"], own["step_s"], strict=True))
        for name, own in panel.groupby("strategy")
    }
    worlds = found["ring"].keys()
    found["the best all-reduce"] = {p: min(found[name][p] for name in FLAT) for p in worlds}
    return found


def crossings(found: dict[str, dict[int, float]]) -> list[Crossing]:
    """Return those that are MARKED, as far as they are there."""
    pairs = [(*pair, crossing(found[pair[0]], found[pair[1]])) for pair in MARKED]
    return [Crossing(behind=b, ahead=a, workers=p) for b, a, p in pairs if p is not None]


def draw(axes: Axes, found: dict[str, dict[int, float]]) -> None:
    """Draw one panel: efficiency over workers."""
    alone = found["ring"][1]
    for name, (label, colour, style) in LINES.items():
        own = {p: 100 * alone / seconds for p, seconds in sorted(found[name].items()) if p > 1}
        axes.plot(
            list(own), list(own.values()), style, color=colour, label=label,
            linewidth=1.8, marker="o", markersize=2.5,
        )  # fmt: skip
    for number, one in enumerate(crossings(found)):
        behind = sorted(found[one.behind].items())
        worlds, seconds = zip(*behind, strict=True)
        place = next(i for i, p in enumerate(worlds) if p >= one.workers)
        low, high = worlds[place - 1], worlds[place]
        share = math.log(one.workers / low) / math.log(high / low)
        at = seconds[place - 1] ** (1 - share) * seconds[place] ** share
        spot = {"color": "white", "markeredgecolor": "black", "markersize": 10}
        axes.plot([one.workers], [100 * alone / at], "o", **spot)
        axes.annotate(
            str(number + 1), (one.workers, 100 * alone / at), ha="center", va="center", fontsize=6.5
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks([4, 16, 64, 256, 1024, 4096])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda p, _: f"{int(p):,}"))
    axes.set_ylim(0, None)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    words = [f"{number + 1}  {told(one)}" for number, one in enumerate(crossings(found))]
    axes.text(
        0.985, 0.97, "\n".join(words), transform=axes.transAxes, ha="right", va="top", fontsize=8,
        multialignment="left",
        bbox={"facecolor": "white", "edgecolor": "0.8", "boxstyle": "round,pad=0.4"},
    )  # fmt: skip


def told(one: Crossing) -> str:
    """Return a crossing in words."""
    ahead = LINES[one.ahead][0] if one.ahead in LINES else one.ahead
    digits = f"{one.workers:,.0f}" if one.workers < 100 else f"{round(one.workers, -1):,.0f}"
    return f"{LINES[one.behind][0]} behind {ahead} from {digits} on"


def main(flat: str, hosts: str, target: str) -> None:
    """Draw the runs in the folders `flat` and `hosts` into the file `target`."""
    on_hosts = steps(hosts, ", 8 a host")
    rails = on_hosts[on_hosts["strategy"].isin(LINES)]
    rows = pd.concat([steps(flat), rails])
    figure, panels = plt.subplots(2, 2, figsize=(12, 9), sharex=True, layout="constrained")
    for row, (task, model) in zip(panels, TITLES.items(), strict=True):
        for axes, (preset, network) in zip(row, NETWORKS.items(), strict=True):
            panel = rows[(rows["task"] == task) & (rows["network"] == preset)]
            found = by_workers(panel)
            draw(axes, found)
            axes.set_title(f"{model}, {network}", fontsize=11)
            print(f"{model}, {network}")
            for one in crossings(found):
                print(f"  {told(one)}")
    for axes in panels[:, 0]:
        axes.set_ylabel("efficiency, % of p times one worker")
    for axes in panels[-1]:
        axes.set_xlabel("workers p, one a host but for rails (8 a host, one card)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(
        "How strategies scale in virtual time: batch 32 a worker, all sent after the backward pass",
        fontsize=13,
    )
    figure.savefig(target, dpi=85, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
