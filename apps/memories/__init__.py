"""What Loci remembers: memories and where they came from, the durable runs that extract them,
deduplication and supersession, the index of passages, and search over all of it.
"""
