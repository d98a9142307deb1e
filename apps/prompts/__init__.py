"""What a model reads: the slots of memory within their budgets, the recall of each user turn, and the whole prompt.

The cards of recalls and the settings of prompts belong to it too.
"""
