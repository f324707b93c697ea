"""
A golden case is one text: the commands to run, their input files and the expected
output.

    # a comment, if the name of the case does not say it all
    grove tree in.jsonl
    === in.jsonl ===
    {"type":"session", …
    === out ===
    ● user  …

It begins with the script. Each line `=== NAME ===` begins a part, which ends before
the next such line. The newline at the end of a part belongs to it, unless the part
begins with `=== NAME (no newline) ===`. Binary content is written in base64, below
`=== NAME (base64) ===`. `=== exit 3 ===` gives the exit status and has no content.
"""
import base64
import re

MARK = re.compile(rb"^=== (?P<name>[^\n=]+?)(?: \((?P<form>no newline|base64)\))? ===$", re.M)


class Case:
    """The `script`, the `parts` as {name: bytes} in the order of the text, and the `exit` status."""

    def __init__(self, script=b""):
        self.script, self.parts, self.exit = script, {}, 0

    @classmethod
    def read(cls, path):
        text = path.read_bytes()
        marks = list(MARK.finditer(text))
        case = cls(text[:marks[0].start()] if marks else text)
        for i, mark in enumerate(marks):
            name, form = mark["name"].decode(), mark["form"]
            content = text[mark.end() + 1:marks[i + 1].start() if i + 1 < len(marks) else len(text)]
            if form == b"no newline":
                content = content.removesuffix(b"\n")
            elif form == b"base64":
                content = base64.b64decode(content)
            word, _, rest = name.partition(" ")
            if word == "exit" and rest:
                case.exit = int(rest)
            elif name in case.parts:
                raise ValueError(f"{path}: two parts named {name}")
            else:
                case.parts[name] = content
        return case

    def write(self, path):
        text = self.script
        for name, content in self.parts.items():
            text += part_text(name, content)
        if self.exit:
            text += f"=== exit {self.exit} ===\n".encode()
        path.write_bytes(text)

    def inputs(self):
        """Returns [(path, bytes)] of the script's input files; those below home/ belong in $HOME."""
        return [(name.removeprefix("in/"), content) for name, content in self.parts.items()
                if name == "in.jsonl" or name.startswith("in/")]


def part_text(name, content):
    form = ""
    if b"\0" in content or MARK.search(content) or not is_text(content):
        form, content = " (base64)", base64.encodebytes(content)
    elif content and not content.endswith(b"\n"):
        form, content = " (no newline)", content + b"\n"
    return f"=== {name}{form} ===\n".encode() + content


def is_text(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def unpack(case, directory):
    """Writes the input files of a case to a directory."""
    for name, content in case.inputs():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
