"""Random sessions of pi."""
import files
import variants

USAGE = {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "totalTokens": 18,
         "cost": {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}}
LEVELS = ["off", "minimal", "low", "medium", "high"]


def text(rng):
    return {"type": "text", "text": files.words(rng)}


def image():
    return {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def blocks(rng):
    return [image() if rng.random() < 0.1 else text(rng) for _ in range(rng.randrange(0, 3))]


def user(rng, ms):
    return {"role": "user", "content": files.words(rng) if rng.random() < 0.5 else blocks(rng),
            "timestamp": files.epoch(ms)}


def assistant(rng, ms):
    content = []
    for _ in range(rng.randrange(0, 3)):
        content.append(rng.choice([
            lambda: text(rng),
            lambda: {"type": "thinking", "thinking": files.words(rng), "thinkingSignature": "c2ln"},
            lambda: {"type": "toolCall", "id": f"call_{rng.randrange(99)}", "name": "bash",
                     "arguments": {"command": files.words(rng), "n": rng.choice([1, 1.5, None])}}])())
    return {"role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": rng.choice(["anthropic", "openai"]), "model": rng.choice(["m-1", "m-2"]), "usage": USAGE,
            "stopReason": rng.choice(["stop", "toolUse", "error", "aborted"]), "timestamp": files.epoch(ms)}


def system(rng, ms):
    out = {"role": "system", "content": rng.choice([files.words(rng), [text(rng)], ""])}
    if rng.random() < 0.4:
        out["sections"] = {rng.choice("abc"): rng.choice([files.words(rng), None]) for _ in range(2)}
    if rng.random() < 0.4:
        out["toolsAdded"] = [{"name": rng.choice("xyz"), "description": "d", "parameters": {}}]
    if rng.random() < 0.2:
        out["toolsRemoved"] = [rng.choice("xyz")]
    out["timestamp"] = files.epoch(ms)
    return out


def tool_result(rng, ms):
    out = {"role": "toolResult", "toolCallId": f"call_{rng.randrange(99)}", "toolName": "bash", "content": blocks(rng)}
    if rng.random() < 0.3:
        out["details"] = files.value(rng)
    out["isError"] = rng.random() < 0.2
    out["timestamp"] = files.epoch(ms)
    return out


def bash(rng, ms):
    out = {"role": "bashExecution", "command": "ls", "output": rng.choice(["", files.words(rng)])}
    if rng.random() < 0.8:
        out["exitCode"] = rng.choice([0, 1, 127])
    out.update(cancelled=rng.random() < 0.2, truncated=rng.random() < 0.2)
    if rng.random() < 0.4:
        out["fullOutputPath"] = "/tmp/out"
    if rng.random() < 0.2:
        out["excludeFromContext"] = True
    out["timestamp"] = files.epoch(ms)
    return out


def custom(rng, ms):
    return {"role": rng.choice(["custom", "hookMessage", "somethingElse"]), "customType": "x",
            "content": rng.choice([files.words(rng), blocks(rng)]), "display": True, "timestamp": files.epoch(ms)}


def message(rng, ms):
    make = rng.choices([user, assistant, tool_result, system, bash, custom], [10, 10, 4, 2, 2, 1])[0]
    return make(rng, ms)


def content_edit(rng):
    return rng.choice([None, {"content": files.words(rng)}, {"content": blocks(rng)}])


def body(rng, ms, ids, ways):
    """Returns the type of an entry and the members that this type has."""
    kind = rng.choices(["message", "thinking_level_change", "model_change", "usage", "compaction", "branch_summary",
                        "custom", "custom_message", "context_edit", "label", "session_info", "unheard_of"],
                       [60, 3, 3, 2, 4, 4, 3, 4, 4, 6, 3, 1])[0]
    some = rng.choice(ids) if ids and rng.random() < 0.93 else "deadbeef"
    own = {
        "message": lambda: {"message": message(rng, ms)},
        "thinking_level_change": lambda: {"thinkingLevel": rng.choice(LEVELS)},
        "model_change": lambda: {"provider": "anthropic", "modelId": rng.choice(["m-1", "m-3"])},
        "usage": lambda: {"kind": "cache", "provider": "anthropic", "model": "m-1", "usage": USAGE},
        "compaction": lambda: compaction(rng, some, ways),
        "branch_summary": lambda: {"fromId": rng.choice([some, "root"]), "summary": rng.choice(["", files.words(rng)]),
                                   **({"details": files.value(rng)} if rng.random() < 0.3 else {})},
        "custom": lambda: {"customType": "ext", "data": files.value(rng)},
        "custom_message": lambda: {"customType": "ext", "content": rng.choice([files.words(rng), blocks(rng)]),
                                   "display": rng.random() < 0.7},
        "context_edit": lambda: {"targetId": some, "replacement": content_edit(rng)},
        "label": lambda: {"targetId": some, **({"label": files.words(rng, 3)} if rng.random() < 0.75 else {})},
        "session_info": lambda: {"name": rng.choice([files.words(rng, 4), "", "  padded  "])},
        "unheard_of": lambda: {"what": files.value(rng)},
    }[kind]()
    return kind, own


def compaction(rng, some, ways):
    out = {"summary": files.words(rng), "firstKeptEntryId": rng.choice(ways or [some]) if rng.random() < 0.8 else some,
           "tokensBefore": rng.choice([0, 1000, 12.5])}
    if rng.random() < 0.3:
        out["details"] = files.value(rng)
    if rng.random() < 0.3:
        out["fromHook"] = rng.random() < 0.5
    if rng.random() < 0.2:
        out["systemMessage"] = {"role": "system", "content": files.words(rng), "timestamp": files.epoch(0)}
    return out


def odd_entry(rng, entry, ids, file):
    """Makes an entry unusual: pi would not write it, but a file may contain it."""
    kind = entry["type"]
    pick = rng.randrange(18)
    if pick == 0 and ids:
        entry["id"] = rng.choice(ids)
        file.odd.add("repeated id")
    elif pick == 1 and ids:
        entry["parentId"] = entry["id"]
        file.odd.add("circle")
    elif pick == 2:
        entry["timestamp"] = rng.choice(["yesterday", 12345, None, "2026-03-01", "2026-03-01T10:00:00+02:00", ""])
    elif pick == 3 and kind == "message":
        entry["message"] = rng.choice([None, {"role": "user", "content": None}, {"role": "assistant"},
                                       {"role": "toolResult", "content": None, "toolCallId": "x"}])
        file.odd.add("message without content")
    elif pick == 4 and kind == "message":
        del entry["message"]
        file.odd.add("message without content")
    elif pick == 5 and kind == "context_edit":
        del entry["replacement"]
        file.odd.add("edit without replacement")
    elif pick == 6:
        entry["parentId"] = rng.choice(["0badf00d", 7, ""])
        file.odd.add("strange parent")
    elif pick == 7 and kind == "branch_summary":
        entry["summary"] = rng.choice([None, 5, ["a", "b"], {"a": 1}, True])
        file.odd.add("strange summary")
    elif pick == 8 and kind == "compaction":
        entry["summary"] = rng.choice([None, 5, ["a", "b"], {"a": 1}])
        file.odd.add("strange summary")
    elif pick == 9 and kind == "label":
        entry["label"] = rng.choice(["", None, 0, 5, {"a": 1}])
        file.odd.add("strange label")
    elif pick == 10 and kind == "session_info":
        entry["name"] = rng.choice([None, 5, "a\nb", ["x"]])
        file.odd.add("strange name")
    elif pick == 11:
        entry["extra"] = files.value(rng)
    elif pick == 12 and kind in ("thinking_level_change", "model_change"):
        for key in list(entry)[4:]:
            entry[key] = rng.choice([None, 5, "x"])
    elif pick == 13 and kind == "custom_message":
        entry["content"] = rng.choice([None, 5, [], "x"])
    elif pick == 14:
        entry["id"] = rng.choice([None, 5, ""])
        file.odd.add("strange id")
    elif pick == 15:
        del entry["id"]
        file.odd.add("strange id")
    elif pick == 16 and kind == "message":
        odd_message(rng, entry["message"])
    elif pick == 17:
        entry["data"] = files.nested(rng.choice([20, 150]))


ODD_MEMBERS = [
    ("timestamp", "soon"), ("timestamp", None), ("timestamp", -5), ("timestamp", 8.64e15 + 1), ("timestamp", 1.5),
    ("role", None), ("role", "Assistant"), ("role", 5), ("provider", None), ("model", None), ("model", 5), ("command", None),
    ("output", None), ("exitCode", "1"), ("exitCode", None), ("cancelled", "yes"), ("toolCallId", None)]
ODD_CONTENTS = [
    [{"type": "text"}], [{"type": "text", "text": None}], [{"type": "text", "text": 5}], [{"text": "no type"}], [None], ["text"],
    {"type": "text", "text": "x"}, 5, True, [[]]]


def odd_message(rng, message, contents=True):
    """Gives members of a message a wrong type."""
    if contents and rng.random() < 0.4:
        message["content"] = rng.choice(ODD_CONTENTS)
    else:
        key, value = rng.choice(ODD_MEMBERS)
        message[key] = value


def plain_id(rng):
    return f"{rng.getrandbits(32):08x}"


# Ids as other writers form them.
IDS = [
    lambda rng: f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4abc-8abc-{rng.getrandbits(48):012x}",
    lambda rng: str(rng.getrandbits(20)),
    lambda rng: "entry " + plain_id(rng),
    lambda rng: plain_id(rng) + rng.choice(["é", "日本", "\"", "\\", "/", "\n", "\u0001", "🙂"]),
    lambda rng: "x" * rng.choice([100, 255, 256, 300]) + plain_id(rng),
    lambda rng: rng.choice(["__proto__", "constructor", "toString", "root", "null", "last"]) + rng.choice(["", plain_id(rng)]),
    lambda rng: plain_id(rng)[:rng.randrange(2, 8)],
]


def odd_header(rng, header):
    """Makes the header unusual: pi accepts it, but does not write such lines."""
    key, value = rng.choice([
        ("id", ""), ("id", "ü 日本"), ("cwd", None), ("cwd", 5), ("cwd", ""), ("timestamp", "yesterday"), ("timestamp", None),
        ("timestamp", 1700000000000), ("timestamp", ""), ("parentSession", ""), ("extra", files.value(rng)), ("version", 3.5),
        ("version", "3"), ("version", 4)])
    header[key] = value
    if rng.random() < 0.3 and key in ("cwd", "timestamp"):
        del header[key]


def session(rng, odd, version=3, cwd="/w/project"):
    """Returns a session file; with `odd`, it contains what other writers, editors and crashes leave."""
    clock = files.Clock(rng)
    header = {"type": "session", "version": version, "id": f"{rng.getrandbits(64):016x}",
              "timestamp": files.iso(clock.next()), "cwd": cwd}
    if rng.random() < 0.2:
        header["parentSession"] = "/w/other.jsonl"
    if version is None:
        del header["version"]
    if odd and rng.random() < 0.1:
        odd_header(rng, header)
    file = files.File([header])
    make_id = rng.choice(IDS) if odd and rng.random() < 0.15 else plain_id
    ids, way = [], []
    for _ in range(rng.choice([0, 1, 3, 8, 8, 15, 15, 30, 60])):
        ms = clock.next()
        kind, own = body(rng, ms, ids, way)
        parent = way[-1] if way else None
        if ids and rng.random() < 0.12:
            parent = rng.choice(ids + [None])
            way = []
        entry = {"type": kind, "id": make_id(rng), "parentId": parent, "timestamp": files.iso(ms), **own}
        if odd and rng.random() < 0.06:
            odd_entry(rng, entry, ids, file)
        file.lines.append(entry)
        if isinstance(entry.get("id"), str):
            ids.append(entry["id"])
            way.append(entry["id"])
    if odd:
        if rng.random() < 0.06:
            close_circle(rng, file)
        if rng.random() < 0.08:
            file.lines.insert(rng.randrange(1, len(file.lines) + 1),
                              rng.choice([b"5", b'"text"', b"[1]", b"null", b"true", b"0", b"{}"]))
            file.odd.add("no object")
        if rng.random() < 0.03:
            file.lines.append({**header, "id": "another"})
        files.frame(file, rng)
    return file


def close_circle(rng, file):
    entries = [e for e in file.entries() if isinstance(e.get("id"), str)]
    if len(entries) > 2:
        a, b = sorted(rng.sample(range(len(entries)), 2))
        entries[a]["parentId"] = entries[b]["id"]
        file.odd.add("circle")


def old_session(rng, version, cwd="/w/project"):
    """Returns a session of version 1, which has no tree, or 2, which has older names."""
    file = session(rng, False, version, cwd)
    entries = file.entries()
    for at, entry in enumerate(entries):
        message = entry.get("message")
        if message and rng.random() < 0.15:
            entry["message"] = {"role": "hookMessage", "customType": "x", "content": files.words(rng), "display": True,
                                "timestamp": message["timestamp"]}
        if version == 2:
            continue
        if rng.random() < 0.95:
            del entry["id"], entry["parentId"]
        if entry["type"] == "compaction" and rng.random() < 0.9:
            del entry["firstKeptEntryId"]
            entry["firstKeptEntryIndex"] = rng.choice([rng.randrange(len(entries) + 3), 0, -1, 1.5, "1", None])
    if version != 2 and rng.random() < 0.5:
        file.lines[0].update(provider="anthropic", modelId="m-1", thinkingLevel="low", branchedFrom="/w/x.jsonl")
    return file


def variant(rng, *folders):
    """Returns a session of grove's tests with a few changes."""
    found = [text for text in variants.sources(*folders) if is_tree(variants.lines_of(text)[0])]
    return variants.changed(rng, found, "id", "parentId", 1, files.File([]))


def is_tree(header):
    """Returns whether this is the first line of a session whose entries have ids."""
    return isinstance(header, dict) and header.get("type") == "session" and header.get("version") in (2, 3)
