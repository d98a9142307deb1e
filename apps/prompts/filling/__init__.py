"""How many tokens each slot of a prompt may take, by settings and by the class of the turn, and what fills it."""
