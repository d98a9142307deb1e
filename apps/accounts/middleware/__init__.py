"""Middleware that asks who sends a request: what may be sent, how much, in which language, and which rows it sees."""
