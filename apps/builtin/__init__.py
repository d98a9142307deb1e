"""The extractor that needs no model: it picks the chat's own sentences by rules, and never invents.

A message is split into speech and narration, these into sentences; each sentence is scored for how much it tells
and sorted into a kind; the best of each kind are printed as the lines that a model would have written.
"""
