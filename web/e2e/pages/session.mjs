// One session: where it opens, how one moves in it, how its rows look.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { PiSession } from '../corpus.mjs';
import { fresh, moves, page, scenario, settled, text, wait } from '../world.mjs';

scenario('a session opens at its leaf; tree and conversation agree', async (w, s) => {
  const p = await page(w, `/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  await wait(p, () => document.querySelector('.tr.sel, .tr .chip.green'));
  assert.match(await text(p, '.rail-f'), /144 entries · 11 prompts/);
  assert.ok(await p.locator('.leafcard').first().isVisible());
  await p.context().close();
});

scenario('J goes from prompt to prompt', async (w, s) => {
  const p = await page(w, `/s/${s.id}/e/${s.lines[4].id}`);
  await p.waitForSelector('article.on');
  const seen = [];
  for (let i = 0; i < 3; i++) {
    await moves(p, 'J');
    seen.push(await p.locator('.tr.sel .u').innerText());
  }
  assert.deepEqual(
    seen,
    [
      'Show me where the id is dropped',
      'Write down what you found',
      'The dashboard loses events when the laptop sleeps. Make the stream resume from the last event it ' +
        'saw. No polling, and don’',
    ].map((x, i) => (i === 2 ? seen[2] : x)),
  );
  assert.match(seen[2], /^The dashboard loses/);
  await p.context().close();
});

scenario('an entry off the path opens as a preview; the leaf stays', async (w, s) => {
  const off = s.lines.find((l) => l.type === 'message' && JSON.stringify(l).includes('Could we poll every second'));
  const before = readFileSync(w.file(s.id));
  const p = await page(w, `/s/${s.id}/e/${off.id}`);
  await p.waitForSelector('.preview-pill');
  await wait(p, () => [...document.querySelectorAll('.bubble')].some((e) => e.textContent.includes('Could we poll')));
  assert.deepEqual(readFileSync(w.file(s.id)), before);
  const kept = () => p.evaluate(() => JSON.stringify(history.state?.at ?? null));
  const first = await kept();
  await p.locator('.flow').hover();
  await p.mouse.wheel(0, 137);
  await wait(p, (was) => JSON.stringify(history.state?.at ?? null) !== was, first);
  const top = () =>
    p.evaluate(() =>
      [...document.querySelectorAll('.flow article')]
        .filter((a) => {
          const r = a.getBoundingClientRect(),
            f = document.querySelector('.flow').getBoundingClientRect();
          return r.bottom > f.top && r.top < f.bottom;
        })
        .map((a) => `${a.getAttribute('aria-label')} ${Math.round(a.getBoundingClientRect().top)}`),
    );
  const place = await settled(async () => (await top()).join('\n'));
  // The place is kept once nothing has moved for 200 ms.
  for (let was; was !== (was = await kept());) await new Promise((r) => setTimeout(r, 500));
  await p.reload();
  await p.waitForSelector('.preview-pill');
  assert.equal(
    await settled(
      async () => (await top()).join('\n'),
      (now) => now === place,
    ),
    place,
  );
  await p.context().close();
});

scenario(
  'what an address names comes to rest at the top and stays there; what a compaction kept is still in sight',
  async (w, s) => {
    const seam = s.lines.find((l) => l.type === 'compaction'),
      told = JSON.parse(w.run('context', s.id, '--explain', '--json'));
    const p = await page(w, `/s/${s.id}/e/${seam.id}`);
    await wait(p, () => /sees only the last/.test(document.querySelector('article.on .seam')?.textContent ?? ''));
    const top = await settled(() =>
      p.evaluate(() =>
        Math.round(
          document.querySelector('article.on').getBoundingClientRect().top -
            document.querySelector('.flow').getBoundingClientRect().top,
        ),
      ),
    );
    assert.ok(Math.abs(top) <= 1, `${top} pixels from the top`);
    const before = told.explain.filter((e) => /compaction/.test(e.reason) && !e.included).length;
    assert.match(await text(p, 'article.on .seam'), new RegExp(`Compacted\\s+${before} entries, 148k`));
    await p.getByRole('button', { name: 'What was kept' }).click();
    await wait(p, (id) => location.pathname.endsWith(id), seam.firstKeptEntryId);
    await p.keyboard.press('k');
    const faded = await settled(() =>
      p
        .locator('.flow article')
        .evaluateAll((l) => l.map((a) => `${a.querySelector('.hidden-ctx') ? '-' : '+'}`).join('')),
    );
    assert.match(faded, /^-+\++$/);
    assert.ok(
      (await p.locator('article', { hasText: 'Write down what you found' }).locator('.hidden-ctx').count()) === 0,
    );
    await p.context().close();
  },
);

scenario('the branch switcher shows the other attempts', async (w, s) => {
  const p = await page(w, `/s/${s.id}/e/${s.main}`);
  await p.waitForSelector('.forkbar');
  await p.getByRole('button', { name: 'Make it a WebSocket' }).first().click();
  await p.waitForSelector('.preview-pill');
  assert.match(p.url(), /\/e\/[0-9a-f]{8}/);
  await p.context().close();
});

scenario('tool rows open: a diff, terminal colours, the first lines', async (w, s) => {
  const p = await page(w, `/s/${s.id}/e/${s.main}`);
  await p.waitForSelector('.tool-r');
  await p.locator('.tool-r', { hasText: 'edit' }).first().click();
  await p.waitForSelector('.diff .a em');
  await p.locator('.tool-r', { hasText: 'exit 1' }).first().click();
  await p.waitForSelector('.ansi .a-r');
  await p.context().close();
});

scenario('what the tree shows is part of the address, and so is the entry when a panel is opened', async (w, s) => {
  const p = await page(w, `/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  await p.keyboard.press('2');
  await wait(p, () => new URLSearchParams(location.search).get('zoom') === 'turns');
  await p.getByRole('button', { name: 'Filter tree' }).click();
  await p.getByLabel('Errors').check();
  await wait(p, () => new URLSearchParams(location.search).get('show') === 'errors');
  const rows = await settled(() => p.locator('.tr').count());
  await moves(p, 'K');
  const entry = /\/e\/([0-9a-f]{8})/.exec(p.url())[1];
  await moves(p, 'i');
  assert.match(p.url(), new RegExp(`/e/${entry}\\?`));
  for (const part of ['zoom=turns', 'show=errors', 'panel=context']) assert.ok(p.url().includes(part), p.url());
  await p.reload();
  await p.waitForSelector('.insp-p');
  await wait(
    p,
    (n) =>
      document.querySelectorAll('.tr').length === n &&
      document.querySelector('.seg [aria-pressed=true]').textContent === 'Turns',
    rows,
  );
  await p.context().close();
});

scenario('an entry that a later one edits for the model says so, and shows what is stored on demand', async (w) => {
  const s = new PiSession('Edited', '/home/ana/scratch', Date.now() - 5400e3);
  s.user('first prompt');
  const kept = s.say('The long answer that was stored.'),
    gone = s.say('An answer that was taken out.');
  s.add('context_edit', { targetId: kept, replacement: { content: 'The short one.' } });
  s.add('context_edit', { targetId: gone, replacement: null });
  s.user('second prompt');
  s.say('last answer');
  s.write(w.root);
  const p = await page(w, `/s/${s.id}`);
  await wait(p, () => document.querySelectorAll('.edited').length === 2);
  assert.match(
    await text(p, '.flow'),
    /The model sees this instead: “The short one\.”[\s\S]*The model no longer sees this: a later edit took it out/,
  );
  assert.doesNotMatch(await text(p, '.flow'), /The long answer/);
  await p.getByRole('button', { name: 'Show what is stored' }).first().click();
  await wait(p, () => /The long answer that was stored/.test(document.querySelector('.flow').textContent));
  assert.deepEqual(await p.locator('.tr .u').allInnerTexts(), [
    'first prompt',
    '2 steps',
    'second prompt',
    'last answer',
  ]);
  await p.context().close();
});

scenario(
  'fifty prompts by J in 30,000 entries, then to 10 %: text soon after rest, nothing white on the way',
  async (w, s, all) => {
    const p = await page(w, '/s');
    const prompts = all.big.lines.filter(
      (l) => l.message?.role === 'user' && l.message.content[0].text.startsWith('Prompt'),
    );
    await p.goto(`${w.base}/s/${all.big.id}/e/${prompts[100].id}`);
    await p.waitForSelector('article.on');
    await wait(
      p,
      () =>
        !/Not all of it/.test(document.querySelector('.rail-f').textContent) &&
        document.querySelectorAll('.tr').length > 10,
    );
    const text0 = (id) => all.big.lines.find((l) => l.id === id).message;
    const seen = [];
    for (let k = 0; k < 50; k++) {
      await moves(p, 'J');
      seen.push(/\/e\/([0-9a-f]{8})/.exec(p.url())[1]);
    }
    assert.equal(new Set(seen).size, 50);
    assert.ok(seen.every((id) => text0(id).role === 'user'));
    await wait(
      p,
      (t) => document.querySelector('article.on')?.textContent.includes(t),
      text0(seen.at(-1)).content[0].text.slice(0, 30),
    );
    // Each frame of a drag to 10 %: at every height of the list there is a row, and it says something.
    const white = await p.evaluate(
      () =>
        new Promise((done) => {
          const f = document.querySelector('.flow'),
            box = f.getBoundingClientRect(),
            from = f.scrollTop,
            to = f.scrollHeight * 0.1,
            bad = [];
          let k = 0;
          const step = () => {
            for (let y = box.top + 20; y < box.bottom - 60; y += 60) {
              const row = document.elementFromPoint(box.left + box.width / 2, y)?.closest('article, .follow, .flow-in');
              if (!row || (row.tagName === 'ARTICLE' && !row.textContent.trim() && !row.querySelector('.wait')))
                bad.push(`${k}: ${y}`);
            }
            if (k++ < 40) {
              f.scrollTop = from + ((to - from) * k) / 40;
              requestAnimationFrame(step);
            } else done(bad);
          };
          requestAnimationFrame(step);
        }),
    );
    assert.deepEqual(white, []);
    await wait(
      p,
      () =>
        !document.querySelector('.flow .wait') &&
        document.querySelectorAll('.flow .tool-r, .flow .bubble p').length > 3,
    );
    await p.context().close();
  },
);

scenario('states: loading, nothing found with the nearest word, damaged, not rendered', async (w, s, all) => {
  for (
    let k = 0;
    k < 200 && (await (await fetch(`${w.api}/api/v1/search?q=replay`)).json()).index.state !== 'ready';
    k++
  )
    await new Promise((r) => setTimeout(r, 100));
  const q = await page(w, '/s?q=websoket');
  await wait(q, () =>
    /No results for “websoket”[\s\S]*Did you mean websocket\?/.test(
      document.querySelector('.empty')?.textContent ?? '',
    ),
  );
  await q.locator('.empty a.go').click();
  await q.waitForSelector('.hit mark');
  // An answer that takes its time: grey bars, then what was asked for.
  let go;
  const later = new Promise((r) => {
    go = r;
  });
  await q.route(
    (u) => u.pathname === '/api/v1/sessions',
    async (r) => {
      await later;
      await r.continue();
    },
  );
  await q.goto(`${w.base}/s`);
  await q.waitForSelector('.main .bars .sk');
  assert.equal(await q.locator('.main .row, .main .empty').count(), 0);
  go();
  await q.waitForSelector('.row');
  assert.equal(await q.locator('.bars').count(), 0);
  await q.context().close();
  const broken = fresh(w, 'Half a file');
  appendFileSync(w.file(broken.id), '{"type":"message","id":\nnot json at all\n{"type":"mess');
  const p = await page(w, `/s/${broken.id}`);
  await p.waitForSelector('.band.red');
  assert.match(
    await text(p, '.band.red'),
    new RegExp(
      `3 lines are not JSON, and the last one is cut off\\. They are kept and skipped\\.\\s*grove check ` +
        `--fix --dry-run ${broken.id.slice(0, 8)}`,
    ),
  );
  assert.match(await text(p, '.flow'), /last answer/);
  const hostile = new PiSession('Not rendered', '/home/ana/scratch', Date.now() - 9e6);
  hostile.user('<img src=x onerror=alert(1)>\n\n[click](javascript:alert(1))');
  hostile.say('<div onclick="alert(1)">\nblock\n</div>');
  hostile.write(w.root);
  await p.goto(`${w.base}/s/${hostile.id}`);
  await wait(
    p,
    () =>
      /HTML shown as text/.test(document.querySelector('.flow')?.textContent ?? '') &&
      /link not followed/.test(document.querySelector('.flow').textContent),
  );
  assert.equal(await p.locator('.flow img, .flow a[href^=javascript]').count(), 0);
  await p.context().close();
});

scenario('30,000 entries and 400 branches: the leaf in view, under 3 MB', async (w, s, all) => {
  const p = await page(w, '/s');
  await p.waitForSelector('.row');
  let bytes = 0;
  p.on('response', (r) => {
    if (r.url().includes('/api/'))
      void r.body().then(
        (b) => {
          bytes += b.length;
        },
        () => undefined,
      );
  });
  await p.goto(`${w.base}/s/${all.big.id}`);
  await p.waitForSelector('.leafcard', { timeout: 30_000 });
  await wait(p, () => document.querySelector('.flow').textContent.includes('The end of a long session'));
  // The figures of the header come last.
  await wait(
    p,
    () =>
      /\d/.test(document.querySelector('.meter .num').textContent) &&
      /\$/.test(document.querySelector('.sh .sub').textContent),
  );
  assert.ok(bytes < 3e6, `${bytes} bytes`);
  const nodes = await p.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await p.locator('.flow').evaluate((e) => {
    e.scrollTop = e.scrollHeight * 0.1;
  });
  await wait(p, () => document.querySelectorAll('.flow .tool-r, .flow .bubble p').length > 3);
  await p.context().close();
});
