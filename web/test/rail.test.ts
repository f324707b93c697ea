import test from 'node:test';
import assert from 'node:assert/strict';
import { lanes } from '../src/model/lanes.ts';
import { rail, shownLeaf, type RailOptions } from '../src/model/rail.ts';
import { Skeleton } from '../src/model/skeleton.ts';
import { branched, wire, type Made } from './made.ts';

const options = (s: Skeleton, more: Partial<RailOptions> = {}): RailOptions => ({
  zoom: 'all',
  leaf: s.leaf,
  open: new Set(),
  shut: new Set(),
  ...more,
});

test('the active path is lane 0, detours are drawn before it', () => {
  const l = lanes([-1, 0, 1, 2, 1, 1, 5], 6);
  assert.deepEqual([...l.entry], [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...l.lane], [0, 0, 1, 1, 1, 0, 0]);
  assert.deepEqual([...l.colour], [0, 0, 1, 1, 2, 0, 0]);
  assert.equal(l.width, 1);
});

test('another leaf moves another branch to the left edge', () => {
  const l = lanes([-1, 0, 1, 2, 1, 1, 5], 3);
  assert.deepEqual([...l.entry], [0, 1, 4, 5, 6, 2, 3]);
  assert.deepEqual([...l.lane], [0, 0, 1, 1, 1, 0, 0]);
});

test('cycles and forward parents become roots: every entry is drawn once', () => {
  const l = lanes([1, 0, -1, 2], 3);
  assert.equal(l.count, 4);
  assert.deepEqual([...l.entry].sort(), [0, 1, 2, 3]);
});

test('a chain of a million does not overflow', () => {
  const n = 1e6,
    p = Int32Array.from({ length: n }, (_, i) => i - 1);
  assert.equal(lanes(p, n - 1).count, n);
});

test('lanes past the sixth share the last bit', () => {
  // Each entry has two children, the second of which forks again.
  const p = [-1];
  for (let k = 0; k < 10; k++) {
    const at = p.length - 1;
    p.push(at, at);
  }
  const l = lanes(p, 1);
  assert.ok(l.width >= 1);
  for (const m of l.pass) assert.ok(m < 64);
});

const work: Made[] = [
  ['p1', null, 'm', 'u'],
  ['a1', 'p1', 'm', 'a'],
  ['t1', 'a1', 'm', 't'],
  ['a2', 't1', 'm', 'a'],
  ['o1', 'a2', 'o'],
  ['p2', 'o1', 'm', 'u', 'maybe'],
  ['a3', 'p2', 'm', 'a'],
  ['c1', 'a2', 'c'],
  ['p3', 'c1', 'm', 'u'],
  ['a4', 'p3', 'm', 'a'],
  ['l1', 'a4', 'l'],
];

test('prompts: runs between them, and the leaf where it is shown', () => {
  const s = Skeleton.from(wire(work));
  s.failed.set(2, 1);
  const r = rail(s, options(s, { zoom: 'prompts' }));
  assert.deepEqual(
    r.rows.map((x) => `${x.node}:${s.id[x.entry]}:${x.lane}`),
    ['prompt:p1:0', 'run:a1:0', 'prompt:p2:1', 'run:a3:1', 'seam:c1:0', 'prompt:p3:0', 'reply:a4:0'],
  );
  assert.equal(r.rows[1]!.steps, 3);
  assert.equal(r.rows[1]!.failed, 1);
  assert.deepEqual(
    r.rows.filter((x) => x.leaf).map((x) => s.id[x.entry]),
    ['a4'],
  );
  assert.equal(s.id[shownLeaf(s, s.leaf)], 'a4');
  assert.equal(r.prompts, 3);
  assert.equal(r.branches, 1);
});

test('turns add replies; all adds everything', () => {
  const s = Skeleton.from(wire(work));
  const turns = rail(s, options(s, { zoom: 'turns' })).rows.map((x) => s.id[x.entry]);
  assert.deepEqual(turns, ['p1', 'a1', 't1', 'a2', 'p2', 'a3', 'c1', 'p3', 'a4']);
  assert.equal(rail(s, options(s)).rows.length, s.n);
});

test('a long side branch opens folded as one row with its counts', () => {
  const made: Made[] = [
    ['r', null, 'm', 'u'],
    ['x0', 'r', 'm', 'u'],
  ];
  for (let k = 1; k < 14; k++) made.push([`x${k}`, `x${k - 1}`, 'm', 'u']);
  made.push(['main', 'r', 'm', 'u']);
  const s = Skeleton.from(wire(made));
  const shut = rail(s, options(s, { zoom: 'prompts' }));
  assert.deepEqual(
    shut.rows.map((x) => s.id[x.entry]),
    ['r', 'x0', 'main'],
  );
  assert.deepEqual(shut.rows[1]!.folded, { prompts: 14, entries: 14 });
  const open = rail(s, options(s, { zoom: 'prompts', open: new Set([1]) }));
  assert.equal(open.rows.length, 16);
  const byHand = rail(s, options(s, { zoom: 'prompts', open: new Set([1]), shut: new Set([1]) }));
  assert.equal(byHand.rows.length, 3);
});

test('filters leave the leaf in sight', () => {
  const s = Skeleton.from(wire(work));
  s.failed.set(2, 1);
  const shown = (f: string): string[] =>
    rail(s, options(s, { zoom: 'prompts', show: new Set([f]) })).rows.map((x) => s.id[x.entry]!);
  assert.deepEqual(shown('mine'), ['p1', 'p2', 'p3', 'a4']);
  assert.deepEqual(shown('labelled'), ['p2', 'a4']);
  assert.deepEqual(shown('errors'), ['a1', 'a4']);
  assert.deepEqual(shown('no-tools'), ['p1', 'p2', 'c1', 'p3', 'a4']);
});

test('branched: both other attempts hang before the active one', () => {
  const s = Skeleton.from(wire(branched));
  const r = rail(s, options(s, { zoom: 'prompts' }));
  assert.deepEqual(
    r.rows.filter((x) => x.first).map((x) => [s.id[x.entry], x.colour]),
    [
      ['e3', 1],
      ['e5', 2],
    ],
  );
});

test('failures of a run are told at the run, though the shape counts them at the node behind it', () => {
  const s = Skeleton.from(
    wire([
      ['e1', null, 'm', 'u'],
      ['e2', 'e1', 'm', 'a'],
      ['e3', 'e2', 'm', 't'],
      ['e4', 'e3', 'm', 'u'],
      ['e5', 'e4', 'm', 'a'],
    ]),
  );
  s.failed.set(3, 1);
  const { rows } = rail(s, { zoom: 'prompts', leaf: 4, open: new Set(), shut: new Set() });
  assert.deepEqual(
    rows.map((r) => [r.node, r.failed]),
    [
      ['prompt', 0],
      ['run', 1],
      ['prompt', 0],
      ['reply', 0],
    ],
  );
});
