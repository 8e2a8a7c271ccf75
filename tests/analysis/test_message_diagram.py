"""The message diagram draws each message of a schedule, and says what it draws."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch

from psbench.analysis.message_diagram import MAX_RANKS, plot_messages
from psbench.errors import SpecError
from psbench.schedules import ALGORITHMS, ring, schedule_for, star


def arrows(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


def ends(arrow):
    """Return (rank, place across) of an arrow's tail and of its head."""
    return [(round(y), x) for x, y in arrow._posA_posB]


def legend(figure):
    (one,) = figure.legends
    return {text.get_text(): line for text, line in zip(one.texts, one.legend_handles, strict=True)}


def test_an_arrow_leads_from_sender_to_receiver_within_its_round():
    figure = plot_messages(ring(3), "ring")
    transfers = [
        (index, int(src), int(dst), int(chunk), bool(reduce))
        for index, round_ in enumerate(ring(3).rounds)
        for src, dst, chunk, reduce in zip(
            round_.src, round_.dst, round_.start, round_.reduce, strict=True
        )
    ]
    drawn = arrows(figure)
    assert len(drawn) == len(transfers) == 12
    keys = legend(figure)
    for arrow, (index, src, dst, chunk, reduce) in zip(drawn, transfers, strict=True):
        (tail, begin), (head, end) = ends(arrow)
        assert (tail, head) == (src, dst)
        assert index < begin < end < index + 1
        assert to_hex(arrow.get_edgecolor()) == to_hex(keys[f"chunk {chunk}"].get_color())
        assert (arrow.get_linestyle() == "-") == reduce
    assert keys["the receiver adds it"].get_linestyle() == "-"
    assert keys["the receiver copies it"].get_linestyle() == "--"


def test_title_and_axes_say_what_is_shown():
    (axes,) = plot_messages(schedule_for("tree", 5, 2), "tree").axes
    assert axes.get_title(loc="left") == "tree: 5 ranks, 2 chunks, 6 rounds"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "rank")
    assert [label.get_text() for label in axes.get_xticklabels()] == list("012345")
    top, bottom = axes.get_ylim()[::-1]
    assert top < bottom  # ranks go down


def test_a_message_of_several_chunks_has_a_strand_for_each():
    figure = plot_messages(schedule_for("recursive_doubling", 2, 3), "recursive_doubling")
    colors = [to_hex(arrow.get_edgecolor()) for arrow in arrows(figure)]
    assert len(colors) == 2 * 3
    assert len(set(colors[:3])) == 3


def test_messages_of_one_rank_in_one_round_follow_one_another():
    figure = plot_messages(star(4), "star")
    heads = [ends(arrow)[1] for arrow in arrows(figure)[:3]]
    assert [rank for rank, _ in heads] == [0, 0, 0]
    assert np.diff([place for _, place in heads]).min() > 0.2


def test_many_chunks_have_a_colour_bar():
    figure = plot_messages(ring(12), "ring")
    _, bar = figure.axes
    assert bar.get_ylabel() == "chunk"
    assert set(legend(figure)) == {"the receiver adds it", "the receiver copies it"}
    first_round = arrows(figure)[:12]
    assert len({arrow.get_edgecolor() for arrow in first_round}) == 12


def test_hosts_are_parted():
    schedule = schedule_for("hierarchical_leaders", 6, ranks_per_host=2)
    figure = plot_messages(schedule, "hierarchical_leaders", ranks_per_host=2)
    edge = legend(figure)["between hosts"]
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == edge.get_linestyle()]
    assert [line.get_ydata()[0] for line in lines] == [1.5, 3.5]


def test_one_rank_has_an_empty_picture_that_says_so():
    (axes,) = plot_messages(ring(1), "ring").axes
    assert "nobody to agree with" in axes.texts[0].get_text()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_drawn(name):
    for world in (2, 5):
        plot_messages(schedule_for(name, world), name).draw_without_rendering()


@pytest.mark.parametrize(
    ("name", "world", "chunks", "message"),
    [
        ("ring", MAX_RANKS + 1, None, "33 ranks are too many to draw; at most 32 can be"),
        (
            "tree",
            4,
            100,
            "at most 64 rounds and 1200 messages can be; take fewer workers or chunks",
        ),
        ("direct", 32, None, "at most 64 rounds and 1200 messages"),
    ],
)
def test_what_cannot_be_read_is_refused(name, world, chunks, message):
    with pytest.raises(SpecError, match=message):
        plot_messages(schedule_for(name, world, chunks), name)
