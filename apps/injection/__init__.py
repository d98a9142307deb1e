"""Assembly of prompts: memory slots within token budgets, the recall of each user turn and its card, and the demo."""
