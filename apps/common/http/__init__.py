"""Middleware and limits of requests, of pages and of the API alike."""
