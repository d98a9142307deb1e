"""Read and write character cards. Without Django.

`reading.read` parses a file, `document` knows the versions and fields of cards, `writing` puts a card into a PNG.
"""
