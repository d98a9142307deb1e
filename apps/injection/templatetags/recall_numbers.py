"""Filters that format the numbers of the recall card."""

from django import template

register = template.Library()


@register.filter
def score(value: float) -> str:
    """Format 0.7134 as ".71"."""
    return f"{value:.2f}".removeprefix("0")
