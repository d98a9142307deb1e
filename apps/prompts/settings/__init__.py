"""Settings of the prompt: modes, budgets, and places and templates of the slots."""
