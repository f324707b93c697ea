"""Random transcripts of Claude Code."""
import copy
import uuid

import driver
import files
import variants

USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 5}
MODELS = ["claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001"]


class Transcript(files.File):
    """A file and, while it is being created, its records by uuid."""

    def __init__(self, rng, session, cwd):
        super().__init__([])
        self.rng, self.session, self.cwd = rng, session, cwd
        self.clock = files.Clock(rng)
        self.leaf = None
        self.records = []
        self.number = 0

    def copy(self):
        # No random numbers are drawn after the file is complete.
        rng, self.rng = self.rng, None
        out = copy.deepcopy(self)
        self.rng = rng
        return out

    def entries(self):
        return [line for line in self.lines if isinstance(line, dict)]

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def word(self):
        """Returns a text that occurs nowhere else in the file."""
        self.number += 1
        return f"w{self.number}w " + files.words(self.rng, 5)

    def add(self, kind, parent="leaf", side=False, move=True, **own):
        record = {"parentUuid": self.leaf if parent == "leaf" else parent, "isSidechain": side, "type": kind}
        record.update(own)
        record.setdefault("uuid", self.uuid())
        record.update(timestamp=files.iso(self.clock.next()), userType="external", entrypoint="cli", cwd=self.cwd,
                      sessionId=self.session, version="2.1.325", gitBranch="main")
        self.lines.append(record)
        self.records.append(record)
        if move:
            self.leaf = record["uuid"]
        return record

    def meta(self, kind, **own):
        self.lines.append({"type": kind, **own, "sessionId": self.session})

    # The following methods add what happens in a session.

    def prompt(self, **own):
        content = self.word() if self.rng.random() < 0.7 else [{"type": "text", "text": self.word()}]
        return self.add("user", message={"role": "user", "content": content}, **own)

    def blocks(self, *contents, **own):
        """Adds a reply: one record for each block."""
        name = "msg_" + self.uuid()[:8]
        request = "req_" + self.uuid()[:8]
        model = self.rng.choice(MODELS)
        stop = "tool_use" if contents[-1]["type"] == "tool_use" else "end_turn"
        return [self.add("assistant", message={"id": name, "type": "message", "role": "assistant", "model": model, "content": [c],
                                               "stop_reason": stop, "stop_sequence": None, "usage": USAGE},
                         requestId=request, **own) for c in contents]

    def text(self):
        return {"type": "text", "text": self.word()}

    def call(self):
        return {"type": "tool_use", "id": "toolu_" + self.uuid()[:8], "name": "Bash", "input": {"command": self.word()}}

    def reply(self):
        contents = [self.text() for _ in range(self.rng.randrange(1, 3))]
        if self.rng.random() < 0.3:
            contents.insert(0, {"type": "thinking", "thinking": self.word(), "signature": "c2ln"})
        self.blocks(*contents)

    def tools(self):
        rng = self.rng
        calls = self.blocks(*([self.text()] if rng.random() < 0.5 else []),
                            *[self.call() for _ in range(rng.choice([1, 1, 2, 2, 3]))])
        calls = [c for c in calls if c["message"]["content"][0]["type"] == "tool_use"]
        if rng.random() < 0.2:
            rng.shuffle(calls)
        for call in calls:
            if rng.random() < 0.93:
                self.result(call)
        if rng.random() < 0.8:
            self.reply()

    def result(self, call):
        block = call["message"]["content"][0]
        content = self.word() if self.rng.random() < 0.6 else [self.text()]
        return self.add("user", parent=call["uuid"], message={"role": "user", "content": [
            {"tool_use_id": block["id"], "type": "tool_result", "content": content}]},
            toolUseResult={"stdout": "x"}, sourceToolAssistantUUID=call["uuid"])

    def attachment(self):
        self.add("attachment", attachment={"type": "date", "date": "2024-03-01"})

    def queued(self):
        self.meta("queue-operation", operation="enqueue", timestamp=files.iso(self.clock.ms), content="x")
        attachment = {"type": "queued_command", "prompt": self.word() if self.rng.random() < 0.8 else [self.text()],
                      "commandMode": "prompt"}
        if self.rng.random() < 0.4:
            attachment["source_uuid"] = self.uuid()
        if self.rng.random() < 0.15:
            attachment["isMeta"] = True
        self.add("attachment", attachment=attachment)

    def system(self):
        self.add("system", subtype="informational", content=self.word(), level="info", isMeta=False)

    def subtype(self):
        """Adds a note that Claude Code stores for itself in the chain of records."""
        kind, own = self.rng.choice([
            ("local_command", {"content": f"<local-command-stdout>{self.word()}</local-command-stdout>"}),
            ("local_command", {"content": "<command-name>/cost</command-name>"}),
            ("turn_duration", {"durationMs": 5, "messageCount": 3}), ("api_error", {"error": {"status": 529}, "retryInMs": 1.5}),
            ("away_summary", {"content": self.word()}), ("snip_boundary", {"removedUuids": [r["uuid"] for r in self.records[:1]]}),
            ("microcompact_boundary", {"content": "x", "microcompactMetadata": {}}), ("stop_hook_summary", {"hookCount": 1})])
        self.add("system", subtype=kind, level="info", isMeta=self.rng.random() < 0.3, **own)

    def command(self):
        """Adds prompts that are not plain text."""
        text = self.rng.choice([
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            "<bash-input>ls -l</bash-input>", "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>",
            "<local-command-caveat>Caveat</local-command-caveat>", "<system-reminder>x</system-reminder>",
            "[Request interrupted by user]", "[Request interrupted by user for tool use]", "<ide_opened_file>x</ide_opened_file>",
            " <b>bold</b>", "<B>", "<3", "\n\n", "a\nb\n c ", "x" * 199 + "🙂", "x" * 200, "x" * 250, "/compact", "!ls", ""])
        content = text if self.rng.random() < 0.5 else [{"type": "text", "text": text}]
        self.add("user", message={"role": "user", "content": content})

    def media(self):
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        blocks = [{"type": self.rng.choice(["image", "document"]), "source": source}]
        for _ in range(self.rng.randrange(3)):
            blocks.insert(self.rng.randrange(len(blocks) + 1), self.text())
        self.add("user", message={"role": "user", "content": blocks})

    def odd_reply(self):
        rng = self.rng
        thought = {"type": "thinking", "thinking": self.word(), "signature": "c2ln"}
        blocks = rng.choice([
            lambda: [thought], lambda: [{"type": "redacted_thinking", "data": "eA=="}, self.text()],
            lambda: [self.text(), thought, self.text()], lambda: [{"type": "text", "text": ""}], lambda: [{"type": "text", "text": "\n "}],
            lambda: [{"type": "server_tool_use", "id": "srvtoolu_" + self.uuid()[:8], "name": "web_search", "input": {"query": "x"}}, self.text()],
        ])()
        own = rng.choice([{}, {}, {"isApiErrorMessage": True}, {"isMeta": True}, {"isVisibleInTranscriptOnly": True}])
        made = self.blocks(*blocks, **own)
        if rng.random() < 0.2:
            for record in made:
                record["message"]["model"] = "<synthetic>"
        elif rng.random() < 0.2:
            for record in made:
                del record["requestId"]

    def whole_reply(self):
        """Adds a reply as older releases stored it: all blocks in one record."""
        call = self.call()
        record = self.blocks(self.text(), call)[0]
        later = self.records.pop()
        self.lines.remove(later)
        record["message"]["content"].append(call)
        self.leaf = record["uuid"]
        if self.rng.random() < 0.9:
            self.add("user", message={"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call["id"], "content": self.word(), "is_error": self.rng.random() < 0.5},
                *([self.text()] if self.rng.random() < 0.3 else [])]})

    def woven(self):
        """Adds calls and their results in turn, each the child of the one before."""
        calls = self.blocks(*[self.call() for _ in range(self.rng.randrange(2, 4))])
        for call in calls:
            if self.rng.random() < 0.5:
                self.leaf = call["uuid"]
            block = call["message"]["content"][0]
            self.add("user", message={"role": "user", "content": [
                {"tool_use_id": block["id"], "type": "tool_result", "content": [self.text()]}]})
            if self.rng.random() < 0.3:
                self.attachment()

    def again_later(self):
        """Adds a block of an earlier reply after other records."""
        replies = [r for r in self.records if r["type"] == "assistant" and "id" in r["message"]]
        if replies:
            old = self.rng.choice(replies)
            record = self.add("assistant", message={**old["message"], "content": [self.rng.choice([self.text, self.call])()]})
            if "requestId" in old:
                record["requestId"] = old["requestId"]

    def odd_record(self):
        """Makes a record unusual: a member is missing or has another type."""
        if not self.records:
            return
        record = self.rng.choice(self.records)
        key, value = self.rng.choice([
            ("timestamp", "yesterday"), ("timestamp", None), ("timestamp", 5), ("sessionId", self.uuid()), ("version", None),
            ("isSidechain", None), ("isMeta", None), ("teamName", ""), ("teamName", None), ("parentUuid", 5),
            ("userType", None), ("message", None), ("extra", files.value(self.rng)), ("logicalParentUuid", self.uuid())])
        if key == "message" and record["type"] not in ("user", "assistant"):
            return
        if key == "message":
            message = record["message"]
            at, what = self.rng.choice([("content", []), ("content", [{"type": "text", "text": self.word()}, {"type": "text", "text": "b"}]),
                                        ("id", None), ("role", None), ("content", "plain " + self.word()), ("usage", None)])
            message[at] = what
        else:
            record[key] = value
        if self.rng.random() < 0.3 and key not in ("extra", "message"):
            del record[key]
        self.odd.add("odd " + key)

    def unknown(self):
        self.add("unheard_of", what=self.word(), move=self.rng.random() < 0.5)

    def meta_user(self):
        self.prompt(isMeta=True)

    def team(self):
        self.prompt(teamName="t", agentName="n")

    def side(self):
        self.prompt(side=True, move=self.rng.random() < 0.2)

    def rewind(self):
        if self.records:
            self.leaf = self.rng.choice(self.records)["uuid"]

    def new_root(self):
        self.leaf = None

    def progress(self):
        self.add("progress", data={"type": "hook"}, move=self.rng.random() < 0.5)

    def way(self):
        """Returns the records from the root to the leaf, by their stored parents."""
        by_id = {r["uuid"]: r for r in self.records}
        at, out = by_id.get(self.leaf), []
        while at is not None and at not in out:
            out.append(at)
            at = by_id.get(at.get("parentUuid"))
        return [r for r in out[::-1] if r["type"] in ("user", "assistant", "attachment")]

    def compaction(self):
        rng, way = self.rng, self.way()
        metadata = {"trigger": rng.choice(["manual", "auto"]), "preTokens": 1000}
        boundary, summary = self.uuid(), self.uuid()
        if way and rng.random() < 0.6:
            start = rng.randrange(len(way))
            kept = way[start:rng.randrange(start + 1, len(way) + 1)] if rng.random() < 0.3 else way[start:]
            names = [r["uuid"] for r in kept]
            anchor = summary if rng.random() < 0.75 else boundary
            if rng.random() < 0.1:
                names[rng.randrange(len(names))] = self.uuid()          # a uuid that does not exist
            if rng.random() < 0.6:
                metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": names, "allUuids": names}
            if rng.random() < 0.6:
                metadata["preservedSegment"] = {"headUuid": names[0], "anchorUuid": anchor, "tailUuid": names[-1]}
        self.add("system", parent=None, logicalParentUuid=self.leaf, subtype="compact_boundary", content="Conversation compacted",
                 level="info", isMeta=False, compactMetadata=metadata, uuid=boundary)
        self.add("user", message={"role": "user", "content": self.word()}, isCompactSummary=True,
                 isVisibleInTranscriptOnly=True, uuid=summary)

    def last_prompt(self):
        rng = self.rng
        own = {"lastPrompt": "x"}
        if self.records:
            own["leafUuid"] = rng.choice([self.leaf, rng.choice(self.records)["uuid"], self.uuid()])
        if rng.random() < 0.15:
            own["explicit"] = True
        self.meta("last-prompt", **own)

    def title(self):
        kind = self.rng.choice(["custom-title", "ai-title", "tag", "mode", "summary", "pr-link", "agent-name", "permission-mode",
                                "file-history-snapshot", "content-replacement", "worktree-state", "cost-state"])
        name = "".join(self.rng.choice(["x", "", "y"])) if self.rng.random() < 0.1 else self.word()
        snapshot = {"messageId": self.leaf, "trackedFileBackups": {}, "timestamp": files.iso(self.clock.ms)}
        own = {"custom-title": {"customTitle": name}, "ai-title": {"aiTitle": self.word()}, "tag": {"tag": "t"},
               "mode": {"mode": "normal"}, "summary": {"summary": self.word(), "leafUuid": self.leaf},
               "pr-link": {"prNumber": 1, "prUrl": "u", "prRepository": "r"}, "agent-name": {"agentName": "n"},
               "permission-mode": {"permissionMode": "plan"}, "worktree-state": {"worktreeSession": None},
               "file-history-snapshot": {"messageId": self.leaf, "snapshot": snapshot, "isSnapshotUpdate": False},
               "content-replacement": {"replacements": [{"kind": "tool-result", "toolUseId": "x", "replacement": "y"}]},
               "cost-state": {"totalCostUSD": 0.5, "modelUsage": {}}}[kind]
        self.meta(kind, **own)

    def again(self):
        """Adds a line a second time, perhaps changed."""
        if not self.records:
            return
        record = copy.deepcopy(self.rng.choice(self.records))
        if self.rng.random() < 0.4 and record["type"] == "user" and isinstance(record["message"]["content"], str):
            record["message"]["content"] = self.word()
        self.lines.append(record)
        self.odd.add("repeated uuid")

    def lost_parent(self):
        self.leaf = self.uuid()
        self.odd.add("missing parent")

    def own_parent(self):
        name = self.uuid()
        self.add("user", parent=name, uuid=name, message={"role": "user", "content": self.word()})
        self.odd.add("circle")


PLAIN = [("prompt", 20), ("reply", 16), ("tools", 12), ("attachment", 5), ("system", 3), ("title", 4), ("rewind", 5),
         ("compaction", 4), ("last_prompt", 3), ("meta_user", 2), ("queued", 3), ("subtype", 3), ("command", 3), ("media", 2), ("odd_reply", 3),
         ("whole_reply", 2), ("woven", 3), ("again_later", 1)]
ODD = PLAIN + [("side", 2), ("team", 1), ("progress", 2), ("new_root", 1), ("again", 2), ("lost_parent", 1), ("own_parent", 0.3),
             ("odd_record", 2), ("unknown", 1)]


def transcript(rng, session, cwd, odd, steps=(1, 3, 6, 10, 16, 30), without=()):
    out = Transcript(rng, session, cwd)
    table = [row for row in (ODD if odd else PLAIN) if row[0] not in without]
    names, weights = zip(*table)
    if rng.random() < 0.9:
        out.prompt()
    for _ in range(rng.choice(steps)):
        getattr(out, rng.choices(names, weights)[0])()
    if not out.lines:
        out.prompt()
    if odd:
        frame(out, rng)
    return out


def frame(file, rng):
    if rng.random() < 0.1:
        file.spelling = rng.getrandbits(32)
    if rng.random() < 0.06:
        file.end = b"\r\n"
    if rng.random() < 0.04:
        file.bom = True
        file.odd.add("bom")
    if rng.random() < 0.08:
        last = driver.text(file.entries()[-1]).encode()
        file.torn = last[:rng.randrange(1, len(last))]
        file.odd.add("torn")
    else:
        file.open = rng.random() < 0.06
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        file.lines.insert(rng.randrange(1, len(file.lines) + 1), rng.choice([b"", b"   ", b"not json", b'{"type":"user"', b"null", b"5", b"[1]"]))


def variant(rng, session, cwd):
    """Returns a transcript of grove's tests with a few changes."""
    found = variants.sources("compat/claude/*/in/**/*.jsonl", "data/claude/*.jsonl", "golden/claude/*.case")
    file = variants.changed(rng, found, "uuid", "parentUuid", 0, Transcript(rng, session, cwd))
    for record in file.entries():
        if "sessionId" in record or "uuid" in record:
            record["sessionId"] = session
        if "uuid" in record:
            record["cwd"] = cwd
        mark_texts(file, record.get("message"))
        mark_texts(file, record.get("attachment"))
    return file


def mark_texts(file, value):
    """Begins every text that can be sent to a model with a unique word."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []):
        if isinstance(inner, str) and key in ("text", "content", "command", "prompt") and inner:
            file.number += 1
            value[key] = f"w{file.number}w {inner}" if not inner.startswith("<") else inner
        elif isinstance(inner, (dict, list)):
            mark_texts(file, inner)
