"""Which rule restored what, said in a table and in sentences."""

from itertools import groupby

from comparison import Outcome
from figures import RULES

WHERE = {"sync": "at the rate that is best for sync", "own": "at each rule's own best rate"}
"""The tunings in words."""
LOSS = {
    "as sync": "`none` lost nothing",
    "unclear": "whether `none` lost is unclear",
    "worse": "`none` lost",
}
"""By the verdict on no rule."""


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
        lines.append(f"- `{task}`, {WHERE[tuning]}")
        for (_, _, workers), by_rule in cases:
            lines.append(f"  - {workers} workers: {_told(by_rule)}")
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


def _told(by_rule: dict[str, Outcome]) -> str:
    none = by_rule["none"].verdict
    words = {
        "as sync": "as sync too" if none == "as sync" else "restored by",
        "unclear": "unclear for",
        "worse": "worse with",
    }
    parts = [LOSS[none]]
    for verdict, said in words.items():
        rules = [rule for rule in RULES[1:] if by_rule[rule].verdict == verdict]
        if rules:
            parts.append(f"{said} {_listed(rules)}")
        elif verdict == "as sync" and none != "as sync":
            parts.append("**no rule is shown to restore it**")
    return "; ".join(parts)


def _listed(rules: list[str]) -> str:
    *most, last = [f"`{rule}`" for rule in rules]
    return f"{', '.join(most)} and {last}" if most else last
