"""A picture of a schedule: ranks down, rounds across, an arrow for each message."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.transforms import ScaledTranslation

from psbench.errors import SpecError
from psbench.schedules import Round, Schedule
from psbench.units import count

SUFFIXES = (".png", ".svg", ".pdf")
MAX_RANKS = 32
MAX_ROUNDS = 64
MAX_MESSAGES = 1200
"""More arrows are a tangle."""

_COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933",
)  # fmt: skip
"""Of the chunks, where there are no more than these; else a colour map."""
_DASHED = (0, (3, 1.6))
_HOST_EDGE: dict[str, Any] = {"color": "0.4", "linewidth": 1, "linestyle": ":"}
_MAX_STRANDS = 8
_STRAND_GAP = 2.2  # points between the strands of a message
_WIDEST = 20.0  # inches of all rounds together, which get narrower then
_MARGIN = 0.12  # of a round's width, free at both sides
_TURN = 0.3  # of a round's width, between a rank's messages of one round


@dataclass(frozen=True, kw_only=True)
class _Message:
    """An arrow: from (begin, src) to (end, dst), rounds being 1 apart."""

    src: int
    dst: int
    begin: float
    end: float
    chunks: range
    reduce: bool


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A round's place across, and its messages."""

    left: float
    width: float
    messages: list[_Message]


def plot_messages(schedule: Schedule, title: str, *, ranks_per_host: int | None = None) -> Figure:
    """Return the message diagram of `schedule`, headed `title` and its figures.

    An arrow leads from the sender to the receiver, coloured by its chunks: a strand a chunk, or, of
    many, a strand for several. With `ranks_per_host` lines part the hosts. Raises SpecError for
    more ranks, rounds or messages than can be read.
    """
    columns = _columns(schedule)
    width = columns[-1].left + columns[-1].width if columns else 1.0
    num_rounds = count(len(columns), "round")
    figure = Figure(
        figsize=(
            max(2.6 + width * min(1.15, _WIDEST / width), 7.5),
            1.4 + max(0.42 * schedule.world, 1.6),
        ),
        layout="constrained",
    )
    axes = figure.subplots()
    colors = _colors(schedule.num_chunks)
    for rank in range(schedule.world):
        axes.axhline(rank, color="0.85", linewidth=1, zorder=1)
    edges = range(ranks_per_host, schedule.world, ranks_per_host) if ranks_per_host else ()
    for first in edges:
        axes.axhline(first - 0.5, **_HOST_EDGE)
    for index, column in enumerate(columns):
        if index % 2:
            axes.axvspan(column.left, column.left + column.width, color="0.965", zorder=0)
        for message in column.messages:
            _draw(axes, message, colors)
    if not columns:
        axes.text(0.5, 0, "no rounds: one rank has nobody to agree with", ha="center", va="bottom")
    middles = [column.left + column.width / 2 for column in columns]
    every = max(1, len(columns) // 32)
    axes.set_xticks(middles[::every], [f"{index}" for index in range(0, len(columns), every)])
    axes.set_yticks(range(schedule.world))
    axes.set_xlim(0, width)
    axes.set_ylim(schedule.world - 0.4, -0.6)
    axes.tick_params(length=0)
    axes.set_xlabel("round")
    axes.set_ylabel("rank")
    axes.spines[:].set_visible(False)
    ranks, chunks = count(schedule.world, "rank"), count(schedule.num_chunks, "chunk")
    axes.set_title(f"{title}: {ranks}, {chunks}, {num_rounds}", loc="left", fontweight="bold")
    keys = [Line2D([], [], label="between hosts", **_HOST_EDGE)] if edges else []
    figure.legend(
        handles=[*_line_keys(), *keys, *_chunk_keys(axes, colors, schedule.num_chunks)],
        loc="outside right upper",
        frameon=False,
    )
    return figure


def save_messages(
    schedule: Schedule, title: str, path: Path, *, ranks_per_host: int | None = None
) -> None:
    """Write the message diagram of `schedule`; the suffix of `path` says in which format.

    Raises SpecError for another suffix, for what cannot be drawn, and where it cannot be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise SpecError(f"--plot {path}: a picture's name ends in {', '.join(SUFFIXES)}")
    figure = plot_messages(schedule, title, ranks_per_host=ranks_per_host)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise SpecError(f"--plot {path}: cannot be written: {error.strerror}") from None


def _columns(schedule: Schedule) -> list[_Column]:
    if schedule.world > MAX_RANKS:
        raise SpecError(f"{schedule.world} ranks are too many to draw; at most {MAX_RANKS} can be")
    columns: list[_Column] = []
    left, num_messages = 0.0, 0
    for round_ in schedule.rounds:
        num_messages += len(round_)
        if len(columns) == MAX_ROUNDS or num_messages > MAX_MESSAGES:
            raise SpecError(
                f"too many messages to draw: at most {MAX_ROUNDS} rounds and {MAX_MESSAGES}"
                " messages can be; take fewer workers or chunks"
            )
        columns.append(_column(round_, left))
        left += columns[-1].width
    return columns


def _column(round_: Round, left: float) -> _Column:
    """Return a round as wide as its busiest rank needs, whose messages follow one another."""
    busiest = max(np.bincount(round_.src).max(), np.bincount(round_.dst).max())
    width = 1 + _TURN * (int(busiest) - 1)
    sent: defaultdict[int, int] = defaultdict(int)
    received: defaultdict[int, int] = defaultdict(int)
    messages = []
    columns = (round_.src, round_.dst, round_.start, round_.stop, round_.reduce)
    for src, dst, start, stop, reduce in zip(*(c.tolist() for c in columns), strict=True):
        turn = max(sent[src], received[dst])
        begin = left + _MARGIN + _TURN * turn
        messages.append(
            _Message(
                src=src,
                dst=dst,
                begin=begin,
                end=begin + 1 - 2 * _MARGIN,
                chunks=range(start, stop),
                reduce=reduce,
            )
        )
        sent[src] = received[dst] = turn + 1
    used = max(message.end for message in messages) + _MARGIN - left
    return _Column(left=left, width=max(width, used), messages=messages)


def _colors(num_chunks: int) -> Colormap:
    """Return the colours of the chunks, number i having the i-th of them."""
    if num_chunks <= len(_COLORS):
        return ListedColormap(_COLORS[:num_chunks])
    # Without the yellow end, too faint for lines.
    return ListedColormap(colormaps["plasma"](np.linspace(0, 0.85, num_chunks)))


def _strands(chunks: range) -> Iterator[int]:
    """Yield the chunk in the middle of each of at most _MAX_STRANDS even parts of `chunks`."""
    number = min(len(chunks), _MAX_STRANDS)
    for strand in range(number):
        yield chunks[(2 * strand + 1) * len(chunks) // (2 * number)]


def _draw(axes: Axes, message: _Message, colors: Colormap) -> None:
    strands = list(_strands(message.chunks))
    for position, chunk in enumerate(strands):
        aside = (position - (len(strands) - 1) / 2) * _STRAND_GAP
        offset = ScaledTranslation(0, -aside / 72, axes.figure.dpi_scale_trans)
        arrow = FancyArrowPatch(
            (message.begin, message.src),
            (message.end, message.dst),
            arrowstyle="-|>",
            mutation_scale=8,
            shrinkA=0,
            shrinkB=0,
            linewidth=1.4,
            linestyle="-" if message.reduce else _DASHED,
            color=to_hex(colors(chunk)),
            transform=axes.transData + offset,
            zorder=2,
        )
        axes.add_patch(arrow)


def _line_keys() -> list[Line2D]:
    line: dict[str, Any] = {"color": "0.25", "linewidth": 1.6}
    return [
        Line2D([], [], linestyle="-", label="the receiver adds it", **line),
        Line2D([], [], linestyle=_DASHED, label="the receiver copies it", **line),
    ]


def _chunk_keys(axes: Axes, colors: Colormap, num_chunks: int) -> list[Line2D]:
    """Return a key for each chunk; of many, draw a colour bar instead."""
    if num_chunks <= len(_COLORS):
        return [
            Line2D([], [], color=colors(chunk), linewidth=3, label=f"chunk {chunk}")
            for chunk in range(num_chunks)
        ]
    norm = BoundaryNorm(np.arange(num_chunks + 1) - 0.5, num_chunks)
    bar = axes.figure.colorbar(ScalarMappable(norm, colors), ax=axes, pad=0.01, aspect=30)
    bar.set_label("chunk")
    bar.set_ticks(range(0, num_chunks, -(-num_chunks // 10)))
    return []
