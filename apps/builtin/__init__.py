"""Extract memories by rules, without a language model, from the chat's own sentences.

A message is split into speech and narration, and these into sentences. Each sentence is scored by how informative it
is and sorted into one tier and kind. The best of each kind are returned in the format of a model's reply.

``tasks`` answers what a run asks, with a module for each tier; ``reading`` splits turns into sentences, ``worth``
decides which are worth remembering, ``story`` finds threads and states in them, ``scene_breaks`` where scenes begin.
"""
