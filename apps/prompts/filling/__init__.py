"""How many tokens each slot of a prompt may take, and what it is filled with."""
