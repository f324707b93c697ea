"""Random sessions of oh-my-pi."""
import driver
import files
import pi_files


def user(rng, ms):
    out = pi_files.user(rng, ms)
    if rng.random() < 0.3:
        out["attribution"] = "agent"
    return out


def developer(rng, ms):
    return {**pi_files.user(rng, ms), "role": "developer"}


def python(rng, ms):
    return {"role": "pythonExecution", "code": "1 + 1", "output": rng.choice(["", files.words(rng)]), "exitCode": rng.choice([0, 1]),
            "cancelled": rng.random() < 0.2, "truncated": False, "timestamp": files.epoch(ms)}


def mention(rng, ms):
    return {"role": "fileMention", "files": [{"path": "a.c", "content": files.words(rng), "lineCount": 1}],
            "timestamp": files.epoch(ms)}


def assistant(rng, ms):
    """Returns a reply; one that was stopped may end in thoughts without a signature."""
    out = pi_files.assistant(rng, ms)
    for block in out["content"]:
        if block["type"] == "thinking" and rng.random() < 0.6:
            del block["thinkingSignature"]
    if rng.random() < 0.1:
        out["content"].append({"type": "text", "text": rng.choice(["", " \n"])})
    return out


def message(rng, ms):
    make = rng.choices([user, assistant, pi_files.tool_result, pi_files.bash, pi_files.custom, developer, python, mention],
                       [20, 20, 8, 3, 2, 2, 1, 1])[0]
    return make(rng, ms)


def body(rng, ms, ids, way):
    kind = rng.choices(["message", "thinking_level_change", "model_change", "compaction", "branch_summary", "custom",
                        "custom_message", "label", "mode_change", "service_tier_change", "ttsr_injection", "session_init",
                        "reset_boundary", "unheard_of"],
                       [60, 3, 4, 4, 4, 3, 5, 6, 2, 2, 2, 1, 1, 1])[0]
    some = rng.choice(ids) if ids and rng.random() < 0.93 else "deadbeef"
    own = {
        "message": lambda: {"message": message(rng, ms)},
        "thinking_level_change": lambda: {"thinkingLevel": rng.choice(pi_files.LEVELS + [None])},
        "model_change": lambda: {"model": rng.choice(["anthropic/m-1", "openai/m-3"]),
                                 **({"role": rng.choice(["default", "smol", "slow"])} if rng.random() < 0.6 else {})},
        "compaction": lambda: {"summary": files.words(rng), **({"shortSummary": files.words(rng)} if rng.random() < 0.5 else {}),
                               "firstKeptEntryId": rng.choice(way or [some]) if rng.random() < 0.8 else some,
                               "tokensBefore": rng.choice([0, 1000])},
        "branch_summary": lambda: {"fromId": rng.choice([some, "root"]), "summary": rng.choice(["", files.words(rng)])},
        "custom": lambda: {"customType": "ext", "data": files.value(rng)},
        "custom_message": lambda: {"customType": rng.choice(["ext", "ext", "ext", "interrupted-thinking", "interrupted-thinking", "prewalk-plan"]), "content": rng.choice([files.words(rng), pi_files.blocks(rng)]),
                                   "display": rng.random() < 0.7, "attribution": rng.choice(["agent", "user"])},
        "label": lambda: {"targetId": some, **({"label": files.words(rng, 3)} if rng.random() < 0.75 else {})},
        "mode_change": lambda: {"mode": rng.choice(["plan", "none"]), **({"data": {"a": 1}} if rng.random() < 0.5 else {})},
        "service_tier_change": lambda: {"serviceTier": rng.choice(["flex", "priority", None])},
        "ttsr_injection": lambda: {"injectedRules": [rng.choice("abc") for _ in range(2)]},
        "session_init": lambda: {"systemPrompt": "x", "task": "y", "tools": []},
        "reset_boundary": lambda: {},
        "unheard_of": lambda: {"what": files.value(rng)},
    }[kind]()
    return kind, own


def odd_entry(rng, entry):
    """Makes an entry unusual: oh-my-pi would not write it, but a file may contain it."""
    kind = entry["type"]
    pick = rng.randrange(8)
    if pick == 0:
        entry["timestamp"] = rng.choice(["yesterday", 12345, None, "2026-03-01", "2026-03-01T10:00:00+02:00", ""])
    elif pick == 1 and kind == "message":
        pi_files.odd_message(rng, entry["message"], contents=False)
    elif pick == 2 and kind in ("compaction", "branch_summary"):
        entry["summary"] = rng.choice([None, "", 5])
    elif pick == 3 and kind == "label":
        entry["label"] = rng.choice(["", None])
    elif pick == 4 and kind in ("thinking_level_change", "model_change", "mode_change", "service_tier_change"):
        for key in list(entry)[4:]:
            entry[key] = rng.choice([None, "x"])
    elif pick == 5 and kind == "custom_message":
        entry["content"] = rng.choice([[], "", "x"])
    elif pick == 6:
        entry["extra"] = files.value(rng)
    elif pick == 7:
        entry["data"] = files.nested(rng.choice([20, 150]))


def slot(rng, title):
    """Returns the line of 256 bytes before the header in which newer releases keep the title."""
    line = {"type": "title", "v": 1, "title": title, "source": rng.choice(["auto", "user"]), "updatedAt": files.iso(0), "pad": ""}
    line["pad"] = " " * (255 - len(driver.text(line).encode()))
    return driver.text(line).encode()


def session(rng, odd, cwd="/w/project"):
    clock = files.Clock(rng)
    header = {"type": "session", "version": 3, "id": f"{rng.getrandbits(64):016x}", "timestamp": files.iso(clock.next()), "cwd": cwd}
    if rng.random() < 0.4:
        header.update(title=files.spoken(rng, 4), titleSource=rng.choice(["auto", "user"]))
    if rng.random() < 0.2:
        header["parentSession"] = rng.choice(["/w/other.jsonl", "0123456789abcdef"])
    make_id = rng.choice(pi_files.IDS) if odd and rng.random() < 0.15 else pi_files.plain_id
    file = files.File([header])
    ids, way = [], []
    for _ in range(rng.choice([0, 1, 3, 8, 8, 15, 15, 30, 60])):
        ms = clock.next()
        kind, own = body(rng, ms, ids, way)
        parent = way[-1] if way else None
        if ids and rng.random() < 0.12:
            parent = rng.choice(ids + [None])
            way = []
        if odd and rng.random() < 0.02:
            parent = "0badf00d"
        entry = {"type": kind, "id": make_id(rng), "parentId": parent, "timestamp": files.iso(ms), **own}
        if odd and rng.random() < 0.06:
            odd_entry(rng, entry)
        if odd and ids and rng.random() < 0.01:
            entry["id"] = rng.choice(ids)
            file.odd.add("repeated id")
        file.lines.append(entry)
        ids.append(entry["id"])
        way.append(entry["id"])
    if odd:
        if rng.random() < 0.05:
            pi_files.close_circle(rng, file)
        frame(file, rng)
    if rng.random() < 0.3:
        file.title = rng.choice(["", files.spoken(rng, 4)])
        file.slot = slot(rng, file.title)
    return file


def frame(file, rng):
    if rng.random() < 0.2:
        file.spelling = rng.getrandbits(32)
    if rng.random() < 0.08:
        file.end = b"\r\n"
    if rng.random() < 0.05:
        file.bom = True
    if rng.random() < 0.1:
        file.torn = b'{"type":"message","id":"a'
    for _ in range(rng.choice([0, 0, 0, 1])):
        file.lines.insert(rng.randrange(1, len(file.lines) + 1), rng.choice([b"", b"   ", b"not json", b'{"type":}', b"]"]))
