"""Match texts with the rules. Every match of a pattern has a time limit."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import regex
import structlog
from django.db.models import F

from apps.moderation.models import Rule

logger = structlog.get_logger(__name__)
MATCH_SECONDS = 0.1  # of one rule in one text: a pattern may take exponential time


@dataclass(frozen=True)
class Matcher:
    """An enabled rule, compiled."""

    rule: Rule
    pattern: Any

    def matches(self, text: str) -> bool:
        """Return whether the rule flags the text."""
        return bool(self.spans(text, 1))

    def spans(self, text: str, limit: int) -> list[tuple[int, int]]:
        """Return where the rule finds something in the text, at most ``limit`` places.

        A match that takes too long is counted, and finds nothing.
        """
        try:
            found = self.pattern.finditer(text, timeout=MATCH_SECONDS, concurrent=True)
            return [match.span() for match in islice(found, limit)]
        except TimeoutError:
            logger.warning("rule_timeout", rule=str(self.rule.pk), length=len(text))
            Rule.objects.filter(pk=self.rule.pk).update(timeouts=F("timeouts") + 1)
            return []


def enabled_matchers() -> list[Matcher]:
    """Return all enabled rules, compiled."""
    rules = Rule.objects.filter(is_enabled=True).order_by("pk")
    return [Matcher(rule, compiled) for rule in rules if (compiled := _compiled(rule)) is not None]


def _compiled(rule: Rule) -> Any:
    if rule.form == Rule.Form.PATTERN:
        try:
            return regex.compile(rule.text, regex.IGNORECASE)
        except regex.error:  # stored without the form's check
            logger.warning("rule_invalid", rule=str(rule.pk))
            return None
    words = [regex.escape(line.strip()) for line in rule.text.splitlines() if line.strip()]
    return regex.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", regex.IGNORECASE) if words else None


def matchers_named(names: Collection[str]) -> list[Matcher]:
    """Return the enabled rules of these names, compiled."""
    return [matcher for matcher in enabled_matchers() if matcher.rule.name in names] if names else []


def matching(matchers: Sequence[Matcher], text: str) -> list[str]:
    """Return the names of the rules that flag a text."""
    return [matcher.rule.name for matcher in matchers if matcher.matches(text)]
