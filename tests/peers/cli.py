"""Claude Code itself: resumes random transcripts with a stand-in for the model."""
import http.server
import json
import re
import subprocess
import threading
import uuid

import case
import claude_files
import driver
import known
import packages
import sdk

MARK = re.compile(r"w\d+w")
PROMPT = "and now the next one"
SAID = [
    ("message_start", {"message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                                   "stop_reason": None, "stop_sequence": None,
                                   "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "yes"}}),
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}}),
    ("message_stop", {}),
]
EVENTS = "".join(f"event: {t}\ndata: {json.dumps({'type': t, **d})}\n\n" for t, d in SAID).encode()
WHOLE = json.dumps({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                    "content": [{"type": "text", "text": "yes"}],
                    "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()


class Model(http.server.BaseHTTPRequestHandler):
    """A model that answers everything with yes, and keeps the requests it was sent."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, kind=None, body=b""):
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.answer(200)

    def do_GET(self):
        self.answer(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            self.answer(200, "application/json", b'{"input_tokens":100}')
            return
        self.server.asked.append(body)
        if body.get("stream"):
            self.answer(200, "text/event-stream", EVENTS)
        else:
            self.answer(200, "application/json", WHOLE)


class Place(case.Place):
    def __init__(self, grove, found, book):
        super().__init__(grove, "cli", book)
        self.claude = found.path(packages.CLAUDE)
        self.config = self.scratch.home / ".claude"
        self.env["CLAUDE_CONFIG_DIR"] = str(self.config)
        self.cwd = str(self.scratch.work)
        self.folder = self.config / "projects" / sdk.project_key(self.cwd)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.server.asked = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        super().close()

    def resume(self, session):
        self.server.asked.clear()
        env = {**self.env, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server.server_port}",
               "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        try:
            done = subprocess.run([self.claude, "-p", "--resume", session, PROMPT], cwd=self.cwd, env=env,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return {"error": "does not come back"}
        if done.returncode:
            return {"error": (done.stdout + done.stderr).decode("utf-8", "replace")[-500:]}
        return next((b["messages"] for b in self.server.asked if PROMPT in json.dumps(b["messages"][-6:])),
                    {"error": "the model was not asked"})


def place(grove, found, book):
    return Place(grove, found, book)


def marks(messages):
    """Returns each text and the role of its message. Thinking blocks are not compared, since
    Claude Code sends only those of its own model.
    """
    out = []
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking"):
                continue
            out += [f"{message.get('role')} {m}" for m in MARK.findall(driver.text(block))]
    return out


def queued_in(file):
    """Returns the texts that the user typed while the agent was working."""
    return set(MARK.findall("".join(driver.text(e.get("attachment")) for e in file.entries() if e.get("type") == "attachment")))


def answers(file, messages, parent):
    """
    Returns what is compared: the texts that were sent, the queued ones among
    them, and the parent of the next record. Texts that the user typed while
    the agent was working are sent as reminders, whose position may differ. So
    for these the comparison only covers whether they were sent.
    """
    queued = queued_in(file)
    told = marks(messages)
    return {"sent": [t for t in told if t.split()[1] not in queued],
            "queued": sorted({t.split()[1] for t in told} & queued), "parent": parent}


def ask_claude(at, file, path):
    at.write(path, file.bytes())
    before = len(file.bytes())
    messages = at.resume(file.session)
    added = path.read_bytes()[before:].split(b"\n")
    path.unlink()
    if case.is_error(messages):
        return {"sent": messages, "queued": messages, "parent": messages}
    chain = [e for e in map(record, added) if e and e.get("type") in ("user", "assistant", "attachment", "system")]
    return answers(file, messages, chain[0]["parentUuid"] if chain else None)


def record(line):
    try:
        return driver.parse(line)
    except ValueError:
        return None


def ask_grove(at, file, path):
    at.write(path, file.bytes())
    context = at.ask("context", path, "--mode", "cli", "--llm")
    path.unlink()
    if case.is_error(context):
        return {"sent": context, "queued": context, "parent": context}
    return answers(file, context["messages"], context["leaf"])


def compare_file(at, file, kind):
    path = at.folder / f"{file.session}.jsonl"
    case.compare_answers(at, kind, file, lambda f: ask_claude(at, f, path), lambda f: ask_grove(at, f, path), known.CLI)


def resume(at, rng):
    """Resumes a random transcript: compares what the model was sent, and the parent of the next record."""
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    one_file(at, claude_files.transcript(rng, session, at.cwd, rng.random() < 0.5, steps=(1, 3, 6, 10, 16)), "resume")


def variant(at, rng):
    """Resumes a changed transcript of grove's tests."""
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    one_file(at, claude_files.variant(rng, session, at.cwd), "variant")


def one_file(at, file, kind):
    try:
        compare_file(at, file, kind)
    except case.Different as wrong:
        raise case.smaller(at, file, lambda f: compare_file(at, f, kind), wrong)


KINDS = {"resume": (resume, 0.15), "variant": (variant, 0.15)}
