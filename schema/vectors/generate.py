#!/usr/bin/env python3
"""Writes the fixed vectors beside it from the written format alone (docs/ledger-format.md); shares no code with the crate.

    pip install blake3 cryptography
    python3 schema/vectors/generate.py            writes the files
    python3 schema/vectors/generate.py --check    compares them with what is kept; exit code 1 names what differs
"""
import argparse
import base64
import hashlib
import json
import pathlib
import sys

from blake3 import blake3
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HERE = pathlib.Path(__file__).resolve().parent
COMMITMENT = "remembrancer 2026-11 payload commitment v1"
ENTRY = "remembrancer 2026-11 session entry v1"
GENESIS = "remembrancer 2026-11 session genesis v1"
ORIGIN = "ledger.example/vectors"


def derive_key(context, data):
    return blake3(data, derive_key_context=context).digest()


def commit(salt, payload):
    return derive_key(COMMITMENT, salt + len(payload).to_bytes(8, "little") + payload)


def genesis(origin, session):
    return derive_key(GENESIS, origin.encode() + b"\n" + session.encode())


def canonical(value):
    """RFC 8785 for what an entry holds: strings, small whole numbers, arrays and objects with ASCII names."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf(data):
    return sha256(b"\x00" + data)


def node(left, right):
    return sha256(b"\x01" + left + right)


def split(size):
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def root(leaves):
    """RFC 6962 section 2.1, by its recursive definition."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    middle = split(len(leaves))
    return node(root(leaves[:middle]), root(leaves[middle:]))


def inclusion(index, leaves):
    """RFC 6962 section 2.1.1."""
    if len(leaves) == 1:
        return []
    middle = split(len(leaves))
    if index < middle:
        return inclusion(index, leaves[:middle]) + [root(leaves[middle:])]
    return inclusion(index - middle, leaves[middle:]) + [root(leaves[:middle])]


def consistency(old, leaves, whole=True):
    """RFC 6962 section 2.1.2."""
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    middle = split(len(leaves))
    if old <= middle:
        return consistency(old, leaves[:middle], whole) + [root(leaves[middle:])]
    return consistency(old - middle, leaves[middle:], False) + [root(leaves[:middle])]


class Key:
    def __init__(self, seed):
        self.seed = seed
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self.private.public_key()
        self.raw = self.public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    def key_id(self, name):
        return sha256(name.encode() + b"\n\x01" + self.raw)[:4]

    def note(self, text, name):
        signed = base64.b64encode(self.key_id(name) + self.private.sign(text.encode())).decode()
        return f"{text}\n\u2014 {name} {signed}\n"


def hashes():
    inputs = [b"", b"abc", "remembrancer \u00e9 \u2028".encode(), bytes(range(256)) * 40]
    return {
        "blake3": [{"input": i.hex(), "hash": blake3(i).hexdigest()} for i in inputs],
        "derive_key": [
            {"context": c, "input": i.hex(), "hash": derive_key(c, i).hex()} for c in (COMMITMENT, ENTRY, GENESIS) for i in inputs[:3]
        ],
        "sha256": [{"input": i.hex(), "hash": sha256(i).hex()} for i in inputs],
    }


def commitments():
    payloads = ["{}", '{"objective" : "look",  "x":[1.0,1e1]}', '{"text":"\u00e9 \U0001f600 \u2028"}', '{"text":"' + "x" * 2000 + '"}']
    salts = [bytes(32), bytes(range(32)), b"\xff" * 32]
    return [{"salt": s.hex(), "payload": p, "commitment": commit(s, p.encode()).hex()} for p in payloads for s in salts]


def ledger():
    """Two sessions interleaved in one ledger."""
    events = [
        ("run-1", "e-1", "session.started", "billing agent \u00e9 \"q\" \\ \u2028", "2026-11-30T09:00:00+01:00", [], "{}"),
        ("run-2", "e-1", "session.started", None, None, [], '{"label":"twin"}'),
        ("run-1", "0193-a:b@c_d.e", "intent.declared", None, None, [], '{"objective" : "look"}'),
        ("run-1", "e-3", "custom.note", "a", None, [b"blob", b""], '{"n":1}'),
        ("run-2", "e-2", "session.ended", None, "2026-11-30T08:00:00.5Z", [], "{}"),
        ("run-1", "e-4", "session.ended", None, None, [], '{"outcome":"done"}'),
    ]
    heads, counts, rows = {}, {}, []
    for index, (session, event, kind, agent, time, blobs, payload) in enumerate(events):
        salt = sha256(b"salt %d" % index)
        entry = {
            "blobs": [blake3(blob).hexdigest() for blob in blobs],
            "commitment": commit(salt, payload.encode()).hex(),
            "event": event,
            "index": index,
            "origin": ORIGIN,
            "prev": heads.get(session, genesis(ORIGIN, session)).hex(),
            "received": f"2026-11-30T08:00:{index:02}.{index * 7:03}Z",
            "sequence": counts.get(session, 0),
            "session": session,
            "type": kind,
            "v": 1,
        }
        if agent is not None:
            entry["agent"] = agent
        if time is not None:
            entry["time"] = time
        data = canonical(entry)
        heads[session], counts[session] = derive_key(ENTRY, data), counts.get(session, 0) + 1
        rows.append({
            "salt": salt.hex(), "payload": payload, "bytes": data.decode(),
            "hash": heads[session].hex(), "prev": entry["prev"], "leaf": leaf(data).hex(),
        })
    return rows


def entries():
    rows = ledger()
    good = rows[2]["bytes"]
    refused = {
        "white space": good.replace(":2,", ": 2,", 1),
        "a line break at the end": good + "\n",
        "members out of order": good[:-1].replace('"blobs":[],', "", 1) + ',"blobs":[]}',
        "an unknown member": good[:-1] + ',"w":1}',
        "another version": good.replace('"v":1', '"v":2', 1),
        "a missing member": good.replace('"sequence":1,', "", 1),
        "a needless escape": good.replace("run-1", "run\\u002d1", 1),
        "a number in another form": good.replace('"index":2', '"index":2.0', 1),
        "a hash in capitals": good.replace(json.loads(good)["prev"], json.loads(good)["prev"].upper(), 1),
        "a name outside its alphabet": good.replace('"session":"run-1"', '"session":"run 1"', 1),
        "a member twice": good.replace('"index":2', '"index":2,"index":2', 1),
        "null for an absent member": good.replace('{"blobs"', '{"agent":null,"blobs"', 1),
    }
    assert all(text != good for text in refused.values())
    return {
        "genesis": [
            {"origin": o, "session": s, "hash": genesis(o, s).hex()}
            for o, s in [(ORIGIN, "run-1"), (ORIGIN, "run-2"), ("ledger.example/other", "run-1"), ("l", "x" * 128)]
        ],
        "ledger": rows,
        "refused": [{"why": why, "bytes": text} for why, text in refused.items()],
    }


def merkle():
    data = [b"", b"\x00", b"entry 2"] + [b'{"index":%d}' % i for i in range(3, 12)]
    leaves = [leaf(d) for d in data]
    sizes = range(len(leaves) + 1)
    hexes = lambda proof: [h.hex() for h in proof]  # noqa: E731
    inclusions = [
        {"index": i, "size": n, "proof": hexes(inclusion(i, leaves[:n]))} for n in sizes for i in range(n)
    ]
    consistencies = [
        {"old": o, "new": n, "proof": hexes(consistency(o, leaves[:n])) if o else []} for n in sizes for o in range(n + 1)
    ]
    inside = inclusion(4, leaves[:7])
    flipped = [bytes([inside[0][0] ^ 1]) + inside[0][1:]] + inside[1:]
    grown = consistency(3, leaves[:7])
    return {
        "leaves": [{"input": d.hex(), "hash": leaf(d).hex()} for d in data],
        "roots": [root(leaves[:n]).hex() for n in sizes],
        "inclusion": inclusions,
        "consistency": consistencies,
        "refused_inclusion": [
            {"why": "one bit changed", "index": 4, "size": 7, "proof": hexes(flipped)},
            {"why": "a hash too few", "index": 4, "size": 7, "proof": hexes(inside[:-1])},
            {"why": "a hash too many", "index": 4, "size": 7, "proof": hexes(inside + inside[-1:])},
            {"why": "order reversed", "index": 4, "size": 7, "proof": hexes(inside[::-1])},
            {"why": "another index", "index": 5, "size": 7, "proof": hexes(inside)},
            {"why": "an index outside", "index": 7, "size": 7, "proof": hexes(inside)},
        ],
        "refused_consistency": [
            {"why": "order reversed", "old": 3, "new": 7, "proof": hexes(grown[::-1])},
            {"why": "a hash too few", "old": 3, "new": 7, "proof": hexes(grown[1:])},
            {"why": "another old size", "old": 5, "new": 7, "proof": hexes(grown)},
            {"why": "shrinking", "old": 7, "new": 3, "proof": hexes(grown)},
            {"why": "a proof where none is needed", "old": 7, "new": 7, "proof": hexes(grown)},
        ],
    }


def notes():
    key, other = Key(bytes(range(32))), Key(b"\x07" * 32)
    rows = ledger()
    tree = root([bytes.fromhex(row["leaf"]) for row in rows])
    text = f"{ORIGIN}\n{len(rows)}\n{base64.b64encode(tree).decode()}\n"
    lines = [(row, json.loads(row["bytes"])) for row in rows[2:4]]
    receipt = f"remembrancer receipt v1\n{ORIGIN}\n" + "".join(
        f"{entry['index']} {entry['session']} {entry['sequence']} {row['hash']}\n" for row, entry in lines
    )
    checkpoint = key.note(text, ORIGIN)
    pem = key.public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    cosigned = checkpoint + other.note(text, "witness.example").split("\n\n")[1]
    refused = {
        "another size": checkpoint.replace("\n6\n", "\n7\n", 1),
        "another origin": checkpoint.replace(ORIGIN, "ledger.example/other"),
        "signed by another key": other.note(text, ORIGIN),
        "an extension line": key.note(text + "extension\n", ORIGIN),
        "a leading zero": key.note(text.replace("\n6\n", "\n06\n"), ORIGIN),
        "a sign": key.note(text.replace("\n6\n", "\n+6\n"), ORIGIN),
        "a short root": key.note(text.replace(base64.b64encode(tree).decode(), base64.b64encode(tree[:31]).decode()), ORIGIN),
        "a control character": key.note(text.replace("\n6\n", "\n6\r\n"), ORIGIN),
        "no signature": text,
        "a cut last line": checkpoint[:-1],
        "a receipt": key.note(receipt, ORIGIN),
    }
    return {
        "keys": [
            {"seed": k.seed.hex(), "public": k.raw.hex(), "fingerprint": sha256(k.raw).hex(), "name": n, "key_id": k.key_id(n).hex()}
            for k in (key, other) for n in (ORIGIN, "witness.example")
        ],
        "public_pem": pem,
        "signature": {"message": "message", "signature": key.private.sign(b"message").hex()},
        "checkpoint": {"origin": ORIGIN, "size": len(rows), "root": tree.hex(), "note": checkpoint, "cosigned": cosigned},
        "receipt": {
            "origin": ORIGIN, "note": key.note(receipt, ORIGIN),
            "lines": [{"index": e["index"], "session": e["session"], "sequence": e["sequence"], "hash": r["hash"]} for r, e in lines],
        },
        "refused_checkpoints": [{"why": why, "note": note} for why, note in refused.items()],
    }


def ijson():
    """Inputs in hexadecimal, because some of them are not UTF-8."""
    accepted = [
        "{}", "[]", "null", " true\n", '""', '{"a":{"a":1},"b":[{"a":2},{"a":3}]}', '"\\ud83d\\ude00"', '"\\\\ud800"',
        "[9007199254740991,-9007199254740991,0,-0,0.1,1e300,5e-324,0e-400,123.456e2]", '"9007199254740993 \\" { ["',
        "[" * 64 + "]" * 64, '{"a":1,"A":2,"\u00e9":3,"e\u0301":4}', '"[[[[[[[[[[{{{{{{{{"',
    ]
    refused = {
        "duplicate_name": ['{"a":1,"a":1}', '{"a":{"b":1,"c":2,"b":3}}', '[{"a":1,"\\u0061":2}]', '{"":1,"":2}'],
        "number": ["9007199254740992", "[-9007199254740993]", '{"n":123456789012345678901234567890}', "9007199254740993.0", "[1e999]", "[1E-400]", "0." + "0" * 400 + "1"],
        "surrogate": ['"\\ud800"', '["\\udc00x"]', '{"\\udfff":1}', '"\\ud800\\ud800"'],
        "depth": ["[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65],
        "syntax": ["", "{", "{} {}", "[1,]", '{"a":1,}', "{'a':1}", "NaN", "[Infinity]", "01", "+1", ".5", "1.", '"\t"', "\ufeff{}", "tru", "[1 2]", "// x\n{}"],
    }
    rows = [{"accepted": True, "input": text.encode().hex()} for text in accepted]
    rows += [{"accepted": False, "why": why, "input": text.encode().hex()} for why, texts in refused.items() for text in texts]
    rows += [{"accepted": False, "why": "syntax", "input": raw} for raw in ("22ff22", "22eda08022", "22c0af22", "7b7d00")]
    return rows


VECTORS = {
    "hashes": hashes, "commitments": commitments, "entries": entries, "merkle": merkle, "notes": notes, "ijson": ijson,
}


def main():
    parser = argparse.ArgumentParser(description="Writes or checks the fixed vectors.")
    parser.add_argument("--check", action="store_true", help="compare with the kept files, write nothing")
    check = parser.parse_args().check
    stale = []
    for name, make in VECTORS.items():
        path = HERE / f"{name}.json"
        text = json.dumps(make(), indent=1, ensure_ascii=True) + "\n"
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    extra = sorted(path.name for path in HERE.glob("*.json") if path.stem not in VECTORS)
    if stale or (check and extra):
        print(f"not as generated: {', '.join(stale + extra)}; run python3 schema/vectors/generate.py", file=sys.stderr)
        return 1
    if check:
        print(f"{len(VECTORS)} vector files are as generated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
