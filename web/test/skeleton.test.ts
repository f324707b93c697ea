import test from 'node:test';
import assert from 'node:assert/strict';
import { Skeleton } from '../src/model/skeleton.ts';
import { branched, wire } from './made.ts';

test('links, path and branches come from the columns', () => {
  const s = Skeleton.from(wire(branched));
  assert.deepEqual(s.path(s.leaf).map((i) => s.id[i]), ['e1', 'e2', 'e6', 'e7']);
  assert.deepEqual([...s.children(1)].map((i) => s.id[i]), ['e3', 'e5', 'e6']);
  assert.equal(s.tip(2), 3);
  assert.equal(s.under(2), 2);
  assert.deepEqual(s.siblings(5).map((i) => s.id[i]), ['e3', 'e5', 'e6']);
  assert.equal(s.branchStart(3, s.mask(s.path(s.leaf))), 2);
  assert.ok(s.isAncestor(0, 6) && !s.isAncestor(2, 6));
});

test('times are differences, labels belong to entries', () => {
  const s = Skeleton.from(wire([['a', null, 'm', 'u', 'findings'], ['b', 'a', 'm', 'a']]));
  assert.equal(s.time[1]! - s.time[0]!, 1000);
  assert.equal(s.labels.get(0), 'findings');
});

test('a later page finds parents before it, and what came twice is there once', () => {
  const s = Skeleton.from(wire(branched));
  const page = { ...wire([['e7', null, 'm', 'a'], ['e8', null, 'm', 'u']]), parent: [-2, 0], parentId: { 0: 'e6' } };
  assert.deepEqual(s.append(page), [7]);
  assert.equal(s.n, 8);
  assert.equal(s.parent[7], 6);
  const far = { ...wire([['e9', null, 'm', 'a']]), parent: [-2], parentId: { 0: 'e2' } };
  s.append(far);
  assert.equal(s.parent[8], 1);
});

test('a parent that does not come first makes a root, not a loop', () => {
  const w = wire([['a', null, 'm', 'u'], ['b', null, 'm', 'a']]);
  w.parent = [1, 0];
  const s = Skeleton.from(w);
  assert.deepEqual(s.roots, [0]);
  assert.deepEqual(s.path(1), [0, 1]);
});

test('a hundred thousand entries grow the columns', () => {
  const n = 100_000;
  const s = Skeleton.from({ level: 'all', n, seq: Array.from({ length: n }, (_, i) => i), id: Array.from({ length: n }, (_, i) => `x${i}`), parent: Array.from({ length: n }, (_, i) => i - 1),
    kind: 'm'.repeat(n), role: 'u'.repeat(n), flags: [], bytes: [], time: [], leaf: n - 1 });
  assert.equal(s.path(s.leaf).length, n);
});
