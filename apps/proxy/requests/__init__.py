"""Read a client's request: its headers, its body, its turns, and what its instructions ask for."""
