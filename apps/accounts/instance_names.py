"""Short names of instances, as tokens, entries of the journal and clocks have them."""

INSTANCE_NAME = r"^[a-z0-9-]{1,64}\Z"
LOCI = "loci"  # Loci itself, which no instance may be called
