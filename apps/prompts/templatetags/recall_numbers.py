"""Filters that format the numbers of the recall card."""

from django import template
from django.utils.translation import gettext_lazy as _

from apps.common.words import Words

register = template.Library()


STRENGTHS: tuple[tuple[float, Words], ...] = ((0.7, _("strong")), (0.4, _("good")), (0.0, _("weak")))


@register.filter
def strength(value: float) -> Words:
    """Return how well something fits in a word: "strong"."""
    return next((word for least, word in STRENGTHS if value >= least), STRENGTHS[-1][1])


@register.filter
def score(value: float) -> str:
    """Format 0.7134 as ".71"."""
    return f"{value:.2f}".removeprefix("0")
