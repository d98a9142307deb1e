"""The tiers: what is kept of a chat, each with what it asks a model, how replies are read, and what becomes of them.

A module NAME.py declares its TIER (``tier.py``); ``registry.py`` has all of them, ``stages.py`` the stages of a run.
``reading.py`` asks for several tiers with one call, ``reply_parts.py`` divides its reply, ``review.py`` asks its second
question. Session and long-term memories share ``memories.py`` (what is asked, and which lines of the reply count),
``proposals.py`` (what becomes of them), ``judging.py``, ``consolidation.py``, ``relationships.py``, ``triggers.py``,
and, for small models, ``plain.py``.
"""
