#!/usr/bin/env python3
"""Prints the rows of a SQLite ledger as SQL, for the tests of migrations.

    python3 dump.py DATA/ledger.sqlite > sqlite/NNNN_what.sql

To be run on a ledger that the program of that version recorded, once, before the next migration is written.
"""

import sqlite3
import sys


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    try:
        text = value.decode("ascii")
    except UnicodeDecodeError:
        return f"X'{value.hex()}'"
    if text.isprintable():
        return f"CAST({literal(text)} AS BLOB)"
    return f"X'{value.hex()}'"


def main(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for version, checksum in database.execute("SELECT version, checksum FROM _sqlx_migrations ORDER BY version"):
        print(f"-- migration {version} sha384 {checksum.hex()}")
    tables = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'"
        " ORDER BY name"
    )
    for (table,) in tables.fetchall():
        rows = database.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2')
        columns = ", ".join(column[0] for column in rows.description)
        for row in rows:
            print(f"INSERT INTO {table} ({columns}) VALUES ({', '.join(map(literal, row))});")


if __name__ == "__main__":
    main(*sys.argv[1:])
