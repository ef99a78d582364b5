#!/usr/bin/env python3
"""Follows a tiled transparency log: usage: follow_log.py PREFIX VKEY [--since FILE] [--save FILE] [--mirror FOLDER] [--witness VKEY]...

Written from the specifications alone (C2SP signed-note, tlog-checkpoint, tlog-tiles and tlog-cosignature, RFC 6962, RFC 9162);
shares no code with the program. PREFIX is the address before /checkpoint, with http:, https: or, for a log that was copied into
a folder, file:. A bearer key is taken from the environment variable LOG_KEY.

Checks the checkpoint's signature, every tile and every entry against the signed root, and inclusion and consistency by proofs
from tiles. With --since it checks that the log extends the checkpoint in that file; with --witness, that each named witness
cosigned. Prints what it found as one JSON object. Exit code 1 names the first thing that is wrong.
"""
import argparse
import base64
import binascii
import gzip
import hashlib
import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

WIDTH = 256
HASH = 32
ED25519 = 1
COSIGNATURE = 4
SIGNATURES_MAX = 64


class Wrong(Exception):
    """What does not hold."""


def sha256(data):
    return hashlib.sha256(data).digest()


def decode64(text, what):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Wrong(f"{what} is not base64") from error


# --- signed notes --------------------------------------------------------------------------------


class Verifier:
    """A key in the form `name+id+base64(algorithm and key)`."""

    def __init__(self, line):
        fields = line.strip().split("+", 2)
        if len(fields) != 3:
            raise Wrong(f"{line!r} is not a verifier key")
        self.name = fields[0]
        material = decode64(fields[2], "the verifier key")
        self.algorithm = material[0]
        if self.algorithm not in (ED25519, COSIGNATURE) or len(material) != 33:
            raise Wrong(f"the verifier key of {self.name} is of a kind that is not known")
        self.id = sha256(self.name.encode() + b"\n" + material)[:4]
        if self.id.hex() != fields[1]:
            raise Wrong(f"the verifier key of {self.name} has the id {fields[1]} instead of {self.id.hex()}")
        self.key = Ed25519PublicKey.from_public_bytes(material[1:])

    def check(self, signature, text):
        """Returns the time of a cosignature, None for a plain signature."""
        moment = None
        if self.algorithm == COSIGNATURE:
            if len(signature) != 72:
                raise Wrong(f"a cosignature by {self.name} has {len(signature)} bytes instead of 72")
            moment = int.from_bytes(signature[:8], "big")
            signature = signature[8:]
            text = b"cosignature/v1\ntime %d\n" % moment + text
        try:
            self.key.verify(signature, text)
        except InvalidSignature as error:
            raise Wrong(f"the signature by {self.name} does not verify") from error
        return moment


def split_note(note):
    try:
        decoded = note.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Wrong("the note is not UTF-8") from error
    if any(ord(character) < 0x20 and character != "\n" for character in decoded):
        raise Wrong("the note has a control character")
    at = decoded.rfind("\n\n")
    if at < 0 or not decoded.endswith("\n"):
        raise Wrong("the note has no signatures")
    text, lines = decoded[: at + 1], decoded[at + 2:].splitlines()
    if not 1 <= len(lines) <= SIGNATURES_MAX:
        raise Wrong(f"the note has {len(lines)} signatures")
    signatures = []
    for line in lines:
        fields = line.split(" ")
        if len(fields) != 3 or fields[0] != "\u2014":
            raise Wrong(f"{line!r} is not a signature line")
        signatures.append((fields[1], decode64(fields[2], "a signature")))
    return text.encode(), signatures


def signed_by(note, verifier):
    """The note's text, and the time of the signature if it is a cosignature."""
    text, signatures = split_note(note)
    moments = [
        verifier.check(signature[4:], text)
        for name, signature in signatures
        if name == verifier.name and signature[:4] == verifier.id
    ]
    if not moments:
        raise Wrong(f"the note is not signed by {verifier.name}")
    return text, moments[0]


def checkpoint(note, verifier):
    text, _ = signed_by(note, verifier)
    lines = text.decode().split("\n")
    if len(lines) < 4 or lines[0] != verifier.name:
        raise Wrong(f"the checkpoint is not one of {verifier.name}")
    if not lines[1].isascii() or not lines[1].isdigit() or (lines[1] != "0" and lines[1][0] == "0"):
        raise Wrong(f"the checkpoint's size is {lines[1]!r}")
    root = decode64(lines[2], "the root")
    if len(root) != HASH:
        raise Wrong(f"the root has {len(root)} bytes")
    return int(lines[1]), root


# --- the tree ------------------------------------------------------------------------------------


def leaf(data):
    return sha256(b"\x00" + data)


def node(left, right):
    return sha256(b"\x01" + left + right)


def split(size):
    return 1 << (size - 1).bit_length() - 1


def tree_hash(hashes):
    """MTH of RFC 6962, section 2.1, over hashes of leaves or of full subtrees."""
    if not hashes:
        return sha256(b"")
    if len(hashes) == 1:
        return hashes[0]
    at = split(len(hashes))
    return node(tree_hash(hashes[:at]), tree_hash(hashes[at:]))


def path(index, hashes):
    """PATH of RFC 6962, section 2.1.1."""
    if len(hashes) == 1:
        return []
    at = split(len(hashes))
    if index < at:
        return path(index, hashes[:at]) + [tree_hash(hashes[at:])]
    return path(index - at, hashes[at:]) + [tree_hash(hashes[:at])]


def subproof(old, hashes, is_whole):
    """SUBPROOF of RFC 6962, section 2.1.2."""
    if old == len(hashes):
        return [] if is_whole else [tree_hash(hashes)]
    at = split(len(hashes))
    if old <= at:
        return subproof(old, hashes[:at], is_whole) + [tree_hash(hashes[at:])]
    return subproof(old - at, hashes[at:], False) + [tree_hash(hashes[:at])]


def check_inclusion(index, size, leaf_hash, proof, root):
    """RFC 9162, section 2.1.3.2."""
    number, last, result = index, size - 1, leaf_hash
    for sibling in proof:
        if last == 0:
            raise Wrong(f"the proof for entry {index} is too long")
        if number & 1 or number == last:
            result = node(sibling, result)
            while not number & 1 and number:
                number >>= 1
                last >>= 1
        else:
            result = node(result, sibling)
        number >>= 1
        last >>= 1
    if last or result != root:
        raise Wrong(f"entry {index} is not in the tree of {size}")


def check_consistency(old, new, old_root, new_root, proof):
    """RFC 9162, section 2.1.4.2."""
    message = f"the log of {new} entries does not extend that of {old}"
    if old > new:
        raise Wrong(f"the log has {new} entries, and had {old}")
    if old == 0:
        return
    if old == new:
        if proof or old_root != new_root:
            raise Wrong(message)
        return
    if not old & (old - 1):
        proof = [old_root] + proof
    if not proof:
        raise Wrong(message)
    number, last = old - 1, new - 1
    while number & 1:
        number >>= 1
        last >>= 1
    first = second = proof[0]
    for sibling in proof[1:]:
        if last == 0:
            raise Wrong(message)
        if number & 1 or number == last:
            first, second = node(sibling, first), node(sibling, second)
            while not number & 1 and number:
                number >>= 1
                last >>= 1
        else:
            second = node(second, sibling)
        number >>= 1
        last >>= 1
    if last or first != old_root or second != new_root:
        raise Wrong(message)


# --- tiles ---------------------------------------------------------------------------------------


def place(number, width):
    groups = [f"{number % 1000:03}"]
    while number >= 1000:
        number //= 1000
        groups.append(f"x{number % 1000:03}")
    return "/".join(reversed(groups)) + (f".p/{width}" if width < WIDTH else "")


class Log:
    def __init__(self, prefix, mirror):
        self.prefix = prefix.rstrip("/")
        self.mirror = pathlib.Path(mirror) if mirror else None
        self.fetched = 0

    def fetch(self, name, media):
        request = urllib.request.Request(f"{self.prefix}/{name}", headers={"Accept-Encoding": "gzip, identity"})
        if "LOG_KEY" in os.environ:
            request.add_header("Authorization", f"Bearer {os.environ['LOG_KEY']}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                data = answer.read()
                headers = answer.headers
        except urllib.error.URLError as error:
            raise Wrong(f"{name}: {error}") from error
        if not self.prefix.startswith("file:"):
            if headers["Content-Type"] != media:
                raise Wrong(f"{name}: the content type is {headers['Content-Type']}")
            if name != "checkpoint" and "immutable" not in headers["Cache-Control"]:
                raise Wrong(f"{name}: may not be kept: {headers['Cache-Control']}")
        if headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        self.fetched += 1
        if self.mirror:
            target = self.mirror / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return data

    def checkpoint(self):
        return self.fetch("checkpoint", "text/plain; charset=utf-8")

    def tiles(self, level, count):
        """The hashes of a level, tile by tile."""
        hashes = []
        for start in range(0, count, WIDTH):
            width = min(WIDTH, count - start)
            name = f"tile/{level}/{place(start // WIDTH, width)}"
            data = self.fetch(name, "application/octet-stream")
            if len(data) != width * HASH:
                raise Wrong(f"{name}: {len(data)} bytes instead of {width * HASH}")
            hashes += [data[at:at + HASH] for at in range(0, len(data), HASH)]
        return hashes

    def entries(self, count):
        for start in range(0, count, WIDTH):
            width = min(WIDTH, count - start)
            name = f"tile/entries/{place(start // WIDTH, width)}"
            data = self.fetch(name, "application/octet-stream")
            found = 0
            while data:
                length = int.from_bytes(data[:2], "big")
                entry, data = data[2:2 + length], data[2 + length:]
                if len(entry) != length:
                    raise Wrong(f"{name}: it ends within an entry")
                found += 1
                yield entry
            if found != width:
                raise Wrong(f"{name}: {found} entries instead of {width}")


def check_levels(log, leaves):
    """Every hash of a level stands for a full tile of the level below."""
    level, below = 0, leaves
    while len(below) >= WIDTH:
        level += 1
        hashes = log.tiles(level, len(below) // WIDTH)
        for at, value in enumerate(hashes):
            if tree_hash(below[at * WIDTH:(at + 1) * WIDTH]) != value:
                raise Wrong(f"tile/{level}: hash {at} is not that of the tile below")
        below = hashes
    return level + 1


def samples(size):
    return sorted({0, 1, WIDTH - 1, WIDTH, size // 2, size - 2, size - 1} & set(range(size)))


def follow(arguments):
    verifier = Verifier(arguments.vkey)
    log = Log(arguments.prefix, arguments.mirror)
    note = log.checkpoint()
    size, root = checkpoint(note, verifier)
    leaves = log.tiles(0, size)
    if tree_hash(leaves) != root:
        raise Wrong(f"the tiles' root is not the one signed for {size} entries")
    levels = check_levels(log, leaves)
    entries = 0
    for index, entry in enumerate(log.entries(size)):
        if leaf(entry) != leaves[index]:
            raise Wrong(f"entry {index} is not the one whose hash is in its tile")
        if json.loads(entry)["index"] != index:
            raise Wrong(f"entry {index} says that it is another one")
        entries += 1
    for index in samples(size):
        check_inclusion(index, size, leaves[index], path(index, leaves), root)
    since = None
    if arguments.since:
        since, old_root = checkpoint(pathlib.Path(arguments.since).read_bytes(), verifier)
        proof = subproof(since, leaves, True) if 0 < since <= size else []
        check_consistency(since, size, old_root, root, proof)
    witnesses = {}
    for line in arguments.witness:
        witness = Verifier(line)
        _, moment = signed_by(note, witness)
        if moment is None or moment > time.time() + 60:
            raise Wrong(f"{witness.name} signed at {moment}")
        witnesses[witness.name] = moment
    if arguments.save:
        pathlib.Path(arguments.save).write_bytes(note)
    return {
        "origin": verifier.name, "size": size, "root": root.hex(), "levels": levels, "entries": entries,
        "included": samples(size), "since": since, "witnesses": witnesses, "fetched": log.fetched,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix")
    parser.add_argument("vkey")
    parser.add_argument("--since")
    parser.add_argument("--save")
    parser.add_argument("--mirror")
    parser.add_argument("--witness", action="append", default=[])
    try:
        print(json.dumps(follow(parser.parse_args()), sort_keys=True))
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
