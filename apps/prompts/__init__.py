"""What a model reads: the slots of memory within their budgets, the recall of each user turn, and the whole prompt.

The cards of recalls, the settings of prompts and the demo belong to it too.
"""
