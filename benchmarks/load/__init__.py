"""Load by many users, while processes are killed, and what is left of their writes."""
