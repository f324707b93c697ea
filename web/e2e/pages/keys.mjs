// Keys, the palette, and what a screen reader is told.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { showpiece } from '../corpus.mjs';
import { frames, fresh, moves, page, poll, scenario, settled, wait, World } from '../world.mjs';

const ROW_LABEL =
  /^(You|Assistant|Compacted|Workers|Tool|Change|Leaf|Not shown|Summary of a branch)(, \d+:\d\d(, .+)?)?$/s;

// Where the keyboard is can be seen: the focused element is on screen and has its ring.
async function focusSeen(p, where) {
  const f = await p.evaluate(() => {
    const e = document.activeElement,
      r = e.getBoundingClientRect(),
      c = getComputedStyle(
        e.tagName === 'INPUT'
          ? e.closest('.field')
          : e.tagName === 'ARTICLE'
            ? e.querySelector('.bd, .seam-row > div:last-child')
            : e,
      );
    return {
      is: `${e.tagName}.${e.className}`,
      ring:
        e.matches(':focus-visible') &&
        ((c.outlineStyle !== 'none' && parseFloat(c.outlineWidth) >= 2) || c.boxShadow !== 'none'),
      seen: r.width > 0 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth,
    };
  });
  assert.ok(f.ring && f.seen, `${where}: ${JSON.stringify(f)}`);
}

scenario('palette and help', async (w) => {
  const p = await page(w, '/s');
  await p.waitForSelector('.row');
  await p.keyboard.press('Control+k');
  await p.waitForSelector('.pal [role=option]');
  await p.keyboard.type('tunnel');
  await wait(p, () => /Tunnel/.test(document.querySelector('.pal [aria-selected=true]')?.textContent ?? ''));
  await p.keyboard.press('Enter');
  await p.waitForSelector('.leafcard');
  await p.keyboard.press('?');
  await p.waitForSelector('.help');
  await p.keyboard.press('Escape');
  await wait(p, () => !document.querySelector('dialog[open]'));
  await p.context().close();
});

scenario('every key of the help does what it says, and single letters can be switched off', async (w) => {
  const s = showpiece(Date.now() - 60 * 3600e3);
  s.write(w.root);
  const p = await page(w, '/s', { context: { permissions: ['clipboard-write'] } });
  await p.addInitScript(() => {
    const c = navigator.clipboard,
      write = c.writeText.bind(c);
    c.writeText = (t) => {
      window.copied = t;
      return write(t);
    };
  });
  await p.goto(`${w.base}/s/${s.id}/e/${s.main}?q=replay`);
  const has = (css) => p.waitForSelector(css),
    lacks = (css) => wait(p, (c) => !document.querySelector(c), css),
    press = (k) => p.keyboard.press(k);
  await has('article.on');
  await has('.tr.found');
  await press('[');
  await lacks('.rail');
  await press('[');
  await has('.rail');
  for (const [k, tab] of [
    ['i', 'Context'],
    ['r', 'Raw'],
  ]) {
    await press(k);
    await wait(p, (t) => document.querySelector('.insp-p [aria-selected=true]')?.textContent === t, tab);
  }
  await press('r');
  await lacks('.insp-p');
  await press(']');
  await has('.insp-p');
  await press('Escape');
  await lacks('.insp-p');
  const theme = await p.evaluate(() => document.documentElement.dataset.theme);
  await press('t');
  await wait(p, (t) => document.documentElement.dataset.theme !== t, theme);
  await press('O');
  await has('.tool-x');
  await press('O');
  await lacks('.tool-x');
  await moves(p, 'j');
  const article = () => p.evaluate(() => location.pathname.split('/e/')[1]);
  const one = await article();
  await press('y');
  await wait(p, () => /Link copied/.test(document.querySelector('.notice').textContent));
  assert.equal(await p.evaluate(() => window.copied), `${w.base}/s/${s.id}/e/${one}`);
  await moves(p, 'n');
  const hit = await article();
  await moves(p, 'n');
  await moves(p, 'N');
  assert.equal(await article(), hit);
  await p.goto(`${w.base}/s/${s.id}/e/${s.main}`);
  await has('article.on');
  await press('Y');
  await wait(p, () => /Text copied/.test(document.querySelector('.notice').textContent));
  assert.match(await p.evaluate(() => window.copied), /^The dashboard loses events/);
  await moves(p, 'l');
  await has('.preview-pill');
  await moves(p, 'j');
  await moves(p, 'u');
  await press('Escape');
  await lacks('.preview-pill');
  await press('f');
  await has('.leafcard');
  for (const [k, name] of [
    ['3', 'All'],
    ['2', 'Turns'],
    ['1', 'Prompts'],
  ]) {
    await press(k);
    await wait(p, (t) => document.querySelector('.rail .seg [aria-pressed=true]').textContent === t, name);
  }
  // The tree: arrows, ends, the first letter, all folds.
  await wait(p, () => [...document.querySelectorAll('.tr')].some((e) => /steps/.test(e.textContent)));
  await settled(() => p.evaluate(() => document.querySelector('.tree').innerText));
  await p.locator('.tree').focus();
  await p.keyboard.press('Home');
  await wait(p, () => /Why do dashboards/.test(document.querySelector('.tr.sel')?.textContent ?? ''));
  await p.keyboard.press('ArrowDown');
  await wait(p, () => /steps/.test(document.querySelector('.tr.sel')?.textContent ?? ''));
  await p.keyboard.type('Write');
  await wait(p, () => /Write down/.test(document.querySelector('.tr.sel')?.textContent ?? ''));
  await p.keyboard.press('End');
  await wait(p, () => document.querySelector('.tr.sel .chip.green'));
  await p.locator('.flow').focus();
  await press('g');
  await press('s');
  await has('.row');
  await press('j');
  await has('.row.on');
  const [tab] = await Promise.all([p.context().waitForEvent('page'), press('o')]);
  await tab.waitForSelector('.leafcard');
  await tab.close();
  await press('?');
  await has('.help');
  await p.getByLabel('Single letters act').uncheck();
  await press('Escape');
  await lacks('dialog[open]');
  await press('t');
  await press('g');
  await press('u');
  await frames(p);
  assert.match(p.url(), /\/s$/);
  assert.notEqual(await p.evaluate(() => document.documentElement.dataset.theme), theme);
  await press('Control+k');
  await has('.pal [role=option]');
  await p.context().close();
});

scenario(
  'what a screen reader is told: landmarks, a feed with places, a tree with levels; with reduced motion nothing moves',
  async (w, s) => {
    const p = await page(w, `/s/${s.id}/e/${s.main}?panel=context`);
    await p.waitForSelector('article.on');
    await p.waitForSelector('.mg');
    const told = await p.evaluate(() => ({
      landmarks: ['header', 'nav', 'main', 'aside'].map((t) => document.querySelectorAll(t).length),
      feed: [...document.querySelectorAll('[role=feed] article')].map((a) => [
        a.getAttribute('aria-label'),
        Number(a.ariaPosInSet),
        Number(a.ariaSetSize),
      ]),
      tree: [...document.querySelectorAll('[role=tree] [role=treeitem]')].map((a) => [
        Number(a.ariaLevel),
        Number(a.ariaPosInSet),
        Number(a.ariaSetSize),
      ]),
      folds: [...document.querySelectorAll('.tool-r')].every(
        (b) => b.tagName === 'BUTTON' && b.hasAttribute('aria-expanded'),
      ),
      unnamed: [...document.querySelectorAll('button, a[href], input, select, [role=img]')]
        .filter(
          (e) =>
            !(e.textContent.trim() || e.ariaLabel || e.title || e.labels?.length || e.querySelector('img[alt]')?.alt),
        )
        .map((e) => e.outerHTML.slice(0, 80)),
      moving: [...document.querySelectorAll('*')].filter((e) => {
        const c = getComputedStyle(e);
        return parseFloat(c.transitionDuration) > 0 || c.animationName !== 'none';
      }).length,
    }));
    assert.ok(
      told.landmarks.every((n) => n >= 1),
      String(told.landmarks),
    );
    const places = told.feed.map(([, k]) => k),
      size = told.feed[0][2];
    assert.deepEqual(
      places,
      Array.from(places, (_, k) => places[0] + k),
    );
    assert.ok(
      told.feed.every(([label, k, n]) => ROW_LABEL.test(label) && k <= n && n === size),
      JSON.stringify(told.feed),
    );
    assert.ok(told.feed.some(([label]) => /^You, .*The dashboard loses events/.test(label)));
    assert.ok(
      told.tree.length > 10 &&
        told.tree.every(([level, k, n]) => level >= 1 && k >= 1 && k <= n) &&
        told.tree.some(([level]) => level > 1),
    );
    assert.deepEqual([told.folds, told.unnamed, told.moving], [true, [], 0]);
    await p.context().close();
  },
);

scenario(
  'keyboard alone: list, session, branch, label, compare, usage; where it is can be seen all the way',
  async () => {
    const w = new World();
    const s = showpiece(Date.now());
    s.write(w.root);
    fresh(w, 'Another one');
    await w.serve();
    const p = await page(w, '/s');
    const press = (...keys) => keys.reduce((before, k) => before.then(() => p.keyboard.press(k)), Promise.resolve());
    await p.waitForSelector('.row');
    await press('/');
    await p.keyboard.type('resume event');
    await wait(
      p,
      () =>
        /Resume event streams/.test(document.querySelector('.row .name')?.textContent ?? '') &&
        document.querySelectorAll('.row').length === 1,
    );
    await focusSeen(p, 'search');
    await press('Escape', 'j');
    await wait(p, () => /Resume event streams/.test(document.querySelector('.row.on .name')?.textContent ?? ''));
    await wait(p, () => document.activeElement?.classList.contains('row'));
    await focusSeen(p, 'list');
    await press('Enter');
    await p.waitForSelector('.leafcard');
    await wait(p, () => document.querySelectorAll('.flow article .bd').length > 2);
    for (const k of ['K', 'K']) {
      await moves(p, k);
      await wait(p, () => document.activeElement?.tagName === 'ARTICLE');
      await focusSeen(p, 'prompt');
    }
    await moves(p, 'h');
    await p.waitForSelector('.preview-pill');
    const branch = /\/e\/([0-9a-f]{8})/.exec(p.url())[1];
    await press('b');
    await p.waitForSelector('dialog[open] input');
    await focusSeen(p, 'label');
    await p.keyboard.type('by hand');
    await press('Enter');
    await wait(p, () => [...document.querySelectorAll('.chip.tag')].some((e) => e.textContent === 'by hand'));
    await poll(() => readFileSync(w.file(s.id), 'utf8').includes('"by hand"'));
    await press('m', 'Escape');
    await wait(p, () => !document.querySelector('.preview-pill'));
    await moves(p, 'k');
    await wait(p, () => document.activeElement?.tagName === 'ARTICLE');
    await focusSeen(p, 'entry');
    await moves(p, 'm');
    await p.waitForSelector('.cmp-h');
    assert.match(p.url(), new RegExp(`/compare/${branch}\\.\\.\\.`));
    await press('Tab');
    await focusSeen(p, 'compare');
    await press('g', 'u');
    await p.waitForSelector('.kpis');
    await press('Tab');
    await focusSeen(p, 'usage');
    await p.context().close();
    await w.close();
  },
);
