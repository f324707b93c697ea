#!/usr/bin/env python3
"""
embed.py FILE OUT.c NAME    a file as the array NAME, a zero behind it, and its length as NAME_len;
                            JSON without its spaces; of no length if there is no such file
embed.py DIR OUT.c          the viewer's files below DIR as an array of struct asset
embed.py --list DIR         which files these are
"""
import gzip
import hashlib
import json
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
         ".json": "application/json", ".webmanifest": "application/manifest+json",
         ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}


def array(name, data):
    rows = [",".join(str(b if b < 128 else b - 256) for b in data[i:i + 32])
            for i in range(0, len(data), 32)]
    return f"const char {name}[] = {{\n" + "".join(row + ",\n" for row in rows) + "0\n};\n"


def one(path, name):
    data = path.read_bytes() if path.exists() else b""
    if path.suffix == ".json":
        data = json.dumps(json.loads(data), separators=(",", ":")).encode()
    return (f"#include <stddef.h>\nextern const char {name}[];\nextern const size_t {name}_len;\n" +
            array(name, data) + f"const size_t {name}_len = {len(data)};\n")


def assets(root):
    return sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in TYPES)


def table(root):
    text, rows = ['#include "assets.h"\n'], []
    for n, path in enumerate(assets(root)):
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        text.append("static " + array(f"plain{n}", data))
        small = len(packed) < len(data)
        if small:
            text.append("static " + array(f"packed{n}", packed))
        name = path.relative_to(root).as_posix()
        rows.append(f'\t{{ "{name}", "{TYPES[path.suffix]}", "{hashlib.sha256(data).hexdigest()[:32]}", '
                    f'plain{n}, {len(data)}, {f"packed{n}, {len(packed)}" if small else "NULL, 0"} }},\n')
    return "".join(text) + "const struct asset assets[] = {\n" + "".join(rows) + "\t{ NULL, NULL, NULL, NULL, 0, NULL, 0 },\n};\n"


def main():
    if sys.argv[1] == "--list":
        print("\n".join(map(str, assets(pathlib.Path(sys.argv[2])))))
        return
    source, out = map(pathlib.Path, sys.argv[1:3])
    made = one(source, sys.argv[3]) if len(sys.argv) > 3 else table(source)
    out.write_text(f"/* Made of {source.name} by embed.py. */\n" + made)


main()
