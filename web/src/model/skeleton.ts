// The shape of a session without its bodies: columns, and the links between them. It only grows; a new
// generation is a new skeleton.
import type { TreeWire } from '../api/types.ts';

export const ORPHAN = 1,
  CYCLE = 2,
  SUPERSEDED = 4,
  LEAF_MARK = 16;
const NONE = -1,
  GAP = '~'.charCodeAt(0);

function grown<T extends Int32Array | Float64Array | Uint16Array>(old: T, size: number): T {
  const bigger = new (old.constructor as { new (n: number): T })(size);
  bigger.set(old as never);
  return bigger;
}

export class Skeleton {
  n = 0;
  id: string[] = [];
  seq = new Float64Array(16);
  parent = new Int32Array(16);
  kind = new Uint16Array(16);
  role = new Uint16Array(16);
  flags = new Uint16Array(16);
  bytes = new Float64Array(16);
  time = new Float64Array(16);
  first = new Int32Array(16);
  last = new Int32Array(16);
  next = new Int32Array(16);
  roots: number[] = [];
  labels = new Map<number, string>();
  text = new Map<number, string>();
  failed = new Map<number, number>();
  gap = new Map<number, number>(); // entries that stand for others which are not loaded: for how many
  index = new Map<string, number>();
  private replaced = new Map<number, number>(); // entries whose id a later entry has too, by number
  leaf = NONE;

  static from(wire: TreeWire): Skeleton {
    const s = new Skeleton();
    s.append(wire);
    s.leaf = wire.leaf ?? NONE;
    return s;
  }

  private reserve(n: number): void {
    if (n <= this.seq.length) return;
    const size = Math.max(n, this.seq.length * 2);
    this.seq = grown(this.seq, size);
    this.parent = grown(this.parent, size);
    this.kind = grown(this.kind, size);
    this.role = grown(this.role, size);
    this.flags = grown(this.flags, size);
    this.bytes = grown(this.bytes, size);
    this.time = grown(this.time, size);
    this.first = grown(this.first, size);
    this.last = grown(this.last, size);
    this.next = grown(this.next, size);
  }

  // The entry with that id and number, if it is there. Of several with the same id, the last one counts.
  private known(id: string, seq: number | undefined): number | undefined {
    const at = this.index.get(id);
    return at === undefined || seq === undefined || this.seq[at] === seq ? at : this.replaced.get(seq);
  }

  private remember(id: string, at: number): void {
    const before = this.index.get(id);
    if (before !== undefined && this.flags[at]! & SUPERSEDED) {
      this.replaced.set(this.seq[at]!, at);
      return;
    }
    if (before !== undefined) this.replaced.set(this.seq[before]!, before);
    this.index.set(id, at);
  }

  // Appends a page of columns. An entry that is there already (the same page came twice, or an event
  // and a page overlap) is left alone. Parents are indices into the page; -2 stands for one before it.
  append(wire: TreeWire): number[] {
    const place = new Int32Array(wire.n).fill(NONE);
    const added: number[] = [],
      from: number[] = [];
    let time = 0;
    this.reserve(this.n + wire.n);
    for (let i = 0; i < wire.n; i++) {
      time += wire.time[i] ?? 0;
      const id = wire.id[i]!;
      const gap = wire.kind.charCodeAt(i) === GAP;
      const known = gap ? undefined : this.known(id, wire.seq[i]);
      if (known !== undefined) {
        place[i] = known;
        continue;
      }
      const at = this.n++;
      place[i] = at;
      added.push(at);
      from.push(i);
      this.id.push(id);
      this.seq[at] = wire.seq[i] ?? at;
      this.kind[at] = wire.kind.charCodeAt(i);
      this.role[at] = wire.role.charCodeAt(i);
      this.flags[at] = wire.flags[i] ?? 0;
      this.bytes[at] = wire.bytes[i] ?? 0;
      this.time[at] = time;
      if (!gap) this.remember(id, at);
    }
    this.linkAll(wire, added, from, place);
    for (const [i, text] of Object.entries(wire.labels ?? {})) this.labels.set(place[Number(i)]!, text);
    for (const [i, n] of wire.gap ?? []) this.gap.set(place[i]!, n);
    return added;
  }

  // An entry may stand before its parent: such parents are taken when the others are known, unless they make a loop.
  private linkAll(wire: TreeWire, added: number[], from: number[], place: Int32Array): void {
    const late: [number, number][] = [];
    added.forEach((at, k) => {
      const parent = this.parentIn(wire, from[k]!, place);
      this.parent[at] = parent < at ? parent : NONE;
      this.first[at] = this.last[at] = this.next[at] = NONE;
      if (parent >= at) late.push([at, parent]);
    });
    for (const [at, parent] of late) if (!this.isAncestor(at, parent)) this.parent[at] = parent;
    for (const at of added) this.link(at);
  }

  private parentIn(wire: TreeWire, i: number, place: Int32Array): number {
    const p = wire.parent[i] ?? NONE;
    if (p >= 0) return place[p] ?? NONE;
    return p === -2 ? (this.index.get(wire.parentId?.[i] ?? '') ?? NONE) : NONE;
  }

  private link(at: number): void {
    const parent = this.parent[at]!;
    if (parent < 0) {
      this.roots.push(at);
      return;
    }
    if (this.first[parent] === NONE) this.first[parent] = at;
    else this.next[this.last[parent]!] = at;
    this.last[parent] = at;
  }

  // First words and failures, which only level=turns has.
  describe(turns: TreeWire): void {
    for (let i = 0; i < turns.n; i++) {
      const at = this.index.get(turns.id[i]!);
      if (at === undefined) continue;
      const text = turns.text?.[i];
      if (text) this.text.set(at, text);
      if (turns.failed?.[i]) this.failed.set(at, turns.failed[i]!);
    }
  }

  kindAt(i: number): string {
    return String.fromCharCode(this.kind[i]!);
  }
  roleAt(i: number): string {
    return String.fromCharCode(this.role[i]!);
  }

  *children(i: number): Generator<number> {
    for (let c = this.first[i]!; c >= 0; c = this.next[c]!) yield c;
  }

  siblings(i: number): number[] {
    const p = this.parent[i]!;
    return p < 0 ? this.roots : [...this.children(p)];
  }

  // A result that ends where it stands while the conversation goes on beside it: an agent that runs several
  // tools at once stores each result below its own call. It belongs to the call, and is no branch.
  isAside(i: number): boolean {
    return (
      this.roleAt(i) === 't' &&
      this.kindAt(i) === 'm' &&
      this.first[i]! < 0 &&
      i !== this.leaf &&
      this.parent[i]! >= 0 &&
      (this.next[i]! >= 0 || this.first[this.parent[i]!] !== i)
    );
  }

  // Entries that were tried in this one's place.
  attempts(i: number): number[] {
    return this.siblings(i).filter((k) => k === i || !this.isAside(k));
  }

  // Indices from the root to the entry; empty for "before the first entry".
  path(leaf: number): number[] {
    const path: number[] = [];
    for (let i = leaf; i >= 0; i = this.parent[i]!) path.push(i);
    return path.reverse();
  }

  // The newest entry below (or at) an entry, by walking its newest children: where a branch ends.
  tip(i: number): number {
    let newest = i;
    const stack = [i];
    while (stack.length) {
      const at = stack.pop()!;
      if (at > newest) newest = at;
      for (const c of this.children(at)) stack.push(c);
    }
    return newest;
  }

  under(i: number): number {
    let count = 0;
    const stack = [i];
    while (stack.length) {
      const at = stack.pop()!;
      count += this.gap.get(at) ?? 1;
      for (const c of this.children(at)) stack.push(c);
    }
    return count;
  }

  isAncestor(a: number, b: number): boolean {
    for (let i = b; i >= 0; i = this.parent[i]!) if (i === a) return true;
    return false;
  }

  // Where an entry's branch left the path that `onPath` marks: the first entry of the branch.
  branchStart(i: number, onPath: Uint8Array): number {
    let at = i;
    while (this.parent[at]! >= 0 && !onPath[this.parent[at]!]) at = this.parent[at]!;
    return at;
  }

  mask(path: number[]): Uint8Array {
    const mask = new Uint8Array(this.n);
    for (const i of path) mask[i] = 1;
    return mask;
  }
}
