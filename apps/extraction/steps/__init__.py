"""What a step of a run works with: its context, calls of the model, messages, people and quotations; its record."""
