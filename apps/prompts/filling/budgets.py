"""Token budgets of the slots: every rule that makes or limits them, and the class of a turn, by which they differ.

Nothing here reads the database. Budgets are in tokens, by slot name. ``budget_steps`` applies the rules of the
settings, then ``within_context`` fits them into the context of one prompt, of which memory gets at most CONTEXT_SHARE.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from apps.prompts.settings.schema import ONE_BLOCK, SIMPLE, PromptSettings
from apps.prompts.slots.blocks import SEPARATOR_TOKENS
from apps.prompts.slots.definitions import SLOTS, UNIFIED, UNIFIED_ORDER

# Shares of the total in simple mode. They sum to 1.03, by which they are divided. The summary, what is related to the
# turn and the repair note have budgets of their own.
SHARES = {
    "long_term": 0.16,
    "session": 0.13,
    "scenes": 0.10,
    "arcs": 0.13,
    "profiles": 0.18,
    "canon": 0.13,
    "relationships": 0.08,
    "epistemic": 0.06,
    "state_ledger": 0.06,
}
HEADROOM = 115  # a tuned budget in percent of the highest demand
STEP = 50  # tokens; tuned budgets are multiples of it
CONTEXT_SHARE = 0.5  # of the context, at most for all slots
DEMAND_STEP = 250  # tokens; demands are rounded up, so that budgets don't change with each new entry

DIALOGUE, ACTION, TRANSITION, INTIMATE = "dialogue", "action", "transition", "intimate"
MULTIPLIERS_BY_CLASS = {
    DIALOGUE: {"long_term": 1.2, "session": 0.8, "scenes": 0.7, "arcs": 1.0, "profiles": 1.2},
    ACTION: {"long_term": 0.8, "session": 1.3, "scenes": 1.2, "arcs": 1.0, "profiles": 0.8},
    TRANSITION: {"long_term": 1.0, "session": 0.9, "scenes": 1.0, "arcs": 1.3, "profiles": 1.0},
    INTIMATE: {"long_term": 0.9, "session": 1.2, "scenes": 1.0, "arcs": 0.8, "profiles": 1.3},
}

# The rules that change a budget that is set.
SHARE_RULE, TUNING_RULE, TURN_RULE = "share", "tuning", "turn"
CONTEXT_RULE = "context"  # fits all slots into the context, or into the one block


@dataclass(frozen=True)
class BudgetStep:
    """The budgets of the slots after a rule; "" is that of the budgets as they are set."""

    rule: str
    budgets: Mapping[str, int]


def budget_steps(settings: PromptSettings, turn_class: str, demands: Mapping[str, int]) -> list[BudgetStep]:
    """Return the budgets that are set, then after each rule that changes them, whatever the context.

    ``demands`` are the most that the slots of the chat have needed.
    """
    simple = settings.mode == SIMPLE
    steps = [BudgetStep("", {slot.name: settings.slots[slot.name].budget for slot in SLOTS})]
    if simple:
        steps.append(BudgetStep(SHARE_RULE, {**steps[-1].budgets, **divided(settings.total_budget)}))
    if settings.auto_tune:
        defaults = {slot.name: slot.budget for slot in SLOTS}
        total = settings.total_budget if simple else None
        steps.append(BudgetStep(TUNING_RULE, tuned(steps[-1].budgets, defaults, demands, total)))
    if settings.adaptive:
        steps.append(BudgetStep(TURN_RULE, adapted_budgets(turn_class, steps[-1].budgets)))
    if settings.mode == ONE_BLOCK:
        budgets = steps[-1].budgets
        parts = {slot.name: budgets[slot.name] for slot in UNIFIED_ORDER}
        room = max(settings.slots[UNIFIED.name].budget - SEPARATOR_TOKENS * len(parts), 0)
        if sum(parts.values()) > room:
            steps.append(BudgetStep(CONTEXT_RULE, {**budgets, **_scaled(parts, room / sum(parts.values()))}))
    return steps


def divided(total: int) -> dict[str, int]:
    """Return the budgets of simple mode. Their sum is at most ``total``."""
    return {name: floor(total * share / sum(SHARES.values()) + 1e-9) for name, share in SHARES.items()}


def tuned(
    budgets: Mapping[str, int], defaults: Mapping[str, int], demands: Mapping[str, int], total: int | None
) -> dict[str, int]:
    """Return budgets with room for the highest demand so far, but not below the defaults.

    Only slots with a share are tuned. Those without a demand keep their budget. With ``total``, the tuned slots are
    scaled down so that those with a share don't exceed it.
    """
    # Whole numbers: a half is always rounded up, which floats would not do.
    multiples = {name: (2 * demand * HEADROOM + 100 * STEP) // (200 * STEP) for name, demand in demands.items()}
    tuned_budgets = {
        name: max(defaults[name], STEP * multiples[name]) for name in budgets if name in SHARES and demands.get(name)
    }
    after = {**budgets, **tuned_budgets}
    shared = {name: value for name, value in after.items() if name in SHARES}
    if total is None or sum(shared.values()) <= total:
        return after
    return {**after, **_scaled(shared, total / sum(shared.values()))}


def adapted_budgets(turn_class: str, budgets: Mapping[str, int]) -> dict[str, int]:
    """Return the budgets adapted to the class of a turn. Their sum does not grow."""
    multipliers = MULTIPLIERS_BY_CLASS[turn_class]
    weighted = {name: budget * multipliers[name] for name, budget in budgets.items() if name in multipliers}
    base, total = sum(budgets[name] for name in weighted), sum(weighted.values())
    scale = min(1.0, base / total) if total else 1.0
    return {**budgets, **_scaled(weighted, scale)}


def within_context(budgets: Mapping[str, int], demands: Mapping[str, int], context_tokens: int) -> dict[str, int]:
    """Return budgets whose sum leaves the rest of the context to the conversation.

    A slot takes no more room than its demand. If that is too much, all budgets are reduced in the same proportion.
    """
    needed = {name: min(value, DEMAND_STEP * ceil(demands[name] / DEMAND_STEP)) for name, value in budgets.items()}
    total, limit = sum(needed.values()), room_in_context(context_tokens)
    return dict(budgets) if total <= limit else _scaled(needed, limit / total)


def room_in_context(context_tokens: int) -> int:
    """Return how many tokens all slots together may take of a context."""
    return floor(context_tokens * CONTEXT_SHARE)


def context_with_room(context_tokens: int, left: int) -> int:
    """Return the context to fit budgets into, where something else leaves ``left`` tokens of the whole one.

    Memory may take all that is left, but no more than its share of the whole context.
    """
    return min(context_tokens, floor(max(left, 0) / CONTEXT_SHARE))


def _scaled(budgets: Mapping[str, float], factor: float) -> dict[str, int]:
    """Return the budgets multiplied by ``factor`` and rounded down."""
    # Without the small addend, rounding errors of floats (3 * 0.1 != 0.3) could cost a token.
    return {name: floor(value * factor + 1e-9) for name, value in budgets.items()}


# Quoted speech is ignored: a character who talks about a battle is not in one. What closes it, by its opening mark.
_MARKS = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」"}
_CLOSING = {mark: re.compile(f"[{marks}]") for mark, marks in _MARKS.items()}
_OPENING = re.compile(f"[{''.join(_MARKS)}]")


def _word_pattern(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches any of ``patterns`` as whole words, in any case."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


_PATTERNS_BY_CLASS = {
    ACTION: _word_pattern(
        r"attack\w*", r"fight\w*|fought", r"str(?:ikes?|uck|iking)", r"slash\w*", r"stab\w*", r"punch\w*",
        r"kick\w*", r"dodg\w+", r"parr(?:y|ies|ied|ying)", r"block(?:s|ed|ing)? (?:the|his|her|a) \w+",
        r"charg(?:es?|ed|ing)", r"lung(?:es?|ed|ing)", r"(?:leap|jump|sprint)\w*",
        r"(?:dash|chas)(?:e|es|ed|ing)", r"flee(?:s|ing)?|fled",
        r"(?:run|runs|ran|running) (?!late|out of|low|a |the )\w+", r"swords?", r"blades?", r"daggers?",
        r"arrows?", r"shields?", r"blood\w*", r"explo(?:de|sion)\w*", r"gun(?:s|shot|shots|fire)?",
        r"fir(?:es|ed) (?:at|upon)", r"battle", r"ambush\w*", r"scream\w*", r"grabs?|grabbed",
        r"shov(?:es?|ed|ing)", r"draws? (?:his|her|their|my|a|the) (?:sword|blade|bow|gun|knife|weapon)",
    ),
    TRANSITION: _word_pattern(
        r"(?:the )?next (?:morning|day|evening|night|week|month|year)", r"meanwhile",
        r"after (?:a|some) (?:while|time)",
        r"(?:hours?|days?|weeks?|months?|years?|minutes?) (?:later|pass\w*|went by|go by)",
        r"time (?:skip|passes|passed)",
        r"(?:later that|that same|by) (?:morning|day|evening|night|afternoon)",
        r"at (?:dawn|dusk|sunrise|nightfall)", r"arriv(?:e|es|ed|ing) (?:at|in|home)", r"journey\w*",
        r"travel(?:s|led|ed|ling|ing)?", r"sets? (?:out|off)", r"the road to",
        r"(?:reach|reaches|reached) the \w+",
    ),
    INTIMATE: _word_pattern(
        r"kiss\w*", r"embrac\w+", r"cuddl\w+", r"snuggl\w+", r"caress\w*", r"whisper\w*", r"tender\w*",
        r"nuzzl\w+", r"strok(?:es?|ed|ing) (?:his|her|their|my)",
        r"hold(?:s|ing)? (?:him|her|them|me|you|hands)", r"lips", r"blush\w*",
        r"held (?:him|her|them|me|hands)", r"in (?:his|her|their|my|your) arms",
        r"gaz(?:e|es|ed|ing) into", r"loving\w*",
        r"heart(?:beat)? (?:races?|raced|flutters?|fluttered|pound\w*)",
        r"(?:lean|leans|leaned|leaning) (?:against|into|closer)",
    ),
}  # fmt: skip


def classify(text: str) -> str:
    """Return the class with the most distinct matches in the narration of a turn, or "dialogue" if nothing matches.

    On a tie, the first class of ``_PATTERNS_BY_CLASS`` wins.
    """
    narration = _narration(text)
    matches = {name: pattern.findall(narration) for name, pattern in _PATTERNS_BY_CLASS.items()}
    counts = {name: len({word.casefold() for word in words}) for name, words in matches.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else DIALOGUE


def _narration(text: str) -> str:
    """Return the text with a space in place of quoted speech. A mark that nothing closes is a part of it.

    Nothing is looked for twice, as one expression would for each of many marks that nothing closes.
    """
    parts: list[str] = []
    begin = at = 0
    unclosed: set[str] = set()
    while opening := _OPENING.search(text, at):
        mark, at = opening[0], opening.end()
        closing = None if mark in unclosed else _CLOSING[mark].search(text, at)
        if closing is None:
            unclosed.add(mark)
        else:
            parts.append(text[begin : opening.start()])
            begin = at = closing.end()
    return " ".join([*parts, text[begin:]])
