"""Files of other programs, in and out: chats, character cards, lorebooks, and memories.

``formats`` reads and writes the files of chats, cards and lorebooks; ``chats``, ``cards`` and ``memories`` store what
they hold, and export it. What memory extensions left inside an imported chat is read with it.
"""
