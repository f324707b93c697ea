// Pictures of every page in light, dark and on a phone, from sessions made for it.
// node shots.mjs [--grove PROGRAM] [--front] OUT [NAME...]
// --front serves web/dist beside the program, for a program that was built without the viewer.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from './browser.mjs';
import { gallery } from './corpus.mjs';
import { front } from './front.mjs';
import { terminal } from './terminal.mjs';

const args = process.argv.slice(2);
const grove = args[0] === '--grove' ? args.splice(0, 2)[1] : new URL('../../build/grove', import.meta.url).pathname;
const fronted = args[0] === '--front' && !!args.shift();
const [out, ...names] = args;
mkdirSync(out, { recursive: true });

const home = mkdtempSync(join(tmpdir(), 'grove-shots-'));
const now = Date.now();
const { main } = gallery(home, now);
const agent = openSync(main.path, 'a'); // an agent that has it open
const port = await new Promise((done) => {
  const s = createServer().listen(0, '127.0.0.1', () => {
    const { port: p } = s.address();
    s.close(() => done(p));
  });
});
const server = spawn(grove, ['serve', '--quiet', '--listen', `127.0.0.1:${port}`], {
  stdio: 'ignore',
  env: {
    ...process.env,
    HOME: home,
    PI_CODING_AGENT_DIR: '',
    CLAUDE_CONFIG_DIR: '',
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_RUNTIME_DIR: '',
    TZ: 'UTC',
  },
});
let base = `http://127.0.0.1:${port}`;
for (let i = 0; i < 200; i++) {
  try {
    if ((await fetch(`${base}/api/v1/health`)).ok) break;
  } catch {
    await new Promise((r) => setTimeout(r, 50));
  }
}

const before = fronted ? await front(0, port) : null;
if (before) base = `http://127.0.0.1:${before.address().port}`;

const wide = [1440, 900],
  phone = [390, 844];
const other = main.lines.find((l) => JSON.stringify(l).includes('port 7070 is taken by the metrics agent')).id;
const batch = main.lines.find((l) => l.type === 'subagent_batch').id;
const at = `/s/${main.id}/e/${main.seam}`;
const pages = {
  sessions: '/s',
  search: '/s?q=last-event-id&project=ledger-api',
  session: at,
  context: `/s/${main.id}?panel=context`,
  workers: `/s/${main.id}/e/${batch}`,
  compare: `/s/${main.id}/compare/${main.leaf}...${other}`,
  usage: '/usage',
};
const all = {};
for (const [n, url] of Object.entries(pages)) {
  all[n] = [url, wide, 'light'];
  all[`${n}-dark`] = [url, wide, 'dark'];
}
for (const [n, url] of Object.entries({
  sessions: '/s',
  session: at,
  tree: `/s/${main.id}?pane=tree`,
  context: `/s/${main.id}?pane=context&panel=context`,
  usage: '/usage',
})) {
  all[`phone-${n}`] = [url, phone, 'light'];
  all[`phone-${n}-dark`] = [url, phone, 'dark'];
}

// Programs in a terminal: what is typed at a prompt, and the keys that follow.
const typed = {
  'terminal-browse': [`grove browse ${main.id.slice(0, 8)}`],
};

// What was opened before the picture was taken.
const opened = {
  session: ['.tool-r:has-text("edit") >> text=src/events/stream.ts', '.tool-r:has-text("npm test -- stream")'],
  workers: ['.wk >> nth=1'],
};
for (let i = 0; i < 200; i++) {
  if ((await (await fetch(`${base}/api/v1/search?q=replay&group=session`)).json()).index.state === 'ready') break;
  await new Promise((r) => setTimeout(r, 100));
}

const browser = await open();
try {
  for (const n of (names.length ? names : Object.keys(all)).filter((name) => all[name])) {
    const [url, [width, height], colorScheme] = all[n];
    const context = await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: 1,
      colorScheme,
      reducedMotion: 'reduce',
    });
    const p = await context.newPage();
    p.on('pageerror', (e) => console.log(n, 'error:', String(e.stack ?? e).slice(0, 600)));
    await p.goto(base + url);
    // Text is there when Markdown has been made and nothing is grey any more.
    await p
      .waitForFunction(
        () =>
          document.querySelector('.row, .leafcard, .bubble, .tr, .kpis, .hit, .cmp-h') &&
          !document.querySelector('.wait, .bars, .prose .plain:not(:has(mark))'),
        null,
        { timeout: 20_000 },
      )
      .catch(() => undefined);
    await p
      .waitForFunction(() => document.querySelector('.conn .t')?.textContent !== 'Connecting', null, {
        timeout: 10_000,
      })
      .catch(() => undefined);
    if (width > 500)
      for (const what of opened[n.replace('-dark', '')] ?? [])
        await p
          .locator(what)
          .first()
          .evaluate((e) => e.closest('button').click()); // without a pointer: the place stays
    await p.waitForTimeout(1200);
    await p.screenshot({ path: join(out, `${n}.png`) });
    await context.close();
  }
  for (const n of names.length ? names.filter((name) => typed[name]) : Object.keys(typed))
    await terminal(browser, grove, home, typed[n], join(out, `${n}.png`));
} finally {
  await browser.close();
  before?.close();
  server.kill();
  closeSync(agent);
  rmSync(home, { recursive: true, force: true });
}
