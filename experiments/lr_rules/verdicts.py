"""Which rule restored what, said in a table and in sentences."""

from itertools import groupby

from comparison import Outcome
from figures import MEASURES, RULES

WHERE = {"sync": "at the rate that is best for sync", "own": "at each rule's own best rate"}
"""The tunings in words."""
WORDS = {
    "as sync": "as sync too",
    "restored": "restored by",
    "in part": "in part by",
    "unclear": "unclear for",
    "worse": "worse with",
}
"""The verdicts, in words before the rules that they are on."""


def verdict(outcome: Outcome, none: Outcome) -> str:
    """Return one of `WORDS` for a rule, or for `none` itself, at one tuning and as many workers.

    Shown to be no worse than sync by more than the margin; else shown to be better than no rule;
    else shown to be worse than sync by more than the margin; or unclear.
    """
    margin = MEASURES[outcome.task].margin
    lost = none.gain.low <= -margin
    if outcome.gain.low > -margin:
        return "restored" if lost else "as sync"
    if lost and outcome.over_none.low > 0:
        return "in part"
    return "worse" if outcome.gain.high < -margin else "unclear"


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
    said = verdict(outcome, none)
    shown = f"**{said}**" if said == "restored" else said
    return f"{shown} +" if outcome.gain.low > 0 else shown


def _told(by_rule: dict[str, Outcome]) -> str:
    none = by_rule["none"]
    said = {rule: verdict(by_rule[rule], none) for rule in RULES}
    without = {"as sync": "`none` lost nothing", "worse": "`none` lost"}
    parts = [without.get(said["none"], "whether `none` lost is unclear")]
    if not {"as sync", "restored"} & set(said.values()):
        parts.append("**no rule is shown to restore it**")
    for one, words in WORDS.items():
        rules = [f"`{rule}`" for rule in RULES[1:] if said[rule] == one]
        if rules:
            parts.append(f"{words} {', '.join(rules)}")
    return "; ".join(parts)
