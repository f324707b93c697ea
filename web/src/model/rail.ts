// The rows of the tree rail: which entries are nodes at a zoom, what stands between them, which
// branches are folded, and where each is drawn.
import { lanes, FIRST, GOES_ON, type Lanes } from './lanes.ts';
import { LEAF_MARK, SUPERSEDED, type Skeleton } from './skeleton.ts';

export const ZOOMS = ['prompts', 'turns', 'all'] as const;
export type Zoom = (typeof ZOOMS)[number];
export type NodeKind = 'prompt' | 'reply' | 'run' | 'seam' | 'summary' | 'batch' | 'other';

export interface RailRow {
  entry: number; // index in the skeleton; of a run, its first entry
  last: number; // its last entry (a run's end; else the same)
  node: NodeKind;
  steps: number; // entries in a run
  failed: number;
  lane: number;
  pass: number;
  first: boolean;
  goesOn: boolean;
  colour: number;
  onPath: boolean;
  leaf: boolean;
  level: number;
  folded?: { prompts: number; entries: number };
}

export interface Rail {
  rows: RailRow[];
  width: number;
  row: Map<number, number>;
  prompts: number;
  branches: number;
}

export interface RailOptions {
  zoom: Zoom;
  leaf: number;
  open: ReadonlySet<number>; // first entries of side branches that were unfolded
  shut: ReadonlySet<number>; // and of those that were folded by hand
  show?: ReadonlySet<string>; // filters: 'no-tools', 'mine', 'labelled', 'errors'
}

const FOLD_OVER = 12;

export function nodeKind(s: Skeleton, i: number): NodeKind {
  const kind = s.kindAt(i),
    role = s.roleAt(i);
  if (kind === 'm') return role === 'u' ? 'prompt' : role === 'a' ? 'reply' : 'other';
  if (kind === 'y') return 'prompt';
  if (kind === 'c' || kind === 'z') return 'seam';
  if (kind === 'b') return 'summary';
  if (kind === 'w') return 'batch';
  return 'other';
}

const hidden = (s: Skeleton, i: number): boolean => (s.flags[i]! & (LEAF_MARK | SUPERSEDED)) !== 0;

// Entries that stand as nodes of their own at this zoom: what the reader would look for, forks, ends.
function structural(s: Skeleton, zoom: Zoom, leaf: number): Uint8Array {
  const keep = new Uint8Array(s.n);
  for (let i = 0; i < s.n; i++) {
    if (hidden(s, i) || s.gap.has(i)) continue;
    const kind = nodeKind(s, i);
    if (zoom === 'all') keep[i] = 1;
    else if (kind !== 'other' && kind !== 'reply') keep[i] = 1;
    else if (kind === 'reply' && zoom === 'turns') keep[i] = 1;
    else if (s.labels.has(i) && kind !== 'other') keep[i] = 1;
  }
  if (leaf >= 0) keep[shownLeaf(s, leaf)] = 1;
  return keep;
}

// The leaf may be an entry that is not shown (a label, a mark of the program): then it represents the
// nearest one above it that is shown.
export function shownLeaf(s: Skeleton, leaf: number): number {
  let i = leaf;
  while (i >= 0 && s.parent[i]! >= 0 && (hidden(s, i) || (nodeKind(s, i) === 'other' && s.roleAt(i) === '-')))
    i = s.parent[i]!;
  return i;
}

interface Condensed {
  entry: number[];
  last: number[];
  parent: number[];
  steps: number[];
  failed: number[];
  leaf: number;
}

// The tree of nodes and runs. Entries that are no nodes join the run behind their parent's node; where
// they fork, each branch has a run of its own.
function condense(s: Skeleton, keep: Uint8Array, leaf: number): Condensed {
  const c: Condensed = { entry: [], last: [], parent: [], steps: [], failed: [], leaf: -1 };
  const node = new Int32Array(s.n).fill(-1);
  const add = (i: number, parent: number, steps: number): number => {
    c.entry.push(i);
    c.last.push(i);
    c.parent.push(parent);
    c.steps.push(steps);
    c.failed.push(0);
    return c.entry.length - 1;
  };
  for (let i = 0; i < s.n; i++) {
    const p = s.parent[i]!;
    const above = p >= 0 ? node[p]! : -1;
    if (keep[i]) {
      node[i] = add(i, above, 0);
      // The shape counts failures up to a node at that node: they are those of the run above it.
      c.failed[above >= 0 && c.steps[above]! ? above : node[i]!]! += s.failed.get(i) ?? 0;
      continue;
    }
    if (!keep[i] && above >= 0 && s.isAside(i)) {
      node[i] = above;
      if (c.steps[above]!) {
        c.steps[above]!++;
        c.failed[above]! += s.failed.get(i) ?? 0;
      }
      continue;
    }
    const steps = s.gap.get(i) ?? (s.kindAt(i) === 'm' && !hidden(s, i) ? 1 : 0);
    // What is not counted does not end the run that goes on behind it.
    if (!steps) {
      node[i] = above;
      if (above >= 0 && c.last[above] === p && c.steps[above]! && s.first[i]! >= 0) c.last[above] = i;
      continue;
    }
    const only = above >= 0 && c.steps[above]! > 0 && c.last[above] === p;
    node[i] = only ? above : add(i, above, 0);
    c.last[node[i]!] = i;
    c.steps[node[i]!]! += steps;
    c.failed[node[i]!]! += s.failed.get(i) ?? 0;
  }
  c.leaf = leaf >= 0 ? node[leaf]! : -1;
  return c;
}

function filtered(s: Skeleton, c: Condensed, show: ReadonlySet<string>): Condensed {
  if (!show.size) return c;
  const stays = (k: number): boolean => {
    const i = c.entry[k]!,
      kind = c.steps[k] ? 'run' : nodeKind(s, i);
    if (k === c.leaf) return true;
    if (show.has('no-tools') && kind === 'run') return false;
    if (show.has('mine') && kind !== 'prompt') return false;
    if (show.has('labelled') && !s.labels.has(i)) return false;
    if (show.has('errors') && !c.failed[k]) return false;
    return true;
  };
  const out: Condensed = { entry: [], last: [], parent: [], steps: [], failed: [], leaf: -1 };
  const place = new Int32Array(c.entry.length).fill(-1);
  for (let k = 0; k < c.entry.length; k++) {
    const above = c.parent[k]! < 0 ? -1 : place[c.parent[k]!]!;
    if (!stays(k)) {
      place[k] = above;
      continue;
    }
    place[k] = out.entry.length;
    out.entry.push(c.entry[k]!);
    out.last.push(c.last[k]!);
    out.parent.push(above);
    out.steps.push(c.steps[k]!);
    out.failed.push(c.failed[k]!);
  }
  out.leaf = c.leaf < 0 ? -1 : place[c.leaf]!;
  return out;
}

export function rail(s: Skeleton, o: RailOptions): Rail {
  const c = filtered(s, condense(s, structural(s, o.zoom, o.leaf), o.leaf), o.show ?? new Set());
  const l = lanes(c.parent, c.leaf);
  const active = new Uint8Array(c.entry.length);
  for (let k = c.leaf; k >= 0; k = c.parent[k]!) active[k] = 1;
  const rows: RailRow[] = [];
  let width = 0;
  for (let k = 0; k < l.count;) {
    const row = rowAt(s, c, l, k, active);
    const end = row.first ? branchEnd(l, k) : k + 1;
    if (row.first && foldsAway(o, row.entry, end - k)) {
      row.folded = countBranch(s, c, l, k, end);
      row.goesOn = false;
      k = end;
    } else k++;
    if (row.lane > width) width = row.lane;
    rows.push(row);
  }
  const at = new Map<number, number>();
  rows.forEach((r, i) => at.set(r.entry, i));
  return { rows, width, row: at, prompts: countPrompts(s), branches: countForks(s) };
}

function rowAt(s: Skeleton, c: Condensed, l: Lanes, k: number, active: Uint8Array): RailRow {
  const node = l.entry[k]!;
  const steps = c.steps[node]!;
  return {
    entry: c.entry[node]!,
    last: c.last[node]!,
    node: steps ? 'run' : nodeKind(s, c.entry[node]!),
    steps,
    failed: c.failed[node]!,
    lane: l.lane[k]!,
    pass: l.pass[k]!,
    first: (l.flags[k]! & FIRST) !== 0,
    goesOn: (l.flags[k]! & GOES_ON) !== 0,
    colour: active[node] ? 0 : l.colour[k]!,
    onPath: active[node] === 1,
    leaf: node === c.leaf,
    level: l.lane[k]! + 1,
  };
}

// A detour's rows follow each other: all that are drawn in its lane or further right.
function branchEnd(l: Lanes, k: number): number {
  const lane = l.lane[k]!;
  let end = k + 1;
  while (end < l.count && l.lane[end]! >= lane && !(l.lane[end] === lane && l.flags[end]! & FIRST)) end++;
  return end;
}

const foldsAway = (o: RailOptions, entry: number, rows: number): boolean =>
  o.shut.has(entry) || (rows > FOLD_OVER && !o.open.has(entry));

function countBranch(
  s: Skeleton,
  c: Condensed,
  l: Lanes,
  from: number,
  to: number,
): { prompts: number; entries: number } {
  let prompts = 0;
  for (let k = from; k < to; k++)
    if (!c.steps[l.entry[k]!] && nodeKind(s, c.entry[l.entry[k]!]!) === 'prompt') prompts++;
  return { prompts, entries: s.under(c.entry[l.entry[from]!]!) };
}

function countPrompts(s: Skeleton): number {
  let n = 0;
  for (let i = 0; i < s.n; i++) if (!hidden(s, i) && nodeKind(s, i) === 'prompt') n++;
  return n;
}

function countForks(s: Skeleton): number {
  let n = 0;
  for (let i = 0; i < s.n; i++)
    for (let c = s.first[i]!, k = 0; c >= 0; c = s.next[c]!)
      if (!hidden(s, c) && !s.isAside(c) && (nodeKind(s, c) !== 'other' || s.first[c]! >= 0) && ++k > 1) n++;
  return n;
}
