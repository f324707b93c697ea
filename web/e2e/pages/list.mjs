// The list of sessions.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { many, PiSession } from '../corpus.mjs';
import { frames, now, page, scenario, text, wait, World } from '../world.mjs';

scenario('the list opens and is filtered by typing', async (w) => {
  const p = await page(w, '/s');
  await p.waitForSelector('.row');
  assert.equal((await p.locator('.row').count()) > 10, true);
  await p.keyboard.press('/');
  await p.keyboard.type('flaky');
  await wait(
    p,
    () =>
      [...document.querySelectorAll('.row .name')].some((e) => e.textContent.includes('Flaky checkout')) &&
      document.querySelectorAll('.row').length < 5,
  );
  assert.match(p.url(), /q=flaky/);
  await p.context().close();
});

scenario('a thousand sessions of four agents: no row moves under the pointer while ten grow', async () => {
  const w = new World(true);
  const grown = many(w.home, Date.now());
  await w.serve();
  const p = await page(w, '/s');
  await p.waitForSelector('.row');
  await wait(p, () => document.querySelectorAll('.side .glyph').length === 4);
  await p.locator('.row').nth(3).hover();
  const rows = () =>
    p
      .locator('.row')
      .evaluateAll((r) => r.slice(0, 12).map((x) => `${x.dataset.key} ${Math.round(x.getBoundingClientRect().top)}`));
  const before = await rows();
  // The list hears of them and asks again.
  const told = p.waitForResponse((r) => /\/api\/v1\/sessions\?/.test(r.url()));
  for (const s of grown) {
    s.user('one more');
    appendFileSync(w.file(s.id), JSON.stringify(s.lines.at(-1)) + '\n');
  }
  await told;
  await frames(p);
  assert.deepEqual(await rows(), before);
  await p.keyboard.press('/');
  await p.keyboard.type('led');
  await wait(
    p,
    () =>
      [...document.querySelectorAll('.row')].length > 0 &&
      [...document.querySelectorAll('.row')].every((r) => /led/i.test(r.textContent)),
  );
  await p.context().close();
  await w.close();
});

scenario('forks hang below their session, in order of time', async (w) => {
  const p = await page(w, '/s');
  await p.waitForSelector('.row.kid');
  const names = await p
    .locator('.row')
    .evaluateAll((rows) =>
      rows.slice(0, 3).map((r) => `${r.classList.contains('kid')} ${r.querySelector('.name')?.textContent}`),
    );
  assert.deepEqual(names, [
    'false Resume event streams by rev',
    'true Byte-capped replay buffer',
    'true Replay buffer in shared memory',
  ]);
  await p.context().close();
});

scenario('a row stands under the day that it shows: a fork of today does not bring its old session along', async () => {
  const w = new World();
  const old = new PiSession('Begun last week', '/home/ana/ops', now - 8 * 864e5),
    today = [];
  old.user('first prompt');
  old.say('an answer');
  const path = old.write(w.root);
  for (const [k, name] of ['Forked today', 'Forked again'].entries()) {
    const s = new PiSession(name, '/home/ana/ops', now - (60 - k * 10) * 60e3, { parent: today[0] ?? path });
    s.user('once more');
    today.push(s.write(w.root));
  }
  await w.serve();
  const p = await page(w, '/s');
  await wait(p, () => document.querySelectorAll('.row').length === 3);
  const rows = await p
    .locator('.vlist > li')
    .evaluateAll((l) =>
      l.map(
        (li) =>
          li.querySelector('.day')?.firstChild.textContent ??
          `${li.querySelector('.kid') ? '> ' : ''}${li.querySelector('.name').textContent}`,
      ),
    );
  assert.deepEqual([rows.slice(1, 3), rows.slice(4)], [['Forked today', '> Forked again'], ['Begun last week']]);
  assert.match(rows[3], /^\w+day \d+ \w+$/);
  assert.equal(await p.locator('.row .forked').getAttribute('title'), 'Forked from Begun last week');
  await p.context().close();
  await w.close();
});

scenario('the list in other orders, and the counts of what a filter leaves out', async (w) => {
  const p = await page(w, '/s?sort=cost');
  await wait(p, () => document.querySelectorAll('.row').length > 8);
  const costs = (await p.locator('.row .c-cost').allInnerTexts()).map((t) =>
    t.startsWith('<') ? 0.005 : Number(t.replace(/[^\d.]/g, '')) || 0,
  );
  assert.deepEqual(
    costs,
    [...costs].sort((a, b) => b - a),
  );
  await p.locator('select[aria-label=Order]').selectOption('size');
  await wait(
    p,
    () =>
      /sort=size/.test(location.search) &&
      document.querySelectorAll('.row').length > 8 &&
      !document.querySelector('.row.kid'),
  );
  const all = Object.fromEntries(
    await p
      .locator('.side a')
      .evaluateAll((l) => l.map((a) => [a.querySelector('.trunc').textContent, a.querySelector('.n').textContent])),
  );
  await p.locator('.side a', { hasText: 'storefront' }).click();
  await wait(
    p,
    () =>
      document.querySelectorAll('.row').length &&
      [...document.querySelectorAll('.row .proj')].every((x) => x.textContent === 'storefront'),
  );
  const some = Object.fromEntries(
    await p
      .locator('.side a')
      .evaluateAll((l) => l.map((a) => [a.querySelector('.trunc').textContent, a.querySelector('.n').textContent])),
  );
  for (const project of ['ledger-api', 'storefront', 'ops']) assert.equal(some[project], all[project], project);
  assert.equal(some['All sessions'], all['storefront']);
  await p.context().close();
});

scenario('nothing there: it says where grove looks', async () => {
  const other = new World();
  await other.serve();
  const p = await page(other, '/s');
  await p.waitForSelector('.empty');
  assert.match(await text(p, '.empty'), /No sessions yet/);
  const q = await page(other, '/s/no-such-session', { expect: /status of 404/ });
  await q.waitForSelector('.empty');
  assert.match(await text(q, '.empty'), /There is no such session/);
  await p.context().close();
  await q.context().close();
  await other.close();
});
