#!/usr/bin/env python3
"""embed.py JSON C NAME: make a JSON file a string in a C source, without its spaces."""
import json
import sys

source, target, name = sys.argv[1:]
with open(source, encoding="utf-8") as f:
    items = json.load(f)
text = json.dumps(items, separators=(",", ":"))
with open(target, "w", encoding="utf-8") as f:
    f.write(f"/* Made of {source.rsplit('/', 1)[-1]}. */\n")
    f.write(f"extern const char {name}[];\nconst char {name}[] =\n")
    for i in range(0, len(text), 80):
        part = text[i:i + 80].replace("\\", "\\\\").replace('"', '\\"')
        f.write(f'\t"{part}"\n')
    f.write(";\n")
