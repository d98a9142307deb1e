"""Character cards: pure readers of their containers, and the card document itself, without Django.

`reading.read` takes a file's bytes and gives a `reading.ParsedCard`; `document` knows versions and fields; `writing`
makes a PNG again.
"""
