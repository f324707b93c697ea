// The viewer's figures, beside their goals and what this machine does with an empty page: see bench/viewer.
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from './browser.mjs';
import { many, PiSession, random } from './corpus.mjs';

const args = process.argv.slice(2);
const value = (name, otherwise) => {
  const i = args.indexOf(name);
  return i < 0 ? otherwise : args[i + 1];
};
const quick = args.includes('--quick'),
  only = value('--only', '');
const dir = value('--dir', join(tmpdir(), 'grove-viewer-bench'));
const grove = value('--grove');
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const sorted = (list) => [...list].sort((a, b) => a - b);
const at = (list, share) => sorted(list)[Math.min(list.length - 1, Math.floor(list.length * share))];

// ---- what is measured with -------------------------------------------------------

// About `bytes` in `entries`: prompts, replies with tools and their results, side branches, compactions.
function sized(home, name, entries, bytes) {
  const s = new PiSession(name, `/home/ana/${name}`, Date.UTC(2026, 0, 5));
  const root = join(home, 'agent', 'sessions');
  s.write(root);
  const file = join(root, `--home-ana-${name}--`, s.file());
  const out = openSync(file, 'a');
  const rnd = random(7),
    words = 'the stream resumes from the last event it saw and the buffer is bounded by bytes '.repeat(400);
  const each = bytes / entries;
  let count = s.lines.length;
  s.lines = [];
  const flush = () => {
    writeSync(out, s.lines.map((l) => JSON.stringify(l)).join('\n') + '\n');
    count += s.lines.length;
    s.lines = [];
  };
  while (count < entries) {
    s.user(`Prompt ${count}: ${words.slice(0, 40 + Math.floor(rnd() * 200))}`);
    for (let k = 0; k < 6; k++)
      s.tools(
        [
          {
            name: rnd() < 0.5 ? 'bash' : 'read',
            args: { command: `step ${k}`, path: `src/part${k}.ts` },
            out: words.slice(0, Math.max(20, Math.floor(each * 2 - 700 + (rnd() - 0.5) * each))),
          },
        ],
        { wait: 500, text: rnd() < 0.4 ? `Step ${k}: **done**, see \`part${k}.ts\`.` : undefined },
      );
    if (rnd() < 0.05) {
      const back = s.leaf;
      s.user('A side branch');
      s.say('It leads nowhere.');
      s.leaf = back;
    }
    if (rnd() < 0.01)
      s.add('compaction', { summary: 'What was done so far.', firstKeptEntryId: s.leaf, tokensBefore: 148_000 });
    flush();
  }
  s.say('The end of a long session.');
  flush();
  closeSync(out);
  return s.id;
}

function corpora() {
  const told = join(dir, 'corpus.json');
  if (existsSync(told)) return JSON.parse(readFileSync(told, 'utf8'));
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const big = join(dir, 'big'),
    list = join(dir, 'list');
  const made = {
    big,
    list,
    m100: sized(big, 'hundred', 30_000, 100e6),
    g1: sized(big, 'thousand', quick ? 250_000 : 900_000, quick ? 280e6 : 1e9),
  };
  many(list, Date.now());
  writeFileSync(told, JSON.stringify(made));
  return made;
}

const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });
async function serve(home, every) {
  const port = await freePort();
  const env = {
    ...process.env,
    HOME: home,
    PI_CODING_AGENT_DIR: every ? '' : join(home, 'agent'),
    CLAUDE_CONFIG_DIR: '',
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_RUNTIME_DIR: '',
    TZ: 'UTC',
  };
  const process_ = spawn(grove, ['serve', '--quiet', '--listen', `127.0.0.1:${port}`], { env, stdio: 'ignore' });
  const base = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 200; i++) {
    try {
      if ((await fetch(`${base}/api/v1/health`)).ok) break;
    } catch {
      await sleep(50);
    }
  }
  if (/without the viewer/.test(await (await fetch(base)).text()))
    throw new Error('this grove was built without the viewer');
  return { base, stop: () => process_.kill() };
}

// ---- results -----------------------------------------------------------------------

let missed = 0;
function tell(what, got, goal, ok, more = '') {
  if (!ok) missed++;
  console.log(
    `${ok ? 'met   ' : 'MISSED'} ${what.padEnd(44)} ${String(got).padStart(12)}  goal ${goal}` +
      (more ? `   (${more})` : ''),
  );
}
const note = (what, got) => console.log(`       ${what.padEnd(44)} ${String(got).padStart(12)}`);
const wanted = (name) => !only || name.includes(only);

const browser = await open(['--enable-precise-memory-info', '--js-flags=--expose-gc']);
const faults = { console: [], csp: [] };
async function page(url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const p = await context.newPage();
  p.on('console', (m) => {
    if (m.type() === 'error') faults.console.push(m.text().slice(0, 200));
  });
  p.on('pageerror', (e) => faults.console.push(String(e).slice(0, 200)));
  await p.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => {
      (window.cspFaults ??= []).push(e.violatedDirective);
    });
  });
  await p.goto(url, { waitUntil: 'commit' });
  return p;
}
async function closed(p) {
  faults.csp.push(...(await p.evaluate(() => window.cspFaults ?? [])));
  await p.context().close();
}
const useful = (p) =>
  p
    .waitForFunction(() => performance.getEntriesByName('grove:useful')[0]?.startTime, null, {
      timeout: 120_000,
      polling: 20,
    })
    .then((h) => h.jsonValue());

async function firstPaint(base, id, what, goal, runs) {
  const times = [];
  let sizes = null;
  for (let k = 0; k < runs; k++) {
    const p = await page(`${base}/s/${id}`);
    times.push(await useful(p));
    sizes ??= await p.evaluate(() => {
      const end = performance.getEntriesByName('grove:useful')[0].startTime;
      const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter(
        (r) => r.responseEnd > 0 && r.responseEnd <= end,
      );
      const sum = (list) => list.reduce((n, r) => n + r.encodedBodySize, 0);
      return {
        code: sum(all.filter((r) => !r.name.includes('/api/'))),
        data: sum(all.filter((r) => r.name.includes('/api/'))),
      };
    });
    await closed(p);
  }
  const ms = at(times, 0.5);
  tell(
    `first useful paint, ${what}`,
    `${Math.round(ms)} ms`,
    `${goal} ms`,
    ms <= goal,
    `${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))}, ${runs} runs`,
  );
  return sizes;
}

// Frames by the page's own clock while the browser scrolls.
async function scroll(p, selector, seconds) {
  const cdp = await p.context().newCDPSession(p);
  const box = await p.locator(selector).boundingBox();
  await p.evaluate(() => {
    window.frames_ = [];
    const tick = (t) => {
      window.frames_.push(t);
      if (window.frames_.on !== false) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const end = Date.now() + seconds * 1000;
  for (let up = true; Date.now() < end; up = !up)
    await cdp.send('Input.synthesizeScrollGesture', {
      x: box.x + box.width / 2,
      y: box.y + box.height / 2,
      yDistance: up ? 60_000 : -55_000,
      speed: 8000,
      gestureSourceType: 'mouse',
      preventFling: true,
    });
  const times = await p.evaluate(() => {
    window.frames_.on = false;
    return [...window.frames_];
  });
  const gaps = times.slice(1).map((t, i) => t - times[i]);
  return {
    fps: 1000 / at(gaps, 0.5),
    mean: gaps.length / ((times.at(-1) - times[0]) / 1000),
    late: gaps.filter((g) => g > 50).length / gaps.length,
  };
}

async function memory(p) {
  const cdp = await p.context().newCDPSession(p);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  const { nodes } = await cdp.send('Memory.getDOMCounters');
  const all = await browser.newBrowserCDPSession();
  const { processInfo } = await all.send('SystemInfo.getProcessInfo');
  const pss = processInfo
    .filter((x) => x.type === 'renderer')
    .map((x) => {
      try {
        return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${x.id}/smaps_rollup`, 'utf8'))[1]) / 1000;
      } catch {
        return 0;
      }
    });
  return { heap: usedSize / 1e6, tab: Math.max(...pss), nodes };
}

async function large(base, id, name, seconds) {
  const p = await page(`${base}/s/${id}`);
  await useful(p);
  await p.waitForFunction(() => document.querySelectorAll('.tr').length > 3, null, { timeout: 120_000 });
  await sleep(1500);
  const s = await scroll(p, '.flow', seconds);
  tell(`scrolling, ${name}`, `${s.fps.toFixed(0)} /s`, '58 /s', s.fps >= 58, `mean ${s.mean.toFixed(1)}`);
  tell(`frames over 50 ms, ${name}`, `${(s.late * 100).toFixed(2)} %`, '1 %', s.late <= 0.01);
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    await p.locator('.flow').evaluate((e, x) => {
      e.scrollTop = e.scrollHeight * x;
    }, share);
    await sleep(700);
  }
  const m = await memory(p);
  tell(`heap after scrolling, ${name}`, `${m.heap.toFixed(0)} MB`, '90 MB', m.heap <= 90);
  tell(`tab, ${name}`, `${m.tab.toFixed(0)} MB`, '300 MB', m.tab <= 300);
  tell(`DOM nodes, ${name}`, m.nodes, '3000', m.nodes <= 3000, 'texts and attributes count, too');
  await closed(p);
}

async function typing(base) {
  const p = await page(`${base}/s`);
  await p.waitForSelector('.row');
  await p.locator('input[aria-label="Search sessions"]').focus();
  const words = ['led', 'ledger', 'sess', 'question', 'number 2', 'storefront', 'edge', 'omp', 'part 1', 'done'];
  const times = [];
  for (let k = 0; k < (quick ? 40 : 200); k++) {
    const word = words[k % words.length];
    await p.locator('input[aria-label="Search sessions"]').fill('');
    await sleep(60);
    times.push(
      await p.evaluate(
        (w) =>
          new Promise((done) => {
            const input = document.querySelector('input[aria-label="Search sessions"]');
            const begin = performance.now();
            const seen = new MutationObserver(() => {
              if (!document.querySelector('.results .row, .empty')) return;
              seen.disconnect();
              requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
            });
            seen.observe(document.querySelector('main'), { subtree: true, childList: true });
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, w);
            input.dispatchEvent(new InputEvent('input', { bubbles: true }));
          }),
        word,
      ),
    );
  }
  tell(
    'typing to result, p95',
    `${Math.round(at(times, 0.95))} ms`,
    '150 ms',
    at(times, 0.95) <= 150,
    `median ${Math.round(at(times, 0.5))}`,
  );
  await closed(p);
}

// From the write to the frame that shows it.
async function live(home, base) {
  const s = new PiSession('Live', '/home/ana/live', Date.now() - 60_000);
  s.user('first');
  s.say('answer');
  const file = s.write(join(home, 'agent', 'sessions'));
  const p = await page(`${base}/s/${s.id}`);
  await useful(p);
  await sleep(1000);
  await p.evaluate(() => {
    window.came = {};
    const look = () => {
      for (const b of document.querySelectorAll('.bubble')) {
        const m = /^stamp (\d+)$/.exec(b.textContent);
        if (m && !(m[1] in window.came)) window.came[m[1]] = Date.now();
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const sent = [],
    count = quick ? 100 : 500;
  for (let k = 0; k < count; k++) {
    s.user(`stamp ${k}`, 100);
    sent.push(Date.now());
    appendFileSync(file, JSON.stringify(s.lines.at(-1)) + '\n');
    await sleep(100);
  }
  await sleep(1500);
  const came = await p.evaluate(() => window.came);
  const delays = sent.map((t, k) => (came[k] ?? Infinity) - t);
  const lost = delays.filter((d) => d === Infinity).length;
  tell(
    'live delay, file to pixel, p95',
    `${Math.round(at(delays, 0.95))} ms`,
    '250 ms',
    at(delays, 0.95) <= 250,
    `median ${Math.round(at(delays, 0.5))}, ${count} appends, ${lost} not seen`,
  );
  await closed(p);
  rmSync(file);
}

async function limits(base, id) {
  const text = await (await fetch(`${base}/api/v1/sessions/${id}/tree?level=all`)).text();
  const begin = performance.now();
  JSON.parse(text);
  note(
    `parsing the shape of 30,000 entries (${(text.length / 1e6).toFixed(1)} MB)`,
    `${Math.round(performance.now() - begin)} ms`,
  );
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const p = await context.newPage();
  await p.setContent('<div id="a" style="height:880px;overflow:auto"><div style="height:2000000px"></div></div>');
  await p.locator('#a').evaluate((e) => {
    e.scrollTop = 1_000_000;
  });
  const s = await scroll(p, '#a', quick ? 5 : 15);
  note('scrolling an empty page', `${s.fps.toFixed(0)} /s`);
  note('its frames over 50 ms', `${(s.late * 100).toFixed(2)} %`);
  await context.close();
}

const c = corpora();
const big = await serve(c.big);
for (const id of [c.m100, c.g1])
  for (const what of ['', '/tree?level=turns'])
    await (await fetch(`${big.base}/api/v1/sessions/${id}${what}`)).arrayBuffer();
try {
  await limits(big.base, c.m100);
  if (wanted('paint')) {
    const z = await firstPaint(big.base, c.m100, '100 MB, 30,000 entries', 1000, quick ? 3 : 7);
    tell('code before it', `${(z.code / 1024).toFixed(0)} KB`, '150 KB', z.code <= 150 * 1024);
    tell('data before it', `${(z.data / 1e6).toFixed(2)} MB`, '3 MB', z.data <= 3e6);
    await firstPaint(big.base, c.g1, quick ? '280 MB, 250,000 entries' : '1 GB, 900,000 entries', 2500, quick ? 3 : 7);
  }
  if (wanted('scroll')) {
    await large(big.base, c.m100, '30,000 entries', quick ? 10 : 60);
    await large(big.base, c.g1, quick ? '250,000 entries' : '900,000 entries', quick ? 10 : 60);
  }
  if (wanted('live')) await live(c.big, big.base);
  if (wanted('typing')) {
    const list = await serve(c.list, true);
    try {
      await typing(list.base);
    } finally {
      list.stop();
    }
  }
  tell('reports of the policy', faults.csp.length, '0', !faults.csp.length, [...new Set(faults.csp)].join(', '));
  tell(
    'console errors',
    faults.console.length,
    '0',
    !faults.console.length,
    [...new Set(faults.console)].slice(0, 3).join('; '),
  );
} finally {
  await browser.close();
  big.stop();
}
console.log(missed ? `${missed} missed` : 'all met');
process.exit(missed ? 1 : 0);
