"""A learned comparison of two statements about the same. No language model is asked.

``signals`` says in what two statements are alike and in what they differ; how much each of these tells was learnt from
pairs that people judged (``manage.py fit_comparison``), and is kept in ``weights.json``.
"""

from apps.english.comparison.weighing import Comparison, compare

__all__ = ["Comparison", "compare"]
