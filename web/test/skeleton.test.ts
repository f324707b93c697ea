import test from 'node:test';
import assert from 'node:assert/strict';
import { CYCLE, Skeleton, SUPERSEDED } from '../src/model/skeleton.ts';
import { branched, wire } from './made.ts';

test('links, path and branches come from the columns', () => {
  const s = Skeleton.from(wire(branched));
  assert.deepEqual(
    s.path(s.leaf).map((i) => s.id[i]),
    ['e1', 'e2', 'e6', 'e7'],
  );
  assert.deepEqual(
    [...s.children(1)].map((i) => s.id[i]),
    ['e3', 'e5', 'e6'],
  );
  assert.equal(s.tip(2), 3);
  assert.equal(s.under(2), 2);
  assert.deepEqual(
    s.siblings(5).map((i) => s.id[i]),
    ['e3', 'e5', 'e6'],
  );
  assert.equal(s.branchStart(3, s.mask(s.path(s.leaf))), 2);
  assert.ok(s.isAncestor(0, 6) && !s.isAncestor(2, 6));
});

test('times are differences, labels belong to entries', () => {
  const s = Skeleton.from(
    wire([
      ['a', null, 'm', 'u', 'findings'],
      ['b', 'a', 'm', 'a'],
    ]),
  );
  assert.equal(s.time[1]! - s.time[0]!, 1000);
  assert.equal(s.labels.get(0), 'findings');
});

test('a later page finds parents before it, and what came twice is there once', () => {
  const s = Skeleton.from(wire(branched));
  const page = {
    ...wire([
      ['e7', null, 'm', 'a'],
      ['e8', null, 'm', 'u'],
    ]),
    seq: [7, 8],
    parent: [-2, 0],
    parentId: { 0: 'e6' },
  };
  assert.deepEqual(s.append(page), [7]);
  assert.equal(s.n, 8);
  assert.equal(s.parent[7], 6);
  const far = { ...wire([['e9', null, 'm', 'a']]), seq: [9], parent: [-2], parentId: { 0: 'e2' } };
  s.append(far);
  assert.equal(s.parent[8], 1);
});

test('a parent may come after its child; a loop is cut', () => {
  const w = wire([
    ['b', 'a', 'm', 'a'],
    ['a', null, 'm', 'u'],
    ['c', 'b', 'm', 'u'],
  ]);
  const s = Skeleton.from(w);
  assert.deepEqual(
    s.path(s.leaf).map((i) => s.id[i]),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(s.roots, [1]);
  const far = wire([
    ['x', null, 'm', 'u'],
    ['b', null, 'm', 'a'],
    ['a', null, 'm', 'u'],
  ]);
  far.parent = [1, 2, 0];
  assert.equal(Skeleton.from(far).roots.length, 1);
  const round = wire([
    ['a', null, 'm', 'u'],
    ['b', null, 'm', 'a'],
  ]);
  round.parent = [1, 0];
  const cut = Skeleton.from(round);
  assert.deepEqual(cut.roots, [0]);
  assert.deepEqual(cut.path(1), [0, 1]);
});

test('an id that occurs twice is two entries, and means the last', () => {
  const w = wire([
    ['a', null, 'm', 'u'],
    ['x', null, 'm', 'a'],
    ['c', null, 'm', 'u'],
    ['x', null, 'm', 'a'],
    ['e', null, 'm', 'u'],
  ]);
  w.parent = [-1, 0, -1, 2, 3];
  w.flags = [0, SUPERSEDED, CYCLE, 0, 0];
  const s = Skeleton.from(w);
  assert.equal(s.n, 5);
  assert.deepEqual(s.path(s.leaf), [2, 3, 4]);
  assert.equal(s.index.get('x'), 3);
  assert.deepEqual(s.append(w), []);
  assert.deepEqual(s.append({ ...wire([['f', null, 'm', 'a']]), seq: [6], parent: [-2], parentId: { 0: 'x' } }), [5]);
  assert.equal(s.parent[5], 3);
});

test('a hundred thousand entries grow the columns', () => {
  const n = 100_000;
  const s = Skeleton.from({
    level: 'all',
    n,
    seq: Array.from({ length: n }, (_, i) => i),
    id: Array.from({ length: n }, (_, i) => `x${i}`),
    parent: Array.from({ length: n }, (_, i) => i - 1),
    kind: 'm'.repeat(n),
    role: 'u'.repeat(n),
    flags: [],
    bytes: [],
    time: [],
    labels: {},
    leaf: n - 1,
  });
  assert.equal(s.path(s.leaf).length, n);
});
