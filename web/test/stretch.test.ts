import test from 'node:test';
import assert from 'node:assert/strict';
import type { TreeWire } from '../src/api/types.ts';
import { rail } from '../src/model/rail.ts';
import { project } from '../src/model/rows.ts';
import { Skeleton } from '../src/model/skeleton.ts';
import { merged, type Stretch } from '../src/model/stretch.ts';
import { wire, type Made } from './made.ts';

// Prompts with runs of replies and results between them; every third prompt has a side branch.
function long(prompts: number, run: number): Made[] {
  const out: Made[] = [];
  let leaf: string | null = null,
    n = 0;
  const add = (role: string): void => {
    const id = `e${++n}`;
    out.push([id, leaf, 'm', role]);
    leaf = id;
  };
  for (let p = 0; p < prompts; p++) {
    add('u');
    for (let k = 0; k < run; k++) add(k % 2 ? 't' : 'a');
    if (p % 3 === 2) {
      const back: string = leaf!;
      add('u');
      add('a');
      leaf = back;
    }
  }
  return out;
}

// What the server sends at level=turns, and of a stretch at level=all.
function turnsOf(whole: TreeWire): TreeWire {
  const kids = new Array(whole.n).fill(0);
  whole.parent.forEach((p) => {
    if (p >= 0) kids[p]++;
  });
  const rows = whole.seq.map((_, i) => i).filter((i) => whole.role[i] === 'u' || kids[i] !== 1 || whole.parent[i]! < 0);
  const place = new Map(rows.map((i, k) => [i, k]));
  const above = rows.map((i) => {
    let p = whole.parent[i]!,
      run = 0;
    while (p >= 0 && !place.has(p)) {
      p = whole.parent[p]!;
      run++;
    }
    return { p, run };
  });
  return {
    ...pick(whole, rows),
    level: 'turns',
    parent: above.map((x) => (x.p < 0 ? -1 : place.get(x.p)!)),
    run: above.map((x) => x.run),
    text: rows.map((i) => `words of ${whole.id[i]}`),
  };
}
function pick(w: TreeWire, rows: number[]): TreeWire {
  const times: number[] = [];
  w.time.reduce((t, d, i) => {
    times[i] = t + d;
    return t + d;
  }, 0);
  return {
    ...w,
    n: rows.length,
    seq: rows.map((i) => w.seq[i]!),
    id: rows.map((i) => w.id[i]!),
    kind: rows.map((i) => w.kind[i]).join(''),
    role: rows.map((i) => w.role[i]).join(''),
    flags: rows.map(() => 0),
    bytes: rows.map(() => 100),
    time: rows.map((i, k) => times[i]! - (k ? times[rows[k - 1]!]! : 0)),
    labels: {},
    parent: [],
  };
}
function stretchOf(w: TreeWire, from: number, to: number): Stretch {
  const rows = w.seq.map((_, i) => i).filter((i) => w.seq[i]! >= from && w.seq[i]! <= to);
  const parentId: Record<string, string> = {};
  const parent = rows.map((i, k) => {
    const p = w.parent[i]!;
    if (p < 0) return -1;
    if (p >= rows[0]!) return p - rows[0]!;
    parentId[k] = w.id[p]!;
    return -2;
  });
  return { from, to, wire: { ...pick(w, rows), parent, parentId } };
}

const whole = wire(long(30, 9)),
  turns = turnsOf(whole);
const ids = (s: Skeleton): string[] => s.path(s.leaf).map((i) => s.id[i]!);
const leafOf = (s: Skeleton): Skeleton => {
  s.leaf = s.index.get(whole.id[whole.leaf!]!) ?? -1;
  return s;
};
const stands = (s: Skeleton, path: number[]): number => path.reduce((n, i) => n + (s.gap.get(i) ?? 1), 0);

test('turns alone: gaps stand for what is between them', () => {
  const full = leafOf(Skeleton.from(whole)),
    s = leafOf(merged(turns, []));
  assert.equal(stands(s, s.path(s.leaf)), full.path(full.leaf).length);
  assert.equal(s.gap.size > 20, true);
  assert.equal(s.text.get(s.index.get('e1')!), 'words of e1');
});

test('every stretch, wherever it is cut, leaves the path as it is', () => {
  const full = leafOf(Skeleton.from(whole)),
    path = new Set(ids(full));
  for (let from = 1; from < whole.n; from += 7)
    for (const size of [1, 4, 13, 50]) {
      const s = leafOf(merged(turns, [stretchOf(whole, from, from + size - 1)]));
      assert.equal(stands(s, s.path(s.leaf)), path.size, `${from} +${size}`);
      for (const id of ids(s)) assert.ok(id.startsWith('~') || path.has(id), `${from} +${size}: ${id}`);
      for (let q = from; q < from + size && q <= whole.n; q++) assert.ok(s.index.has(`e${q}`));
      for (let i = 0; i < s.n; i++) assert.ok(s.parent[i]! < i);
    }
});

test('stretches side by side, and all of them, are the whole tree', () => {
  const all: Stretch[] = [];
  for (let from = 1; from <= whole.n; from += 16) all.push(stretchOf(whole, from, from + 15));
  const s = leafOf(merged(turns, all)),
    full = leafOf(Skeleton.from(whole));
  assert.equal(s.gap.size, 0);
  assert.deepEqual(ids(s), ids(full));
  assert.deepEqual([...s.time.subarray(0, s.n)], [...full.time.subarray(0, full.n)]);
});

test('before the turns have come, what is above the end is one gap', () => {
  const s = leafOf(merged(null, [stretchOf(whole, whole.n - 20, whole.n)], whole.n));
  const path = s.path(s.leaf);
  assert.equal(s.kindAt(path[0]!), '~');
  assert.equal(s.gap.get(path[0]!), whole.n - 21);
});

test('in rail and conversation a gap is steps, and a row that can be loaded', () => {
  const full = leafOf(Skeleton.from(whole)),
    s = leafOf(merged(turns, []));
  const o = { zoom: 'prompts' as const, open: new Set<number>(), shut: new Set<number>() };
  const show = (x: Skeleton): string[] => rail(x, { ...o, leaf: x.leaf }).rows.map((r) => `${r.node} ${r.steps}`);
  assert.deepEqual(show(s), show(full));
  assert.ok(project(s, s.path(s.leaf), { all: false, leaf: true }).rows.some((r) => r.kind === 'gap'));
});
