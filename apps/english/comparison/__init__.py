"""A learned comparison of two statements on the same topic, without a language model.

``features`` measures similarities and differences; their weights in ``weights.json`` were fitted to labelled pairs
(``manage.py fit_comparison``).
"""

from apps.english.comparison.weighing import Comparison, compare

__all__ = ["Comparison", "compare"]
