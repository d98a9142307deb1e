"""The extractor without a model: select the chat's own sentences by rules, and never invent.

A message is split into speech and narration, these into sentences; each sentence is scored by how much it tells and
sorted into one tier and kind; the best of each kind are printed as the lines that a model would write.
"""
