// Search: in all sessions, in a project, in one session.
import assert from 'node:assert/strict';
import { page, scenario, text, wait } from '../world.mjs';

scenario('a search within a project finds its passages, and only those', async (w, s) => {
  const p = await page(w, '/s?q=checkout&project=storefront');
  await p.waitForSelector('.results .hit');
  assert.deepEqual([...new Set(await p.locator('.results .row .proj').allTextContents())], ['storefront']);
  await p.goto(`${w.base}/s?q=checkout&project=ops`);
  await wait(p, () => /No results for/.test(document.querySelector('.empty')?.textContent ?? ''));
  await p.context().close();
});

scenario('what stores that do not answer hold is said to be missing: in the list, in search, in usage', async (w) => {
  const p = await page(w, '/s');
  await p.waitForSelector('.row');
  assert.equal(await p.locator('.band').count(), 0);
  let away = ['mysql://ana:secret@db.example:3306/team', 'sqlite:/srv/notes.db'];
  for (const path of ['sessions', 'search', 'usage'])
    await p.route(
      (u) => u.pathname === `/api/v1/${path}`,
      async (r) => {
        const a = await r.fetch();
        await r.fulfill({ response: a, json: { ...(await a.json()), ...(away.length ? { away } : {}) } });
      },
    );
  for (const url of ['/s', '/s?q=replay', '/s?q=zzzyyyxxx', '/usage?range=all']) {
    await p.goto(w.base + url);
    await p.waitForSelector('.row, .hit, .kpis, .empty');
    await wait(
      p,
      () =>
        document.querySelector('.band.amber')?.textContent ===
        'team (MariaDB) and notes (SQLite) do not answer. What they hold is missing here.',
    );
    assert.equal(await p.locator('.band').count(), 1, url);
    assert.doesNotMatch(await p.locator('.band').getAttribute('title'), /secret/);
  }
  away = away.slice(0, 1);
  await p.goto(`${w.base}/s`);
  await wait(
    p,
    () =>
      document.querySelector('.band.amber')?.textContent ===
      'team (MariaDB) does not answer. What it holds is missing here.',
  );
  await p.context().close();
});

scenario('search: passages say where they stand', async (w) => {
  const p = await page(w, '/s?q=websocket');
  await p.waitForSelector('.hit mark');
  assert.match(await p.locator('.results').innerText(), /other branch/);
  const marks = await p.locator('.hit mark').allInnerTexts();
  for (const m of marks) assert.equal(m.toLowerCase(), 'websocket');
  await p.locator('.hit').first().click();
  await p.waitForSelector('article.on');
  await p.context().close();
});

scenario('passages of one session are marked in its tree; lines of an entry have an address', async (w, s) => {
  const p = await page(w, `/s/${s.id}?q=replay`);
  await p.waitForSelector('.rail .ticks i');
  await p.waitForSelector('.tr.found');
  const result = s.lines.find(
    (l) => l.message?.role === 'toolResult' && l.message.content[0].text.split('\n').length > 8,
  );
  await p.goto(`${w.base}/s/${s.id}/e/${result.id}?l=3-5`);
  await p.waitForSelector('.lines-of .on');
  assert.equal(await p.locator('.lines-of .on').count(), 3);
  assert.match(await text(p, '.lines-of .on'), /^\s+3  /);
  await p.context().close();
});
