"""What goes into the prompt: slots, budgets held on the rendered text, the recall of a turn and
its card, and the assembly of all of it. It also seeds the demo, the one place that uses everything.
"""
