#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What ingero-report --json prints is what format-spec/report.schema.json allows, and nothing else.

    schema.py [--all] [--mutate] FILE...

KIND.*.json is checked as the document of that kind: a view's name, "diff", or "document". The
validator is an independent one: python3-jsonschema. --all: every key of the schema occurs in one of
the documents. --mutate: each document, cut to one element of each array, is changed in every way there
is (a key more, a key less, a value of another type), and each of these must be refused.
The parts of each chain must add up, too.
"""
import copy
import json
import os
import sys

try:
    import jsonschema
except ImportError:     # a distribution's module is for its own interpreter
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROUNDING = 1000     # ns: shares of causes are rounded down
OPTIONAL = ("lossy", "names", "stalls", "thread_list")  # keys that some objects of a kind have

with open(os.path.join(TOP, "format-spec/report.schema.json")) as f:
    SCHEMA = json.load(f)


def validator(kind):
    return jsonschema.Draft202012Validator({
        "$schema": SCHEMA["$schema"], "$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})


def kind_of(path):
    kind = os.path.basename(path).split(".")[0]
    return kind if kind == "document" else kind + "_view"


def place(error):
    return "/".join(str(p) for p in error.absolute_path) or "the document"


def deepest(error):
    """Of alternatives, why the nearest one was refused."""
    while error.context:
        error = max(error.context, key=lambda e: (len(e.absolute_path), -len(e.context or [])))
    return error


def complaints(kind, document):
    errors = [deepest(e) for e in validator(kind).iter_errors(document)]
    return [f"{place(e)}: {e.message[:200]}" for e in errors]


# --- which keys of the schema occur

def resolve(node):
    while "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def seen_keys(node, value, name, into):
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
    for choice in node.get("oneOf", []):
        seen_keys(choice, value, name, into)
    node = resolve(node)
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in node.get("properties", {}):
                into.add((name, key))
                seen_keys(node["properties"][key], inner, name, into)
    elif isinstance(value, list):
        for inner in value:
            seen_keys(node.get("items", {}), inner, name, into)


def all_keys():
    """But for what only a recording with calls from outside the tree has: tests/e2e/outside.py."""
    keys = {(name, key) for name, node in SCHEMA["$defs"].items() for key in node["properties"]}
    return {(name, key) for name, key in keys if name != "outside_call" and key != "lossy"}


# --- documents that must be refused

def cut(value):
    """A small document: of each array the first element, of two kinds of process the longer one."""
    if isinstance(value, dict):
        return {key: cut(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [cut(max(value[:20], key=lambda v: len(str(v))))] if value else []
    return value


def spots(value, path=()):
    """Paths of all values in it."""
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, child in value.items() if isinstance(value, dict) else ():
        yield from spots(child, path + (key,))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def other_type(value):
    return [] if isinstance(value, dict) else "text" if isinstance(value, list) else {"no": 1}


def mutants(document):
    """(where and what, document)"""
    for path in spots(document):
        value = at(document, path)
        if isinstance(value, dict):
            mutant = copy.deepcopy(document)
            at(mutant, path)["unheard_of"] = 1
            yield f"{path}: a key more", mutant
        if not path:
            continue
        mutant = copy.deepcopy(document)
        at(mutant, path[:-1])[path[-1]] = other_type(value)
        yield f"{path}: another type", mutant
        if isinstance(path[-1], str) and path[-1] not in OPTIONAL and "facts" not in path:
            mutant = copy.deepcopy(document)
            del at(mutant, path[:-1])[path[-1]]
            yield f"{path}: a key less", mutant


def mutate(kind, document):
    """How many mutants were refused, and those that were not."""
    check, document, refused, passed = validator(kind), cut(document), 0, []
    for what, mutant in mutants(document):
        if not check.is_valid(mutant):
            refused += 1
        else:
            passed.append(what)
    return refused, passed


# --- what a schema cannot say

def check_chain(chain):
    account, lost = chain["account"], chain["lost_ns"]
    if sum(account.values()) != lost:
        yield f"account: {sum(account.values())} of {lost}"
    known = sum(c["ns"] for c in chain["causes"])
    if abs(known + account["unrecorded_ns"] + account["unexplained_ns"] - lost) > ROUNDING:
        yield f"causes: {known} of {lost}"
    if sum(e["lost_ns"] for e in chain["effects"]) != lost:
        yield "effects do not add up to what was lost"
    if not all(chain[k] for k in ("headline", "cause", "fix", "proof")):
        yield "a sentence is missing"
    for cause in chain["causes"]:
        nobody = cause["who"] == "nobody" or cause["kind"] == "cpu_quota"
        if len(cause["path"]) != cause["hops"] or (cause["pid"] is None) != nobody:
            yield f"path or pid of {cause}"


def check_sums(document):
    if "quiet" not in document:
        return
    for chain in document["chains"] + document["small"]:
        yield from check_chain(chain)
    if document["quiet"] != (not document["chains"] and not document["cannot_tell"]):
        yield "quiet"


def main():
    flags = {a for a in sys.argv[1:] if a.startswith("--")}
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found, wrong, refused = set(), [], 0
    for path in [a for a in sys.argv[1:] if not a.startswith("--")]:
        with open(path) as f:
            document = json.load(f)
        kind = kind_of(path)
        text = complaints(kind, document) + list(check_sums(document))
        if "--mutate" in flags:
            count, passed = mutate(kind, document)
            refused += count
            text += [f"not refused: {what}" for what in passed]
        seen_keys({"$ref": f"#/$defs/{kind}"}, document, kind, found)
        wrong += [f"{path}: {line}" for line in text]
    if "--all" in flags:
        wrong += [f"{name}: \"{key}\" never occurs" for name, key in sorted(all_keys() - found)]
    print("".join(f"{line}\n" for line in wrong), end="")
    if "--mutate" in flags and not wrong:
        print(f"{refused} changed documents are refused")
    return bool(wrong) or not found


sys.exit(main())
