#!/usr/bin/env python3
"""
embed.py OUT.c FILE    a file as an array; of no length if there is none
"""
import pathlib
import sys

out, path = sys.argv[1], pathlib.Path(sys.argv[2])
data = path.read_bytes() if path.exists() else b""
rows = [",".join(str(b if b < 128 else b - 256) for b in data[i:i + 32]) for i in range(0, len(data), 32)]
pathlib.Path(out).write_text("/* Made by embed.py. */\n#include \"kit/export/page.h\"\n"
                             "const char export_page[] = {\n" + ",\n".join(rows or ["0"]) + "\n};\n"
                             f"const size_t export_page_len = {len(data)};\n")
