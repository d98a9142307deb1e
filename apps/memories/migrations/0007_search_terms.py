from collections.abc import Sequence

from django.db import migrations

# Terms are lexemes as numbers, with how often each occurs: 7 stands for seven times or more. They are for the search
# alone (see apps.search.scan), so that no model loads them. Postgres computes them where lexemes change.
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

# Who reads several of the tables in a transaction begins with passages, as the search does. A lock that is taken after
# minutes of work on another table would wait for them while they wait for that one, and Postgres ends the migration.
LOCK = "LOCK TABLE memories_passage, memories_memory, memories_journalentry"

# A scan reads the columns before a vector in half the time if the vector isn't between them: vectors come last. Dropping
# the expression of a generated column keeps its values. Each statement that adds columns rewrites the table.
ADD_MOVED = "ADD COLUMN moved_{column} halfvec GENERATED ALWAYS AS ({column}) STORED"
REPLACE = """
ALTER TABLE {table} ALTER COLUMN moved_{column} DROP EXPRESSION, ALTER COLUMN moved_{column} SET STORAGE MAIN;
ALTER TABLE {table} DROP COLUMN {column};
ALTER TABLE {table} RENAME COLUMN moved_{column} TO {column};
"""
ADD = "ADD COLUMN {prefix}terms sparsevec GENERATED ALWAYS AS (search_terms({prefix}lexemes)) STORED"
DROP = "DROP COLUMN {prefix}terms"
MEMORIES, ENTRIES, PASSAGES = "memories_memory", "memories_journalentry", "memories_passage"


def altered(table: str, part: str, **values: Sequence[str]) -> str:
    """Return the statement that alters a table once, by a part for each of the values of a name."""
    ((name, each),) = values.items()
    return f"ALTER TABLE {table} {', '.join(part.format(**{name: value}) for value in each)};"


def vectors_last(table: str, *columns: str) -> migrations.RunSQL:
    replace = "".join(REPLACE.format(table=table, column=column) for column in columns)
    return migrations.RunSQL(altered(table, ADD_MOVED, column=columns) + replace, migrations.RunSQL.noop)


def terms_of(table: str, *prefixes: str) -> migrations.RunSQL:
    return migrations.RunSQL(altered(table, ADD, prefix=prefixes), altered(table, DROP, prefix=prefixes))


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_standing")]

    operations = [
        migrations.RunSQL(LOCK, LOCK),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        vectors_last(MEMORIES, "embedding"),
        vectors_last(ENTRIES, "embedding"),
        vectors_last(PASSAGES, "embedding", "window_embedding"),
        terms_of(MEMORIES, ""),
        terms_of(ENTRIES, ""),
        terms_of(PASSAGES, "", "window_"),
        migrations.RemoveIndex(model_name="memory", name="memory_lexemes"),
        migrations.RemoveIndex(model_name="journalentry", name="journal_lexemes"),
    ]
