"""How plots show strategies, and the parts of a step."""

from collections.abc import Iterable

import numpy as np

_KNOWN = {
    "ring": "#0072B2",
    "tree": "#D55E00",
    "ps-sync": "#009E73",
    "ps-async": "#CC79A7",
    "native": "#56B4E9",
    "none": "#E69F00",
    "bare": "#000000",
    "ddp": "#56657F",
    "double_tree": "#882255",
    "recursive_doubling": "#332288",
    "halving_doubling": "#5B8C00",
    "direct": "#AA4499",
    "star": "#8C510A",
    "hierarchical_leaders": "#CC3344",
    "hierarchical_rails": "#006D77",
    "auto": "#7F7F7F",
}
_OTHERS = ("#999933", "#7B68EE", "#A0A0C0", "#E88FA0")
"""Okabe and Ito 2008, for colour-blind readers, without the yellow, too faint for lines; then what
is told apart from those, some of it of Tol 2021. What is not known by name has the others."""

NUM_COLORS = len(_KNOWN) + len(_OTHERS)

PART_COLORS = {
    "compute": "#4C566A",
    "wait": "#E9C46A",
    "comm": "#C8553D",
    "sync": "#D98C53",
    "update": "#6A9FB5",
    "other": "#D9D9D9",
}
"""Parts of a step's time: they differ in lightness too, so that they print in grey."""


def strategy_colors(strategies: Iterable[str]) -> dict[str, str]:
    """Return a colour for each strategy's label, in their order.

    The well-known ones look the same in every run; others take what is left, in turn.
    """
    names = list(dict.fromkeys(strategies))
    free = [*_OTHERS, *(color for name, color in _KNOWN.items() if name not in names)]
    others = [name for name in names if name not in _KNOWN]
    found = {name: free[number % len(free)] for number, name in enumerate(others)}
    return {name: _KNOWN.get(name) or found[name] for name in names}


def line_widths(strategies: Iterable[str]) -> dict[str, float]:
    """Return a width for each strategy's lines, in their order.

    Synchronous strategies learn alike, and in virtual time some take exactly as long: a line below
    another is to show at its edges.
    """
    names = list(dict.fromkeys(strategies))
    widest = min(4.0, max(2.8, 1.4 + 0.5 * (len(names) - 1)))
    return dict(zip(names, np.linspace(widest, 1.4, len(names)).tolist(), strict=True))
