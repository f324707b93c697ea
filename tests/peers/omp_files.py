"""Random sessions of oh-my-pi."""
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


def message(rng, ms):
    make = rng.choices([user, pi_files.assistant, pi_files.tool_result, pi_files.bash, pi_files.custom, developer, python, mention],
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
        "custom_message": lambda: {"customType": "ext", "content": rng.choice([files.words(rng), pi_files.blocks(rng)]),
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


def session(rng, odd, cwd="/w/project"):
    clock = files.Clock(rng)
    header = {"type": "session", "version": 3, "id": f"{rng.getrandbits(64):016x}", "timestamp": files.iso(clock.next()), "cwd": cwd}
    if rng.random() < 0.4:
        header.update(title=files.spoken(rng, 4), titleSource=rng.choice(["auto", "user"]))
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
        entry = {"type": kind, "id": f"{rng.getrandbits(32):08x}", "parentId": parent, "timestamp": files.iso(ms), **own}
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
    return file


def frame(file, rng):
    if rng.random() < 0.08:
        file.end = b"\r\n"
    if rng.random() < 0.05:
        file.bom = True
    if rng.random() < 0.1:
        file.torn = b'{"type":"message","id":"a'
    for _ in range(rng.choice([0, 0, 0, 1])):
        file.lines.insert(rng.randrange(1, len(file.lines) + 1), rng.choice([b"", b"   ", b"not json", b'{"type":}', b"]"]))
