from django.db import migrations

# Terms are lexemes as numbers. Since here each has the weight that BM25 gives to how often it occurs, so that a dot
# product with the weights of a query is the score (see apps.search.scan). They were the mere numbers of occurrences.
FUNCTIONS = """
CREATE FUNCTION search_query(lexemes text[], weights float8[]) RETURNS sparsevec
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT ('{' || string_agg(term || ':' || weight, ',') || '}/1000000000')::sparsevec
    FROM (
        SELECT search_term(lexeme) AS term, max(weight)::real AS weight
        FROM unnest(lexemes, weights) AS query (lexeme, weight) GROUP BY 1
    ) AS weighted
);

CREATE FUNCTION search_terms(lexemes tsvector) RETURNS sparsevec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT ('{' || string_agg(term || ':' || times * (1 + 1.2) / (times + 1.2), ',') || '}/1000000000')::sparsevec
    FROM (
        SELECT search_term(lexeme) AS term, greatest(max(cardinality(positions)), 1)::float8 AS times
        FROM unnest(lexemes) GROUP BY 1 LIMIT 16000  -- as many as a sparsevec holds
    ) AS counted
);
"""
FORMER_FUNCTIONS = """
CREATE FUNCTION search_terms(lexemes tsvector) RETURNS sparsevec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT ('{' || string_agg(term || ':' || times, ',') || '}/1000000000')::sparsevec
    FROM (
        SELECT search_term(lexeme) AS term, least(max(cardinality(positions)), 7) AS times
        FROM unnest(lexemes) GROUP BY 1 LIMIT 16000
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
DROP = "DROP FUNCTION search_query(text[], float8[]); DROP FUNCTION search_terms(tsvector);"
DROP_FORMER = "DROP FUNCTION search_pattern(text[]); DROP FUNCTION search_terms(tsvector);"

# In the order in which a search reads them, as in 0007. Each statement that adds columns rewrites its table.
LOCK = "LOCK TABLE memories_passage, memories_memory, memories_journalentry"
COLUMNS = {"memories_passage": ("terms", "window_terms"), "memories_memory": ("terms",), "memories_journalentry": ("terms",)}


def altered(part: str) -> str:
    """Return the statements that alter each table once."""
    parts = {
        table: [part.format(column=column, lexemes=column.replace("terms", "lexemes")) for column in columns]
        for table, columns in COLUMNS.items()
    }
    return "".join(f"ALTER TABLE {table} {', '.join(each)};" for table, each in parts.items())


DROP_COLUMNS = altered("DROP COLUMN {column}")
ADD_COLUMNS = altered("ADD COLUMN {column} sparsevec GENERATED ALWAYS AS (search_terms({lexemes})) STORED")


class Migration(migrations.Migration):
    dependencies = [("memories", "0013_words_of_any_script")]

    operations = [
        migrations.RunSQL(LOCK, LOCK),
        migrations.RunSQL(
            DROP_COLUMNS + DROP_FORMER + FUNCTIONS + ADD_COLUMNS, DROP_COLUMNS + DROP + FORMER_FUNCTIONS + ADD_COLUMNS
        ),
    ]
