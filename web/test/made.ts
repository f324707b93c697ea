// Skeletons made from a few words: "u" prompt, "a" reply, "t" result, and so on, with parents.
import type { TreeWire } from '../src/api/types.ts';

// Each entry: [id, parent or null, kind, role, label?]
export type Made = [string, string | null, string, string?, string?];

export function wire(entries: Made[], leaf?: string): TreeWire {
  const at = new Map(entries.map((e, i) => [e[0], i]));
  const labels: Record<string, string> = {};
  entries.forEach((e, i) => {
    if (e[4]) labels[i] = e[4];
  });
  return {
    level: 'all',
    n: entries.length,
    seq: entries.map((_, i) => i + 1),
    id: entries.map((e) => e[0]),
    parent: entries.map((e) => (e[1] === null ? -1 : (at.get(e[1]) ?? -1))),
    kind: entries.map((e) => e[2]).join(''),
    role: entries.map((e) => e[3] ?? '-').join(''),
    flags: entries.map(() => 0),
    bytes: entries.map(() => 100),
    time: entries.map((_, i) => (i ? 1000 : 1_790_000_000_000)),
    labels,
    leaf: leaf ? at.get(leaf)! : entries.length - 1,
    next: null,
  };
}

// A prompt with two further attempts: 1 → 2 → (3 → 4) | (5) | 6 → 7
export const branched: Made[] = [
  ['e1', null, 'm', 'u'],
  ['e2', 'e1', 'm', 'a'],
  ['e3', 'e2', 'm', 'u'],
  ['e4', 'e3', 'm', 'a'],
  ['e5', 'e2', 'm', 'u'],
  ['e6', 'e2', 'm', 'u'],
  ['e7', 'e6', 'm', 'a'],
];
