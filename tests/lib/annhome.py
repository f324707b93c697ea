"""Ann's home: the sessions that the guide and the manual speak of.

tests/docs/NAME/AGENT/PROJECT holds the files that an agent has written in
~/src/PROJECT; in them, /home/ann stands for the home.
"""
import datetime
import os
import pathlib
import re

HOME = "/home/ann"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def dashed(path):
    """A directory as pi spells it in a name."""
    return str(path).strip("/").replace("/", "-")


def enclosed(path):
    """And as Claude Code does."""
    return re.sub(r"[^0-9A-Za-z]", "-", str(path))


def furnish(home, *names):
    """Put the files of tests/docs/NAME where the agents would have them in `home`."""
    for path in sorted(path for name in names for path in (ROOT / "tests/docs" / name).glob("*/*/*.jsonl")):
        agent, project = path.parts[-3:-1]
        cwd = home / "src" / project
        cwd.mkdir(parents=True, exist_ok=True)
        to = home / (f".pi/agent/sessions/--{dashed(cwd)}--" if agent == "pi"
                     else f".claude/projects/{enclosed(cwd)}") / path.name
        lines = path.read_bytes().replace(HOME.encode(), str(home).encode())
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(lines)
        last = re.findall(rb'"timestamp":"([^"]*)"', lines)[-1].decode()
        when = datetime.datetime.fromisoformat(last.replace("Z", "+00:00")).timestamp()
        os.utime(to, (when, when))
