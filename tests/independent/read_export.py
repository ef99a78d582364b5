#!/usr/bin/env python3
"""Reads an export with DuckDB and reconciles it: usage: read_export.py FOLDER

Shares no code with the program. Checks every file against the manifest (size, SHA-256, rows, column names and types), then
the tables against each other, and prints what it counted as one JSON object. Exit code 1 names the first disagreement.
"""
import hashlib
import json
import pathlib
import sys

import duckdb

DUCKDB_TYPES = {
    "UInt64": "UBIGINT",
    "Int64": "BIGINT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
    "Utf8": "VARCHAR",
    "Timestamp(ms, UTC)": "TIMESTAMP WITH TIME ZONE",
    "List<Utf8>": "VARCHAR[]",
}

# Each query counts rows that contradict another table: all must give 0.
CONTRADICTIONS = {
    "sessions.entries against entries":
        "SELECT count(*) FROM sessions s WHERE s.entries <> (SELECT count(*) FROM entries e WHERE e.session = s.session)",
    "sessions.turns against turns":
        "SELECT count(*) FROM sessions s WHERE s.turns <> (SELECT count(*) FROM turns t WHERE t.session = s.session)",
    "sessions.mutations against mutations":
        "SELECT count(*) FROM sessions s WHERE s.mutations <> (SELECT count(*) FROM mutations m WHERE m.session = s.session)",
    "sessions.actions against actions":
        "SELECT count(*) FROM sessions s WHERE s.actions <> (SELECT count(*) FROM actions a WHERE a.session = s.session)",
    "sessions.findings against findings":
        "SELECT count(*) FROM sessions s WHERE s.findings <> (SELECT count(*) FROM findings f WHERE f.session = s.session)",
    "sessions.turns × constraints against presence":
        "SELECT count(*) FROM sessions s WHERE s.turns * s.constraints <> "
        "(SELECT count(*) FROM presence p WHERE p.session = s.session)",
    "sessions.actions_without_trace against actions":
        "SELECT count(*) FROM sessions s WHERE s.actions_without_trace <> "
        "(SELECT count(*) FROM actions a WHERE a.session = s.session AND a.without_trace)",
    "sessions.prohibited_without_trace against actions":
        "SELECT count(*) FROM sessions s WHERE s.prohibited_without_trace <> "
        "(SELECT count(*) FROM actions a WHERE a.session = s.session AND a.prohibited_without_trace)",
    "turns.parts against context_parts":
        "SELECT count(*) FROM turns t WHERE t.parts <> (SELECT count(*) FROM context_parts c "
        "WHERE c.session = t.session AND t.turn BETWEEN c.first_turn AND c.last_turn)",
    "actions.limits_without_trace against presence":
        "SELECT count(*) FROM actions a WHERE len(a.limits_without_trace) <> (SELECT count(*) FROM presence p "
        "WHERE p.session = a.session AND p.turn = a.turn AND p.\"limit\" AND p.state = 'no_trace')",
    "actions and mutations against entries":
        "SELECT count(*) FROM (SELECT session, entry FROM actions UNION ALL SELECT session, declared_entry FROM mutations "
        "WHERE declared) x WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry = x.entry AND e.session = x.session)",
    "sequence numbers without gaps":
        "SELECT count(*) FROM (SELECT session FROM entries GROUP BY session "
        "HAVING min(sequence) <> 0 OR max(sequence) + 1 <> count(DISTINCT sequence))",
    "each entry's prev against the hash before it":
        "SELECT count(*) FROM entries e JOIN entries p ON p.session = e.session AND p.sequence + 1 = e.sequence "
        "WHERE e.prev <> p.hash",
    "sessions.head against entries":
        "SELECT count(*) FROM sessions s WHERE s.entries > 0 AND s.head IS DISTINCT FROM "
        "(SELECT arg_max(hash, sequence) FROM entries e WHERE e.session = s.session)",
}


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def check_file(connection, folder, table):
    path = folder / table["file"]
    data = path.read_bytes()
    if len(data) != table["bytes"] or hashlib.sha256(data).hexdigest() != table["sha256"]:
        fail(f"{table['file']}: size or SHA-256 is not the manifest's")
    quoted = str(path).replace("'", "''")
    connection.execute(f"CREATE VIEW {table['name']} AS SELECT * FROM read_parquet('{quoted}')")
    found = [row[:2] for row in connection.execute(f"DESCRIBE {table['name']}").fetchall()]
    expected = [(column["name"], DUCKDB_TYPES[column["type"]]) for column in table["columns"]]
    if found != expected:
        fail(f"{table['file']}: columns are {found}, the manifest says {expected}")
    rows = connection.execute(f"SELECT count(*) FROM {table['name']}").fetchone()[0]
    if rows != table["rows"]:
        fail(f"{table['file']}: {rows} rows, the manifest says {table['rows']}")
    return rows


def main():
    if len(sys.argv) != 2:
        fail(__doc__.splitlines()[0])
    folder = pathlib.Path(sys.argv[1])
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    if manifest["format"] != "remembrancer export" or manifest["version"] != 1:
        fail(f"manifest.json: format {manifest['format']} {manifest['version']} is not known here")
    connection = duckdb.connect()
    rows = {table["name"]: check_file(connection, folder, table) for table in manifest["tables"]}
    for name, query in CONTRADICTIONS.items():
        wrong = connection.execute(query).fetchone()[0]
        if wrong:
            fail(f"{name}: {wrong} rows disagree")

    def one(query):
        return int(connection.execute(query).fetchone()[0])

    print(json.dumps({
        "rows": rows,
        "memberships": one("SELECT coalesce(sum(turns), 0) FROM context_parts"),
        "actions_without_trace": one("SELECT count(*) FROM actions WHERE without_trace"),
        "prohibited_without_trace": one("SELECT count(*) FROM actions WHERE prohibited_without_trace"),
        "states": dict(connection.execute("SELECT coalesce(state, 'not declared'), count(*) FROM presence GROUP BY state ORDER BY state").fetchall()),
        "first_received_ms": one("SELECT coalesce(epoch_ms(min(received)), 0) FROM entries"),
    }, sort_keys=True))


if __name__ == "__main__":
    main()
