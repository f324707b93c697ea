#!/usr/bin/env python3
"""
How long a reader waits for the first screen of `grove show`.

  show.py [--grove PROGRAM] [--runs N] FILE...

The program writes into a pipe, rendered as for a terminal of 80 columns. A run ends
when 50 lines have arrived; what the program would still have written is not read. Printed
are the least and the median of the elapsed time, the processor time and the memory: with
the index that was kept, with `-n 20`, and without a cache. The files should be in the
system's cache: the first run of each is not counted.
"""
import argparse
import os
import statistics
import subprocess
import time

LINES = 50


def first_screen(command):
    env = dict(os.environ, COLUMNS="80")
    begin = time.perf_counter()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, env=env)
    for _ in range(LINES):
        if not p.stdout.readline():
            break
    elapsed = time.perf_counter() - begin
    p.stdout.close()
    _, _, used = os.wait4(p.pid, 0)
    p.returncode = 0
    return elapsed * 1000, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--grove", default="build/grove")
    ap.add_argument("--runs", type=int, default=15)
    ap.add_argument("files", nargs="+")
    options = ap.parse_args()
    print("| session | | elapsed, least | median | CPU, least | memory |")
    print("|---|---|---|---|---|---|")
    for path in options.files:
        for name, more in (("", []), ("`-n 20`", ["-n", "20"]), ("no cache", ["--no-cache"])):
            command = [options.grove, "show", "--color=always", *more, path]
            first_screen(command)
            runs = [first_screen(command) for _ in range(options.runs)]
            elapsed, cpu, memory = zip(*runs)
            print(f"| {os.path.basename(path)} | {name} | {min(elapsed):.0f} ms | {statistics.median(elapsed):.0f} ms "
                  f"| {min(cpu):.0f} ms | {max(memory):.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
