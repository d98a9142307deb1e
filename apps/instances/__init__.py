"""Programs that share one memory: instances, vector clocks, pull and push, identity files, and conflicts."""
