import test from 'node:test';
import assert from 'node:assert/strict';
import { rail } from '../src/model/rail.ts';
import { guessHeight, lastSeam, project, promptRow } from '../src/model/rows.ts';
import { Skeleton } from '../src/model/skeleton.ts';
import { wire, type Made } from './made.ts';

const made: Made[] = [
  ['o1', null, 'o'],
  ['t1', 'o1', 't'],
  ['p1', 't1', 'm', 'u'],
  ['a1', 'p1', 'm', 'a'],
  ['r1', 'a1', 'm', 't'],
  ['r2', 'r1', 'm', 't'],
  ['a2', 'r2', 'm', 'a'],
  ['x1', 'a2', 'x'],
  ['c1', 'x1', 'c'],
  ['w1', 'c1', 'w'],
  ['w2', 'w1', 'W'],
  ['p2', 'w2', 'm', 'u'],
  ['b1', 'p2', 'm', 'b'],
  ['l1', 'b1', 'l'],
];

test('rows: changes join, results join their reply, a batch has its result', () => {
  const s = Skeleton.from(wire(made));
  const p = project(s, s.path(s.leaf), { all: false, leaf: true });
  assert.deepEqual(
    p.rows.map((r) => `${r.kind}:${r.entries.map((i) => s.id[i]).join('+')}`),
    [
      'change:o1+t1',
      'prompt:p1',
      'reply:a1+r1+r2',
      'reply:a2',
      'seam:c1',
      'batch:w1+w2',
      'prompt:p2',
      'lone:b1',
      'hidden:',
      'leaf:',
    ],
  );
  assert.equal(p.notShown, 2);
  assert.deepEqual(
    p.rows.map((r) => r.lead),
    [true, true, true, false, true, true, true, true, true, true],
  );
  assert.deepEqual(p.rows.map((r) => r.faded).slice(0, 6), [true, true, true, true, false, false]);
  assert.equal(p.rowOf.get(5), 2);
});

test('what a compaction kept is still in sight', () => {
  const s = Skeleton.from(wire(made));
  const faded = (kept: string): boolean[] =>
    project(s, s.path(s.leaf), { all: false, leaf: true, kept: s.index.get(kept)! })
      .rows.map((r) => r.faded)
      .slice(0, 6);
  assert.deepEqual(faded('a2'), [true, true, true, false, false, false]);
  assert.deepEqual(faded('r2'), [true, true, false, false, false, false]); // a result in the middle of its reply
  assert.deepEqual(faded('x1'), [true, true, true, true, false, false]); // not shown itself
  assert.equal(s.id[lastSeam(s, s.path(s.leaf))], 'c1');
  assert.equal(lastSeam(s, s.path(s.index.get('a2')!)), -1);
});

test('all shows what is hidden otherwise', () => {
  const s = Skeleton.from(wire(made));
  const p = project(s, s.path(s.leaf), { all: true, leaf: false });
  assert.equal(p.notShown, 0);
  assert.ok(p.rows.some((r) => r.kind === 'raw' && s.id[r.entries[0]!] === 'x1'));
});

test('unknown letters are entries, not errors', () => {
  const s = Skeleton.from(
    wire([
      ['a', null, '?', '?'],
      ['b', 'a', 'm', '?'],
    ]),
  );
  const p = project(s, s.path(1), { all: true, leaf: false });
  assert.deepEqual(
    p.rows.map((r) => r.kind),
    ['raw', 'prompt'],
  );
});

test('a hundred thousand changes in a row stay one row', () => {
  const n = 100_000;
  const s = Skeleton.from({
    level: 'all',
    n,
    seq: Array.from({ length: n }, (_, i) => i),
    id: Array.from({ length: n }, (_, i) => `x${i}`),
    parent: Array.from({ length: n }, (_, i) => i - 1),
    kind: 't'.repeat(n),
    role: '-'.repeat(n),
    flags: [],
    bytes: [],
    time: [],
    labels: {},
    leaf: n - 1,
  });
  assert.equal(project(s, s.path(n - 1), { all: false, leaf: false }).rows.length, 1);
});

test('J and K go from prompt to prompt', () => {
  const s = Skeleton.from(wire(made));
  const { rows } = project(s, s.path(s.leaf), { all: false, leaf: true });
  assert.equal(promptRow(rows, 1, 1), 6);
  assert.equal(promptRow(rows, 6, -1), 1);
  assert.equal(promptRow(rows, 6, 1), -1);
  for (const r of rows) assert.ok(guessHeight(s, r) > 20);
});

test('results of tools that ran at once belong to their calls, and are no branches', () => {
  const s = Skeleton.from(
    wire([
      ['u', null, 'm', 'u'],
      ['a1', 'u', 'm', 'a'],
      ['r1', 'a1', 'm', 't'],
      ['a2', 'a1', 'm', 'a'],
      ['r2', 'a2', 'm', 't'],
      ['a3', 'r2', 'm', 'a'],
    ]),
  );
  const { rows } = project(s, s.path(s.leaf), { all: false, leaf: false });
  assert.deepEqual(
    rows.map((r) => r.entries.map((i) => s.id[i])),
    [['u'], ['a1', 'r1'], ['a2', 'r2'], ['a3']],
  );
  const r = rail(s, { zoom: 'prompts', leaf: s.leaf, open: new Set(), shut: new Set() });
  assert.deepEqual([r.branches, r.width], [0, 0]);
  assert.deepEqual(s.attempts(3), [3]);
});
