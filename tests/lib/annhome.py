"""Ann's home: the sessions that the examples in the guide and the manual use.

tests/docs/NAME/AGENT/PROJECT holds the files that an agent has written for
~/src/PROJECT; in these files, /home/ann stands for the home directory.
"""
import datetime
import os
import pathlib
import re

HOME = "/home/ann"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def dashed(path):
    """Returns a directory's path in the form that pi uses in file names."""
    return str(path).strip("/").replace("/", "-")


def enclosed(path):
    """Returns a path in the form that Claude Code uses in file names."""
    return re.sub(r"[^0-9A-Za-z]", "-", str(path))


def furnish(home, *names):
    """Copies the files of tests/docs/NAME to where the agents would keep them in `home`."""
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
