#!/usr/bin/env python3
"""
embed.py OUT.c DIR    the files below DIR as an array of struct asset
embed.py --list DIR   which files these are
"""
import gzip
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
         ".json": "application/json", ".webmanifest": "application/manifest+json",
         ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}


def array(name, data):
    rows = [",".join(str(b if b < 128 else b - 256) for b in data[i:i + 32])
            for i in range(0, len(data), 32)]
    return f"static const char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n"


def main():
    out, root = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in TYPES)
    if out == "--list":
        print("\n".join(map(str, files)))
        return
    text, table = ['/* Made by embed.py. */\n#include "assets.h"\n'], []
    for n, path in enumerate(files):
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        text.append(array(f"plain{n}", data or b"\n"))
        small = len(packed) < len(data)
        if small:
            text.append(array(f"packed{n}", packed))
        name = path.relative_to(root).as_posix()
        table.append(f'\t{{ "{name}", "{TYPES[path.suffix]}", "{hashlib.sha256(data).hexdigest()[:32]}", '
                     f'plain{n}, {len(data)}, {f"packed{n}, {len(packed)}" if small else "NULL, 0"} }},\n')
    text.append("const struct asset assets[] = {\n" + "".join(table) + "\t{ NULL, NULL, NULL, NULL, 0, NULL, 0 },\n};\n")
    pathlib.Path(out).write_text("".join(text))


main()
