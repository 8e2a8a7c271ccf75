"""`psbench schedule`: show, check and count the messages of an all-reduce algorithm."""

import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from psbench.cli.schedule_auto import show_auto
from psbench.errors import SpecError
from psbench.schedules import (
    ALGORITHMS,
    Round,
    Schedule,
    Traffic,
    schedule_for,
    traffic,
    verify,
)

WIDTH = 100
SHOWN = 16  # rounds, transfers of a round and lines of the table, without --all
# The check holds 24 bytes for each (rank, chunk): about 400 MiB.
MAX_PAIRS = 2**24


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*ALGORITHMS, "auto") if name.startswith(incomplete)]


_HELP = f"""Show what ALGORITHM sends, check it, and count each rank's traffic.

Algorithms: {", ".join(ALGORITHMS)}. For `auto` it shows instead what
each of them is predicted to take for vectors of --size.

\b
Examples:
    psbench schedule ring --workers 4
    psbench schedule hierarchical_rails --workers 8 --ranks-per-host 4 --plot rails.png
    psbench schedule auto --workers 8 --size 4MiB --network network.yaml

With --json there is one line a transfer (kind "transfer") and then one a rank ("traffic").
"""


@click.command("schedule", help=_HELP)
@click.argument("algorithm", shell_complete=_complete)
@click.option("--workers", type=int, required=True, metavar="N", help="Number of ranks.")
@click.option("--chunks", type=int, metavar="C", help="Number of chunks (the algorithm chooses).")
@click.option("--roots", type=int, metavar="S", help="Ranks that sum a part each (star).")
@click.option(
    "--ranks-per-host",
    type=int,
    metavar="G",
    help="Ranks on each host, for the hierarchical ones (all on one).",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw it too, as a message diagram, into FILE.png, .svg or .pdf.",
)
@click.option("--size", metavar="S", help="For auto: bytes of the vector, such as 4MiB.")
@click.option("--network", metavar="FILE", help="For auto: a file of psbench calibrate.")
@click.option("--all", "everything", is_flag=True, help="Shorten nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, and nothing else.")
def command(
    algorithm: str,
    workers: int,
    chunks: int | None,
    roots: int | None,
    ranks_per_host: int | None,
    plot: Path | None,
    size: str | None,
    network: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    if algorithm == "auto":
        if (chunks, roots, ranks_per_host, plot) != (None, None, None, None):
            raise SpecError("auto takes --workers, --size and --network, and nothing to build by")
        show_auto(workers, size, network, as_json)
        return
    if size is not None or network is not None:
        raise SpecError(f"--size and --network are for auto, and {algorithm} goes by neither")
    schedule = _schedule(algorithm, workers, chunks, roots, ranks_per_host)
    verify(schedule)
    if plot is not None:
        from psbench.analysis.message_diagram import save_messages

        save_messages(schedule, algorithm, plot, ranks_per_host=ranks_per_host)
    counts = traffic(schedule)
    if as_json:
        lines = _json_lines(schedule, counts)
    else:
        lines = _text(algorithm, schedule, counts, limit=None if everything else SHOWN)
    for line in lines:
        click.echo(line)
    if plot is not None and not as_json:
        click.echo(f"\n{plot}")


def _schedule(
    algorithm: str,
    workers: int,
    chunks: int | None,
    roots: int | None,
    ranks_per_host: int | None,
) -> Schedule:
    numbers = {
        "--workers": (workers, "worker"),
        "--chunks": (chunks, "chunk"),
        "--roots": (roots, "root"),
        "--ranks-per-host": (ranks_per_host, "rank"),
    }
    for option, (number, noun) in numbers.items():
        if number is not None and number < 1:
            raise SpecError(f"{option} {number}: at least 1 {noun} is needed")
    if roots is not None and roots > workers:
        raise SpecError(f"--roots {roots}: roots are ranks, and there are {workers}")
    schedule = schedule_for(algorithm, workers, chunks, roots=roots, ranks_per_host=ranks_per_host)
    if schedule.world * schedule.num_chunks > MAX_PAIRS:
        raise SpecError(
            f"--workers {schedule.world} with {schedule.num_chunks} chunks is too large to check; "
            f"workers x chunks may be at most {MAX_PAIRS}"
        )
    return schedule


def _json_lines(schedule: Schedule, counts: Traffic) -> Iterator[str]:
    for index, round_ in enumerate(schedule.rounds):
        columns = {name: values.tolist() for name, values in vars(round_).items()}
        for transfer in zip(*columns.values(), strict=True):
            row = dict(zip(columns, transfer, strict=True))
            yield json.dumps({"kind": "transfer", "round": index, **row})
    known = {name: values.tolist() for name, values in asdict(counts).items() if values is not None}
    for rank in range(schedule.world):
        row = {name: values[rank] for name, values in known.items()}
        yield json.dumps({"kind": "traffic", "rank": rank, **row})


def _text(algorithm: str, schedule: Schedule, counts: Traffic, limit: int | None) -> Iterator[str]:
    summary = (inspect.getdoc(ALGORITHMS[algorithm]) or "").partition("\n")[0]
    yield summary
    yield f"workers {schedule.world}, chunks {schedule.num_chunks}"
    yield ""
    yield "rank -> rank [chunks]: the receiver adds them to its own (add) or replaces it (copy)"
    yield from _round_lines(schedule, limit)
    yield ""
    yield "check: every contribution exactly once; same association on all ranks"
    yield ""
    yield from _traffic_lines(counts, schedule.num_chunks, limit)


def _round_lines(schedule: Schedule, limit: int | None) -> Iterator[str]:
    if schedule.world == 1:
        yield "no rounds: one rank has nobody to agree with"
    rounds = iter(schedule.rounds)
    for index, round_ in enumerate(islice(rounds, limit)):
        for verb, mask in (("add", round_.reduce), ("copy", ~round_.reduce)):
            items = list(islice(_transfers(round_, mask), limit))
            if mask.sum() > len(items):
                items.append(f"… {mask.sum() - len(items)} more (--all)")
            yield from _wrap(f"round {index:<3} {verb:<4} ", items)
    hidden = sum(1 for _ in rounds)
    if hidden:
        yield f"… {hidden} more rounds (--all)"


def _transfers(round_: Round, mask: npt.NDArray[np.bool_]) -> Iterator[str]:
    for i in mask.nonzero()[0].tolist():
        first, last = round_.start[i], round_.stop[i] - 1
        chunks = f"{first}" if first == last else f"{first}-{last}"
        yield f"{round_.src[i]} -> {round_.dst[i]} [{chunks}]"


def _wrap(prefix: str, items: list[str]) -> Iterator[str]:
    """Yield lines of aligned items: the first after `prefix`, the others indented as deep."""
    if not items:
        return
    width = max(map(len, items)) + 3
    per_line = max(1, (WIDTH - len(prefix)) // width)
    for start in range(0, len(items), per_line):
        line = "".join(item.ljust(width) for item in items[start : start + per_line])
        yield (prefix if start == 0 else " " * len(prefix)) + line.rstrip()


def _traffic_lines(counts: Traffic, num_chunks: int, limit: int | None) -> Iterator[str]:
    """Yield a table with one line for each stretch of ranks that have equal traffic."""
    yield f"{'':<15}{'messages':>20}{'chunks':>20}{'vectors of n':>24}"
    yield f"{'ranks':<15}{'sent':>10}{'received':>10}{'sent':>10}{'received':>10}" + (
        f"{'sent':>12}{'received':>12}"
    )
    rows = np.stack(
        [
            counts.messages_sent,
            counts.messages_received,
            counts.chunks_sent,
            counts.chunks_received,
        ],
        axis=1,
    )
    changes = (rows[1:] != rows[:-1]).any(axis=1).nonzero()[0] + 1
    starts = [0, *changes.tolist()]
    stops = [*starts[1:], len(rows)]
    for start, stop in islice(zip(starts, stops, strict=True), limit):
        ranks = f"{start}" if stop == start + 1 else f"{start}-{stop - 1}"
        cells = "".join(f"{count:>10}" for count in rows[start])
        shares = "".join(f"{f'{count / num_chunks:.2f} n':>12}" for count in rows[start, 2:])
        yield f"{ranks:<15}{cells}{shares}"
    if limit is not None and len(starts) > limit:
        yield f"… {len(starts) - limit} more lines (--all)"
