// The shape of a session that is too large to hold whole: its turns (prompts, seams, forks, ends), and of
// the stretches on screen every entry. What lies between two turns and is not loaded is a gap: an entry
// that is not stored, of kind '~', which knows how many it stands for.
import type { TreeWire } from '../api/types.ts';
import { Skeleton } from './skeleton.ts';

export const GAP = '~';

// Every entry with from <= seq <= to.
export interface Stretch {
  from: number;
  to: number;
  wire: TreeWire;
}

interface Columns {
  seq: number[];
  id: string[];
  parent: number[];
  kind: string[];
  role: string[];
  flags: number[];
  bytes: number[];
  time: number[];
  gap: Map<number, number>;
  labels: Record<string, string>;
}

const NONE = -1,
  BEFORE = -2;

const indexes = new WeakMap<TreeWire, Map<string, number>>();
function turnIndex(turns: TreeWire): Map<string, number> {
  let index = indexes.get(turns);
  if (!index) indexes.set(turns, (index = new Map(turns.id.map((id, i) => [id ?? '', i]))));
  return index;
}

class Merge {
  readonly out: Columns = {
    seq: [],
    id: [],
    parent: [],
    kind: [],
    role: [],
    flags: [],
    bytes: [],
    time: [],
    gap: new Map(),
    labels: {},
  };
  private readonly at = new Map<string, number>(); // entries that are no turns
  private readonly turnAt: Map<string, number>;
  private readonly placed: Int32Array; // and where each turn is
  // Chains that were loaded up to the end of their stretch and go on behind it: by the turn they left, where
  // they end and how many of them there are.
  private readonly cut = new Map<number, { end: number; count: number }[]>();
  private clock = 0;

  constructor(
    private readonly turns: TreeWire | null,
    private readonly known: number,
  ) {
    this.turnAt = turns ? turnIndex(turns) : new Map();
    this.placed = new Int32Array(turns?.n ?? 0).fill(NONE);
  }

  private find(id: string): number | undefined {
    const t = this.turnAt.get(id);
    const at = t === undefined ? this.at.get(id) : this.placed[t]!;
    return at === NONE ? undefined : at;
  }

  private put(wire: TreeWire, i: number, parent: number, time: number): number {
    const o = this.out,
      at = o.seq.length;
    o.seq.push(wire.seq[i]!);
    o.id.push(wire.id[i]!);
    o.parent.push(parent);
    o.kind.push(wire.kind[i]!);
    o.role.push(wire.role[i]!);
    o.flags.push(wire.flags[i] ?? 0);
    o.bytes.push(wire.bytes[i] ?? 0);
    o.time.push(time - this.clock);
    this.clock = time;
    if (wire === this.turns) this.placed[i] = at;
    else {
      const turn = this.turnAt.get(wire.id[i]!);
      if (turn === undefined) this.at.set(wire.id[i]!, at);
      else this.placed[turn] = at;
    }
    const label = wire.labels?.[i];
    if (label) o.labels[at] = label;
    return at;
  }

  private putGap(before: string, parent: number, count: number): number {
    const o = this.out,
      at = o.seq.length;
    o.seq.push(0);
    o.id.push(`${GAP}${before}`);
    o.parent.push(parent);
    o.kind.push(GAP);
    o.role.push('-');
    o.flags.push(0);
    o.bytes.push(0);
    o.time.push(0);
    o.gap.set(at, count);
    return at;
  }

  // A turn of which nothing around is loaded: below the turn above it, behind what is left out between them.
  turn(i: number, time: number): void {
    const t = this.turns!,
      p = t.parent[i]!,
      run = t.run?.[i] ?? 0;
    let above = p >= 0 ? this.placed[p]! : NONE;
    let missing = run;
    if (run > 0 && above >= 0) {
      const chain = this.cut.get(above)?.shift();
      if (chain) {
        missing = run - chain.count;
        above = chain.end;
      }
    }
    this.put(t, i, missing > 0 ? this.putGap(t.id[i]!, above, missing) : above, time);
  }

  // Which turn ends the chain that each entry of a stretch belongs to; -1 where it is not in the stretch.
  private ends(w: TreeWire): Int32Array {
    const end = new Int32Array(w.n).fill(NONE);
    for (let i = w.n - 1; i >= 0; i--) {
      if (this.turnAt.has(w.id[i]!)) end[i] = i;
      const p = w.parent[i]!;
      if (p >= 0 && p < i && !this.turnAt.has(w.id[p]!)) end[p] = end[i]!;
    }
    return end;
  }

  // An entry whose parent is neither in its stretch nor a turn: some of its run is not loaded.
  private dangling(w: TreeWire, i: number, end: Int32Array): number {
    if (!this.turns) return this.putGap(w.id[i]!, NONE, this.known);
    const seq = w.seq[i]!;
    const b = end[i]! >= 0 ? this.turnAt.get(w.id[end[i]!]!)! : this.turnBehind(w, seq);
    if (b < 0) return this.putGap(w.id[i]!, NONE, 0);
    const p = this.turns.parent[b]!,
      above = p >= 0 ? this.placed[p]! : NONE;
    let loaded = 0;
    if (end[i]! >= 0) for (let k = end[i]!; k !== i && k >= 0; k = w.parent[k]!) loaded++;
    else loaded = this.chainLength(w, i);
    return this.putGap(w.id[i]!, above, Math.max(1, (this.turns.run?.[b] ?? 0) - loaded));
  }

  // The first turn behind a stretch whose chain began before this entry.
  private turnBehind(w: TreeWire, seq: number): number {
    const t = this.turns!,
      last = w.seq[w.n - 1]!;
    let low = 0,
      high = t.n;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (t.seq[mid]! <= last) low = mid + 1;
      else high = mid;
    }
    for (let b = low; b < Math.min(t.n, low + 64); b++) {
      const p = t.parent[b]!;
      if ((t.run?.[b] ?? 0) > 0 && (p < 0 || t.seq[p]! < seq)) return b;
    }
    return NONE;
  }

  private chainLength(w: TreeWire, i: number): number {
    let at = i,
      n = 1;
    for (let k = i + 1; k < w.n; k++)
      if (w.parent[k] === at) {
        at = k;
        n++;
      }
    return n;
  }

  stretch(s: Stretch): void {
    const w = s.wire,
      end = this.ends(w),
      place = new Int32Array(w.n).fill(NONE);
    const child = new Uint8Array(w.n);
    let time = 0;
    for (let i = 0; i < w.n; i++) {
      time += w.time[i] ?? 0;
      const p = w.parent[i]!;
      if (p >= 0 && p < i) child[p] = 1;
      if (w.seq[i]! < s.from || w.seq[i]! > s.to || this.find(w.id[i]!) !== undefined) {
        place[i] = this.find(w.id[i]!) ?? NONE;
        continue;
      }
      const parent =
        p >= 0 && p < i
          ? place[p]!
          : p === BEFORE
            ? (this.find(w.parentId?.[i] ?? '') ?? this.dangling(w, i, end))
            : NONE;
      place[i] = this.put(w, i, parent, time);
    }
    for (let i = 0; i < w.n; i++)
      if (!child[i] && place[i]! >= 0 && this.turns && !this.turnAt.has(w.id[i]!)) this.goesOn(place[i]!);
  }

  // A chain that is no turn at its end goes on behind the stretch.
  private goesOn(end: number): void {
    const o = this.out;
    let count = 0,
      at = end;
    while (at >= 0 && !this.turnAt.has(o.id[at]!)) {
      count += o.gap.get(at) ?? 1;
      at = o.parent[at]!;
    }
    if (at < 0) return;
    const list = this.cut.get(at);
    if (list) list.push({ end, count });
    else this.cut.set(at, [{ end, count }]);
  }
}

// `known` is how many entries there are in all: before the turns have come, what is above a stretch is one gap.
export function merged(turns: TreeWire | null, stretches: Stretch[], known = 0): Skeleton {
  const m = new Merge(turns, Math.max(0, known - stretches.reduce((n, s) => n + s.wire.n, 0)));
  const order = [...stretches].sort((a, b) => a.from - b.from);
  let next = 0,
    time = 0;
  for (let i = 0; i < (turns?.n ?? 0); i++) {
    time += turns!.time[i] ?? 0;
    while (next < order.length && order[next]!.to < turns!.seq[i]!) m.stretch(order[next++]!);
    if (next < order.length && order[next]!.from <= turns!.seq[i]!) continue; // the stretch has it
    m.turn(i, time);
  }
  while (next < order.length) m.stretch(order[next++]!);
  const o = m.out;
  const s = Skeleton.from({ ...o, kind: o.kind.join(''), role: o.role.join(''), level: 'all', n: o.seq.length });
  if (turns) s.describe(turns);
  return s;
}
