"""A separate home, working directory and environment for each test case.

A runner makes one Scratch for each case and removes it when the case is over.
Of the user's own environment, only PATH and the options of the sanitizers
reach the program.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Directories below HOME in which grove may keep state that it can rebuild.
OWN_STATE = (".cache", ".config", ".local")

PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "GROVE_TEST_STORE",
             "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


class Scratch:
    def __init__(self, prefix):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"grove-{prefix}-")).resolve()
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.tmp = self.root / "tmp"
        for d in (self.home, self.work, self.tmp):
            d.mkdir()

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, **more):
        env = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
        env.update(
            HOME=str(self.home),
            TMPDIR=str(self.tmp),
            XDG_CONFIG_HOME=str(self.home / ".config"),
            XDG_CACHE_HOME=str(self.home / ".cache"),
            XDG_DATA_HOME=str(self.home / ".local/share"),
            XDG_STATE_HOME=str(self.home / ".local/state"),
            TZ="UTC", LANG="C.UTF-8", LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS="80",
        )
        env.update(more)
        return env

    def write(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def files(self):
        """Returns {path: bytes} of all files in home and work."""
        return {path: path.read_bytes()
                for top in (self.home, self.work) for path in top.rglob("*") if path.is_file()}

    def is_own_state(self, path):
        """Returns whether grove may keep state that it can rebuild here."""
        return path.is_relative_to(self.home) and path.relative_to(self.home).parts[0] in OWN_STATE

    def run(self, argv, env, stdin=b"", timeout=60):
        """Returns (exit status, stdout, stderr); a status of None is a time-out."""
        try:
            done = subprocess.run(argv, input=stdin, capture_output=True, env=env,
                                  cwd=self.work, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            return None, late.stdout or b"", late.stderr or b""
        return done.returncode, done.stdout, done.stderr


def program(path):
    """Returns the absolute path of the program under test; ends the run if it is not found."""
    found = shutil.which(path)
    if not found:
        sys.exit(f"not a program: {path}")
    return os.path.abspath(found)


def run_all(cases, check, jobs, verbose):
    """
    Calls check(case) for each case; it returns None, or a text that says what
    is wrong. Prints failures in the order of the cases as they are found,
    then the count, and returns an exit status.
    """
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        for case, wrong in zip(cases, pool.map(check, cases)):
            if wrong is not None:
                failed += 1
                print(f"FAIL {case}")
                print("\n".join("     " + line for line in wrong.rstrip("\n").split("\n")))
            elif verbose:
                print(f"ok   {case}")
            sys.stdout.flush()
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0
