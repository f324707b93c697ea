// The conversation: the viewed path made into rows. Only the skeleton is needed, so that a row exists
// (with its place and a guess of its height) before its body has come.
import { LEAF_MARK, SUPERSEDED, type Skeleton } from './skeleton.ts';

export type RowKind =
  'prompt' | 'reply' | 'lone' | 'seam' | 'summary' | 'change' | 'batch' | 'raw' | 'gap' | 'hidden' | 'leaf';

export interface Row {
  key: string; // stays the same while entries are appended
  kind: RowKind;
  entries: number[]; // indices; a reply's results follow it
  lead: boolean; // the first of several rows of one author: it has the header
  faded: boolean; // the model no longer sees it
}

const CHANGES = 'otdvhna';

function kindOfRow(s: Skeleton, i: number): RowKind {
  const kind = s.kindAt(i),
    role = s.roleAt(i);
  if (kind === 'm') {
    if (role === 'u') return 'prompt';
    if (role === 'a') return 'reply';
    if (role === 't' || role === 'b' || role === 'p') return 'lone';
    return role === 's' || role === 'd' || role === 'f' ? 'raw' : 'prompt';
  }
  if (kind === 'y') return 'prompt';
  if (kind === 'c' || kind === 'z') return 'seam';
  if (kind === 'b') return 'summary';
  if (kind === 'w' || kind === 'W') return 'batch';
  if (kind === '~') return 'gap';
  return CHANGES.includes(kind) ? 'change' : 'raw';
}

export interface Projected {
  rows: Row[];
  rowOf: Map<number, number>;
  notShown: number;
}

// The batch that a result of workers belongs to: the tool's own message may stand between them.
function batchAbove(rows: Row[]): number {
  for (let k = rows.length - 1; k >= Math.max(0, rows.length - 3); k--) {
    if (rows[k]!.kind === 'batch') return k;
    if (rows[k]!.kind === 'prompt') break;
  }
  return -1;
}

// Which row an entry joins: results and shell runs join the reply above them, changes join changes,
// a batch's result joins its batch. The rest stand alone.
function joins(kind: RowKind, s: Skeleton, i: number, above: Row | undefined): boolean {
  if (!above) return false;
  if (kind === 'lone')
    return (
      above.kind === 'reply' || (above.kind === 'lone' && s.roleAt(i) === 't' && s.roleAt(above.entries[0]!) === 't')
    );
  if (kind === 'change') return above.kind === 'change';
  return false;
}

export interface ProjectOptions {
  all: boolean;
  leaf: boolean;
  kept?: number;
} // kept: the first entry that the last compaction left in sight

export function project(s: Skeleton, path: number[], o: ProjectOptions): Projected {
  const rows: Row[] = [];
  const rowOf = new Map<number, number>();
  let notShown = 0,
    speaker: RowKind | null = null;
  for (const i of path) {
    if (s.flags[i]! & (LEAF_MARK | SUPERSEDED)) continue;
    const kind = kindOfRow(s, i);
    const above = rows[rows.length - 1];
    if (joins(kind, s, i, above)) {
      above!.entries.push(i);
      rowOf.set(i, rows.length - 1);
      continue;
    }
    const batch = s.kindAt(i) === 'W' ? batchAbove(rows) : -1;
    if (batch >= 0) {
      rows[batch]!.entries.push(i);
      rowOf.set(i, batch);
      continue;
    }
    if (kind === 'raw' && !o.all) {
      notShown++;
      rowOf.set(i, Math.max(0, rows.length - 1));
      continue;
    }
    const lead: boolean = speaker !== kind;
    if (kind !== 'change') speaker = kind;
    rowOf.set(i, rows.length);
    rows.push({ key: s.id[i]!, kind, entries: [i], lead, faded: false });
    if (kind === 'reply')
      for (const c of s.children(i))
        if (s.isAside(c)) {
          rows[rows.length - 1]!.entries.push(c);
          rowOf.set(c, rows.length - 1);
        }
  }
  fade(s, rows, rowOf, o.kept ?? -1);
  if (notShown) rows.push({ key: '#hidden', kind: 'hidden', entries: [], lead: true, faded: false });
  if (o.leaf) rows.push({ key: '#leaf', kind: 'leaf', entries: [], lead: true, faded: false });
  return { rows, rowOf, notShown };
}

// Everything above the last seam is out of the model's sight, but for what it kept.
function fade(s: Skeleton, rows: Row[], rowOf: Map<number, number>, kept: number): void {
  let end = rows.length - 1;
  while (end >= 0 && !isSeam(s, rows[end]!.entries[0]!)) end--;
  const seen = rowOf.get(kept);
  // An entry that is not shown has the number of the row above it.
  if (seen !== undefined && seen < end) end = rows[seen]!.entries.includes(kept) ? seen : seen + 1;
  for (let k = 0; k < end; k++) rows[k]!.faded = true;
}

const isSeam = (s: Skeleton, i: number): boolean => s.kindAt(i) === 'c' || s.kindAt(i) === 'z';

// The last entry of a path that closes off what is above it; -1 if there is none.
export function lastSeam(s: Skeleton, path: number[]): number {
  for (let k = path.length - 1; k >= 0; k--) if (isSeam(s, path[k]!)) return path[k]!;
  return -1;
}

// A guess from kind and bytes; the list measures what it draws.
export function guessHeight(s: Skeleton, row: Row): number {
  const bytes = Math.min(8192, s.bytes[row.entries[0] ?? 0] ?? 0);
  switch (row.kind) {
    case 'prompt':
      return 92 + Math.ceil(bytes / 90) * 12;
    case 'reply':
      return 60 + Math.ceil(bytes / 110) * 14 + (row.entries.length - 1) * 34;
    case 'seam':
    case 'summary':
      return 80;
    case 'batch':
      return 150;
    case 'change':
    case 'raw':
    case 'hidden':
      return 34;
    case 'lone':
      return 60;
    case 'gap':
      return 40 + 46 * Math.min(400, s.gap.get(row.entries[0]!) ?? 1);
    case 'leaf':
      return 92;
  }
}

// Rows that begin a prompt, for J and K.
export function promptRow(rows: Row[], from: number, step: 1 | -1): number {
  for (let k = from + step; k >= 0 && k < rows.length; k += step) if (rows[k]!.kind === 'prompt') return k;
  return -1;
}
