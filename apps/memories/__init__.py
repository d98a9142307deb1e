"""What is remembered: memories with their sources and successors, entities, scenes, arcs, ledger, knowledge,
relationships and versioned texts; the verdicts on new candidates, the index of passages, search, and the memory book.
"""
