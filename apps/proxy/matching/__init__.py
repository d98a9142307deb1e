"""Find the chat that a request continues, and plan what the request changes in it. Nothing here writes or locks."""
