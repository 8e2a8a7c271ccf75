"""Which rule restored what, said in a table and in sentences."""

from itertools import groupby

from comparison import Outcome
from figures import RULES

WHERE = {"sync": "at the rate that is best for sync", "own": "at each rule's own best rate"}
"""The tunings in words."""


def verdict_table(outcomes: list[Outcome]) -> str:
    """Return a row for each task, tuning and number of workers over 1, a column for each rule."""
    rules = " | ".join(f"`{rule}`" for rule in RULES)
    lines = [f"| task | rate best for | workers | {rules} |", "|---" * (len(RULES) + 3) + "|"]
    for (task, tuning, workers), by_rule in _cases(outcomes):
        cells = [_shown(by_rule[rule], by_rule["none"]) for rule in RULES]
        whose = "sync" if tuning == "sync" else "each rule"
        lines.append(f"| `{task}` | {whose} | {workers} | {' | '.join(cells)} |")
    return "\n".join(lines)


def sentences(outcomes: list[Outcome]) -> str:
    """Return a list: for each task and tuning what was lost, and by what it was restored."""
    lines = []
    for (task, tuning), cases in groupby(_cases(outcomes), key=lambda case: case[0][:2]):
        told = [_told(workers, by_rule) for (_, _, workers), by_rule in cases]
        lines.append(f"- **`{task}`, {WHERE[tuning]}.** {' '.join(told)}")
    return "\n".join(lines)


def _cases(
    outcomes: list[Outcome],
) -> list[tuple[tuple[str, str, int], dict[str, Outcome]]]:
    """Return outcomes by rule, for each task, tuning and number of workers over 1."""
    return [
        (key, {one.rule: one for one in group})
        for key, group in groupby(outcomes, key=lambda one: (one.task, one.tuning, one.workers))
        if key[2] > 1
    ]


def _shown(outcome: Outcome, none: Outcome) -> str:
    restored = outcome.verdict == "as sync" and none.verdict != "as sync"
    verdict = "**restored**" if restored else outcome.verdict
    return f"{verdict} +" if outcome.gain.low > 0 else verdict


def _told(workers: int, by_rule: dict[str, Outcome]) -> str:
    none = by_rule["none"]
    if none.verdict == "as sync":
        worse = [rule for rule in RULES[1:] if by_rule[rule].verdict == "worse"]
        but = f", but {_listed(worse)} lost" if worse else ""
        return f"With {workers} workers no rule was needed: `none` was as sync{but}."
    lost = "lost" if none.verdict == "worse" else "is unclear"
    by = {
        verdict: [rule for rule in RULES[1:] if by_rule[rule].verdict == verdict]
        for verdict in ("as sync", "unclear", "worse")
    }
    restored = (
        f"restored by {_listed(by['as sync'])}" if by["as sync"] else "**no rule restored it**"
    )
    parts = [f"With {workers} workers `none` {lost}; {restored}"]
    if by["unclear"]:
        parts.append(f"unclear for {_listed(by['unclear'])}")
    if by["worse"]:
        parts.append(f"not by {_listed(by['worse'])}")
    return "; ".join(parts) + "."


def _listed(rules: list[str]) -> str:
    *most, last = [f"`{rule}`" for rule in rules]
    return f"{', '.join(most)} and {last}" if most else last
