from django.db import migrations

# Terms are lexemes as numbers, with how often each occurs: 7 stands for seven times or more. They are for the search
# alone (see apps.memories.search.statements), so that no model loads them. Postgres computes them where lexemes change.
FUNCTIONS = """
CREATE FUNCTION search_term(lexeme text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ((hashtextextended(lexeme, 0) & 9223372036854775807) % 1000000000 + 1)::int;

CREATE FUNCTION search_terms(lexemes tsvector) RETURNS sparsevec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT ('{' || string_agg(term || ':' || times, ',') || '}/1000000000')::sparsevec
    FROM (
        SELECT search_term(lexeme) AS term, least(max(cardinality(positions)), 7) AS times
        FROM unnest(lexemes) GROUP BY 1 LIMIT 16000  -- as many as a sparsevec holds
    ) AS counted
);

CREATE FUNCTION search_pattern(lexemes text[]) RETURNS sparsevec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT ('{' || string_agg(term || ':' || digit, ',') || '}/1000000000')::sparsevec
    FROM (
        SELECT search_term(lexeme) AS term, sum(1 << 3 * (place - 1)::int) AS digit
        FROM unnest(lexemes) WITH ORDINALITY AS query (lexeme, place) GROUP BY 1
    ) AS digits
);
"""
DROP_FUNCTIONS = """
DROP FUNCTION search_pattern(text[]);
DROP FUNCTION search_terms(tsvector);
DROP FUNCTION search_term(text);
"""

# A scan reads the columns before a vector in half the time if the vector isn't between them: vectors come last. Dropping
# the expression of a generated column keeps its values.
MOVE = """
ALTER TABLE {table} ADD COLUMN moved halfvec GENERATED ALWAYS AS ({column}) STORED;
ALTER TABLE {table} ALTER COLUMN moved DROP EXPRESSION, ALTER COLUMN moved SET STORAGE MAIN;
ALTER TABLE {table} DROP COLUMN {column};
ALTER TABLE {table} RENAME COLUMN moved TO {column};
"""
ADD = "ALTER TABLE {table} ADD COLUMN {terms} sparsevec GENERATED ALWAYS AS (search_terms({lexemes})) STORED"
DROP = "ALTER TABLE {table} DROP COLUMN {terms}"
MEMORIES, ENTRIES, PASSAGES = "memories_memory", "memories_journalentry", "memories_passage"


def vector_last(table: str, column: str) -> migrations.RunSQL:
    return migrations.RunSQL(MOVE.format(table=table, column=column), migrations.RunSQL.noop)


def terms_of(table: str, lexemes: str = "lexemes", terms: str = "terms") -> migrations.RunSQL:
    return migrations.RunSQL(ADD.format(table=table, lexemes=lexemes, terms=terms), DROP.format(table=table, terms=terms))


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_standing")]

    operations = [
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        vector_last(MEMORIES, "embedding"),
        vector_last(ENTRIES, "embedding"),
        vector_last(PASSAGES, "embedding"),
        vector_last(PASSAGES, "window_embedding"),
        terms_of(MEMORIES),
        terms_of(ENTRIES),
        terms_of(PASSAGES),
        terms_of(PASSAGES, "window_lexemes", "window_terms"),
        migrations.RemoveIndex(model_name="memory", name="memory_lexemes"),
        migrations.RemoveIndex(model_name="journalentry", name="journal_lexemes"),
    ]
