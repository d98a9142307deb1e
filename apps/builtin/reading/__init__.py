"""Read turns: their sentences, who says them, whom they name, and whom a pronoun means. Without database access."""
