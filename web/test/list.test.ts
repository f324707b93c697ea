import test from 'node:test';
import assert from 'node:assert/strict';
import type { ListItem } from '../src/api/types.ts';
import { Bodies, ranges } from '../src/model/bodies.ts';
import { columns, daysBetween, margin, ticks, topSeries } from '../src/model/chart.ts';
import { age, bytes, duration, modelName, money, project, tokens } from '../src/model/format.ts';
import { keptText } from '../src/model/kept.ts';
import { arranged, byStore, holdStill, listParams, listRows, storeName, threads } from '../src/model/list.ts';
import { formatRoute, parseRoute, takeCode } from '../src/model/route.ts';

const now = Date.parse('2026-11-16T12:00:00');
const item = (id: string, hoursAgo: number, more: Partial<ListItem> = {}): ListItem => {
  const at = new Date(now - hoursAgo * 3600e3).toISOString();
  return {
    id,
    key: id,
    agent: 'pi',
    agentId: null,
    dialect: 'pi',
    store: 's',
    cwd: '/w/a',
    created: at,
    modified: at,
    firstMessage: '',
    size: 0,
    writable: true,
    live: null,
    ...more,
  };
};

test('forks hang below the session they came from, in order of time', () => {
  const items = [
    item('b', 1, { parentSession: 'a' }),
    item('a', 2),
    item('c', 3, { parentSession: 'b' }),
    item('x', 4, { parentSession: 'gone' }),
  ];
  assert.deepEqual(
    threads(items).map((t) => [t.item.id, t.kids.map((k) => k.id)]),
    [
      ['a', ['c', 'b']],
      ['x', []],
    ],
  );
  assert.deepEqual(
    threads([item('b', 1, { parentSession: 'a' }), item('y', 2), item('a', 3)]).map((t) => t.item.id),
    ['a', 'y'],
  );
});

test('a row stands under the day that it shows: an old session does not come to today with a fork', () => {
  const items = [
    item('fork', 1, { parentSession: 'old', cost: 2 }),
    item('again', 2, { parentSession: 'fork' }),
    item('x', 3, { cost: 1 }),
    item('y', 160),
    item('old', 170, { cost: 5 }),
  ];
  const rows = (more: ListItem[]): string[] =>
    listRows(more, { now, days: true, open: new Set(), threads: true }).map((r) =>
      r.is === 'day'
        ? `${r.title} ${r.sessions} ${r.cost}`
        : r.is === 'more'
          ? '+'
          : `${'>'.repeat(r.depth)}${r.item.id}`,
    );
  assert.deepEqual(rows(items), ['Today 3 3', 'fork', '>again', 'x', 'Monday 9 November 2 5', 'y', 'old']);
  // While the list is held, what is written to keeps its place and its day.
  const held = holdStill(
    items,
    items.map((s) => (s.id === 'old' ? { ...s, modified: new Date(now).toISOString() } : s)),
  );
  assert.deepEqual(rows(held.items), rows(items));
});

test('sessions that claim each other as parents are still listed', () => {
  const t = threads([item('a', 1, { parentSession: 'b' }), item('b', 2, { parentSession: 'a' })]);
  assert.equal(t.length + t.reduce((n, x) => n + x.kids.length, 0), 2);
});

test('days have their sums; the third fork is folded', () => {
  const items = [
    item('a', 1, { cost: 1 }),
    ...[1, 2, 3, 4].map((k) => item(`k${k}`, 1 + k / 10, { parentSession: 'a', cost: 0.5 })),
    item('old', 30),
  ];
  const rows = listRows(items, { now, days: true, open: new Set(), threads: true });
  assert.deepEqual(
    rows.map((r) =>
      r.is === 'day' ? `${r.title} ${r.sessions} ${r.cost}` : r.is === 'more' ? `+${r.count}` : r.item.id,
    ),
    ['Today 5 3', 'a', 'k4', 'k3', '+2', 'Yesterday 1 null', 'old'],
  );
  assert.equal(listRows(items, { now, days: true, open: new Set(['a']), threads: true }).length, 8);
});

test('what runs comes first in its day, placed by when it began', () => {
  const live = (hoursAgo: number): Partial<ListItem> => ({
    live: { agent: 'pi', since: new Date(now - hoursAgo * 3600e3).toISOString() },
  });
  assert.deepEqual(
    arranged([item('a', 0, live(50)), item('b', 1), item('c', 2, live(5)), item('d', 30, live(40)), item('e', 31)]).map(
      (s) => s.id,
    ),
    ['c', 'a', 'b', 'd', 'e'],
  );
});

test('under the pointer nothing moves', () => {
  const shown = [item('a', 2), item('b', 3)];
  const held = holdStill(shown, [item('new', 0), item('b', 1), item('a', 2)]);
  assert.deepEqual(
    held.items.map((s) => s.id),
    ['a', 'b'],
  );
  assert.equal(held.waiting, 1);
});

test('addresses there and back', () => {
  for (const a of [
    '/s',
    '/s?q=last-event-id&project=ledger-api',
    '/s/2c5e~ab12',
    '/s/2c5e/e/a91c07e2?l=120-140',
    '/s/2c5e?leaf=root',
    '/s/2c5e/compare/aa...bb',
    '/s/2c5e/agents/agent-1/e/x',
    '/usage?by=model',
  ]) {
    const u = new URL(a, 'http://x.example');
    assert.equal(formatRoute(parseRoute(u.pathname, u.search)), a);
  }
  assert.equal(parseRoute('/nonsense', '').page, 'sessions');
  assert.equal(parseRoute('/s/%zz', '').page, 'session');
  assert.equal(takeCode('#t=abcDEF12_-'), 'abcDEF12_-');
  assert.equal(takeCode('#t=grove_a.b%20'), 'grove_a.b');
  assert.equal(takeCode('#t='), null);
  assert.equal(takeCode('#top'), null);
  assert.equal(listParams(new URLSearchParams('view=expiring&q=a&x=1')).toString(), 'q=a&expiring=7');
});

test('bodies: the least recently used leave first', () => {
  const b = new Bodies(100, 3);
  for (const s of [1, 2, 3]) b.put(s, { type: 'm' }, 30);
  b.get(1);
  b.put(4, { type: 'm' }, 30);
  assert.deepEqual(
    [1, 2, 3, 4].map((s) => b.has(s)),
    [true, false, true, true],
  );
  b.put(5, { type: 'm' }, 90);
  assert.equal(b.size, 1);
  assert.equal(ranges([5, 3, 4, 9, 9]), '3-5,9');
});

test('numbers as people read them', () => {
  assert.equal(tokens(61_000), '61k');
  assert.equal(tokens(9_240), '9.2k');
  assert.equal(tokens(413e6), '413 M');
  assert.equal(money(3.816), '$3.82');
  assert.equal(money(null), '–');
  assert.equal(money(3.816, 0.5), '~$3.82');
  assert.equal(bytes(18_400_000), '18.4 MB');
  assert.equal(duration(112_000), '1 m 52 s');
  assert.equal(age(now - 41 * 60e3, now), '41 min');
  assert.deepEqual(
    [25, 47].map((h) => age(now - h * 3600e3, now)),
    ['1 d', '2 d'],
  );
  assert.equal(modelName('claude-sonnet-4-5-20250929'), 'Sonnet 4.5');
  assert.equal(modelName('claude-3-5-haiku-20241022'), 'Haiku 3.5');
  assert.equal(modelName('gpt-5-codex'), 'gpt-5-codex');
  assert.equal(project('/home/a/ledger-api/'), 'ledger-api');
});

test('charts', () => {
  assert.deepEqual(ticks(11), [0, 3, 6, 9, 12]);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.equal(margin(['$0', '$3']), 44);
  assert.equal(margin(['$0', '$0.00025']), 66);
  const c = columns([{ key: 'd', stack: { a: 1, b: 2 } }], ['b', 'a']);
  assert.deepEqual(
    c[0]!.parts.map((p) => [p.name, p.from]),
    [
      ['b', 0],
      ['a', 2],
    ],
  );
  assert.deepEqual(topSeries([{ stack: { a: 1, b: 5, c: 3, d: 2 } }], 2), { names: ['b', 'c'], rest: ['d', 'a'] });
  assert.deepEqual(topSeries([{ stack: { a: 1, b: 5, c: 3 } }], 2), { names: ['b', 'c', 'a'], rest: [] });
  assert.deepEqual(daysBetween('2026-10-30', '2026-11-01'), ['2026-10-30', '2026-10-31', '2026-11-01']);
});

test('what is kept is small and has no content', () => {
  const seen = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`01a1e374-58a6-75a6-afe0-${i}`, i]));
  const text = keptText({ theme: 'dark', seen });
  assert.ok(text.length <= 4096);
  assert.equal(Object.keys(JSON.parse(text).seen).length, 50);
});

test('stores: what agents write to is this machine, a database is known by its name', () => {
  assert.deepEqual(
    byStore({ 'file:/home/a/.pi/agent/sessions': 3, 'file:/home/a/.claude/projects': 2, 'mysql://db.example/team': 4 }),
    { 'file:': 5, 'mysql://db.example/team': 4 },
  );
  assert.equal(storeName('file:'), 'This machine');
  assert.equal(storeName('mysql://ana@db.example:3306/team?tls=1'), 'team (MariaDB)');
  assert.equal(storeName('sqlite:/srv/notes.db'), 'notes (SQLite)');
  assert.equal(storeName('team'), 'team');
});
