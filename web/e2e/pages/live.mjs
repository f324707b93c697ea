// What happens while a session is open: an agent writes, tabs share a stream, the server goes away.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import {
  browser,
  frames,
  fresh,
  long,
  NO_ANSWER,
  page,
  poll,
  scenario,
  settled,
  text,
  wait,
  World,
} from '../world.mjs';

scenario('entries that an agent writes appear; the place does not move', async (w) => {
  const s = fresh(w, 'Alive', 30);
  const p = await page(w, `/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  const top = () =>
    p.evaluate(() => {
      const f = document.querySelector('.flow').getBoundingClientRect();
      const a = [...document.querySelectorAll('.flow article')].find(
        (x) => x.getBoundingClientRect().bottom > f.top + 40,
      );
      return `${a.getAttribute('aria-label')} ${Math.round(a.getBoundingClientRect().top)}`;
    });
  await settled(top);
  await p.locator('.flow').hover();
  await p.mouse.wheel(0, -1200);
  const before = await settled(top, (now) => /answer/.test(now));
  for (let k = 0; k < 3; k++) {
    s.user(`live ${k}`);
    appendFileSync(w.file(s.id), JSON.stringify(s.lines.at(-1)) + '\n');
  }
  await wait(p, () => /3 new entries/.test(document.querySelector('.follow')?.textContent ?? ''), null, 20_000);
  assert.equal(await top(), before);
  await p.keyboard.press('f');
  await wait(p, () => [...document.querySelectorAll('.bubble')].some((e) => e.textContent.includes('live 2')));
  w.run('label', s.id, s.lines.at(-1).id, 'from outside');
  await wait(p, () => [...document.querySelectorAll('.hd .chip.tag')].some((e) => e.textContent === 'from outside'));
  await p.context().close();
});

scenario(
  `an agent writes 20 entries a second for ${long ? 'a minute' : 'four seconds'}: the place stays, nothing is lost`,
  async (w) => {
    const s = fresh(w, 'Busy', 30);
    const p = await page(w, `/s/${s.id}`);
    await p.waitForSelector('.leafcard');
    const top = () =>
      p.evaluate(() => {
        const f = document.querySelector('.flow').getBoundingClientRect();
        const a = [...document.querySelectorAll('.flow article')].find(
          (x) => x.getBoundingClientRect().bottom > f.top + 40,
        );
        return `${a.dataset.row} ${a.getBoundingClientRect().top}`;
      });
    await settled(top);
    const entries = s.lines.length - 1,
      least = long ? 1200 : 80;
    let count = 0,
      enough = false;
    const done = new Promise((end) => {
      const t = setInterval(() => {
        s.user(`busy ${count++}.`);
        appendFileSync(w.file(s.id), JSON.stringify(s.lines.at(-1)) + '\n');
        if (enough && count >= least) {
          clearInterval(t);
          end();
        }
      }, 50);
    });
    await poll(() => count >= (long ? 200 : 20), 400);
    await p.mouse.move(900, 500);
    await p.mouse.wheel(0, -900);
    const place = await settled(top);
    await p.waitForSelector('.follow').finally(() => {
      enough = true;
    });
    await done;
    await wait(
      p,
      (n) => document.querySelector('.rail-f').textContent.startsWith(`${n.toLocaleString('en')} entries`),
      entries + count,
    );
    await frames(p);
    assert.equal(await top(), place);
    assert.match(await text(p, '.follow'), /\d+ new entries/);
    await p.locator('.flow').focus();
    await p.keyboard.press('f');
    await wait(p, (last) => document.querySelector('.flow').textContent.includes(`busy ${last}.`), count - 1);
    // A move upwards lets go of the end; then each once, in order, from there to the first.
    const atEnd = await p.locator('.flow').evaluate((e) => e.scrollTop);
    await p.mouse.wheel(0, -60);
    await wait(p, (t) => document.querySelector('.flow').scrollTop < t, atEnd);
    const seen = [];
    for (let k = 0; k < 40 + count && seen[0] !== 0; k++) {
      const now = await p
        .locator('.flow .bubble')
        .evaluateAll((b) =>
          b.map((x) => Number(/^busy (\d+)\.$/.exec(x.textContent)?.[1] ?? -1)).filter((x) => x >= 0),
        );
      assert.deepEqual(
        now,
        [...new Set(now)].sort((a, b) => a - b),
      );
      seen.unshift(...now.filter((x) => !seen.includes(x)));
      // The first that is there goes to the lower edge: what is above it cannot be jumped over.
      await p.locator('.flow').evaluate((e) => {
        const first = [...e.querySelectorAll('article')].find((a) =>
          /^busy/.test(a.querySelector('.bubble')?.textContent ?? ''),
        );
        e.scrollTop -= Math.max(40, e.getBoundingClientRect().bottom - first.getBoundingClientRect().bottom);
      });
      await frames(p);
      await wait(p, () => !document.querySelector('.flow .wait'));
    }
    assert.deepEqual(
      seen,
      Array.from({ length: count }, (_, k) => k),
    );
    await p.context().close();
  },
);

scenario('seven tabs have one stream; it goes on when the leading tab is closed', async (w) => {
  const s = fresh(w, 'In seven tabs');
  const context = await browser.newContext();
  const open = new Set();
  context.on('request', (r) => {
    if (r.url().includes('/events?')) open.add(r);
  });
  for (const over of ['requestfinished', 'requestfailed']) context.on(over, (r) => open.delete(r));
  context.on('page', (p) =>
    p.on('close', () => {
      for (const r of open) if (r.frame().page() === p) open.delete(r);
    }),
  );
  const tabs = [];
  for (let k = 0; k < 7; k++) {
    const p = await context.newPage();
    await p.goto(`${w.base}/s/${s.id}`);
    await p.waitForSelector('.leafcard');
    tabs.push(p);
  }
  await poll(() => open.size === 1);
  const say = async (list, words) => {
    s.user(words);
    appendFileSync(w.file(s.id), JSON.stringify(s.lines.at(-1)) + '\n');
    for (const p of list) await wait(p, (x) => document.querySelector('.flow').textContent.includes(x), words);
  };
  await say(tabs, 'heard by seven');
  await tabs.shift().close();
  await poll(() => open.size === 1);
  await say(tabs, 'heard by six');
  assert.equal(open.size, 1);
  await context.close();
});

scenario('the server goes away: what is shown stays, acting is off', async (w) => {
  const other = new World();
  const s = fresh(other, 'Left alone');
  await other.serve();
  const p = await page(other, `/s/${s.id}`, { expect: NO_ANSWER });
  await wait(p, () => document.querySelector('.flow')?.textContent.includes('last answer'));
  await p.waitForSelector('.conn .dot.live');
  other.server.kill('SIGKILL');
  await p.waitForSelector('.band.amber', { timeout: 20_000 });
  assert.match(
    await text(p, '.band.amber'),
    /The server does not answer\. What you see is from .*Trying again( in \d+ s)?\. You can keep reading/,
  );
  assert.match(await text(p, '.flow'), /last answer/);
  assert.equal(await p.getByRole('button', { name: 'Continue', exact: true }).count(), 0);
  await p.context().close();
  await other.close();
});
