"""Token budgets of the slots: shares of a total, tuning by what was needed, and the limit of a context.

Without database access. Budgets are in tokens, by slot name.
"""

from collections.abc import Mapping
from math import ceil, floor

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
    tuned_budgets = {
        name: max(defaults[name], STEP * round_half_up(demands[name] * HEADROOM, 100 * STEP))
        for name in budgets
        if name in SHARES and demands.get(name)
    }
    after = {**budgets, **tuned_budgets}
    shared = {name: value for name, value in after.items() if name in SHARES}
    if total is None or sum(shared.values()) <= total:
        return after
    return {**after, **scaled(shared, total / sum(shared.values()))}


def within_context(budgets: Mapping[str, int], demands: Mapping[str, int], context_tokens: int) -> dict[str, int]:
    """Return budgets whose sum leaves the rest of the context to the conversation.

    A slot takes no more room than its demand. If that is too much, all budgets are reduced in the same proportion.
    """
    needed = {name: min(value, DEMAND_STEP * ceil(demands[name] / DEMAND_STEP)) for name, value in budgets.items()}
    total = sum(needed.values())
    limit = most_within_context(total, context_tokens)
    return dict(budgets) if limit == total else scaled(needed, limit / total)


def most_within_context(total: int, context_tokens: int) -> int:
    """Return how many of ``total`` tokens all slots may take of a context."""
    return min(total, floor(context_tokens * CONTEXT_SHARE))


def within_rest(context_tokens: int, needed: int) -> int:
    """Return the context of which the share for all slots leaves room for ``needed`` tokens in the whole one."""
    return min(context_tokens, floor(max(context_tokens - needed, 0) / CONTEXT_SHARE))


def round_half_up(dividend: int, divisor: int) -> int:
    """Return the quotient as a whole number; unlike with floats, a half is always rounded up."""
    return (2 * dividend + divisor) // (2 * divisor)


def scaled(budgets: Mapping[str, float], factor: float) -> dict[str, int]:
    """Return the budgets multiplied by ``factor`` and rounded down."""
    # Without the small addend, rounding errors of floats (3 * 0.1 != 0.3) could cost a token.
    return {name: floor(value * factor + 1e-9) for name, value in budgets.items()}
