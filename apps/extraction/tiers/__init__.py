"""The tiers: what is kept of a chat, each with what it asks a model, how replies are read, and what becomes of them.

Each module NAME.py declares its TIER (``apps/extraction/tier.py``). What session and long-term memories share has a
package of its own, ``apps/extraction/memories``; ``apps/extraction/reading`` has the list of all tiers, the stages of a
run, and the one call that asks for several tiers. ``templates/`` has what each of them asks.
"""
