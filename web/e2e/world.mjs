// A home with sessions, a server over it, a browser, and what scenarios look at a page with.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from './browser.mjs';
import { PiSession } from './corpus.mjs';
import { front } from './front.mjs';

export const args = process.argv.slice(2);

export const value = (name) => {
  const i = args.indexOf(name);
  return i < 0 ? undefined : args[i + 1];
};

export const grove = value('--grove') ?? new URL('../../build/grove', import.meta.url).pathname;

export const long = args.includes('--long');

export const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

export const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

// A home of its own with the sessions of all agents, or with those of pi alone, and a server over it.
export class World {
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
    this.api = `http://127.0.0.1:${port}`;
    for (let i = 0; i < 200; i++) {
      try {
        if ((await fetch(`${this.api}/api/v1/health`)).ok) break;
      } catch {
        await new Promise((r) => setTimeout(r, 50));
      }
    }
    // A program that was built without the viewer says so at /; then a server for dist/ is put in front of it.
    const without = args.includes('--front') || /without the viewer/.test(await (await fetch(`${this.api}/`)).text());
    // The address never changes while a page is open: what a page asks for elsewhere is a failure.
    if (without) {
      const p = (this.frontPort ??= await freePort());
      this.front ??= await front(p, port);
      this.base = `http://127.0.0.1:${p}`;
    } else this.base = this.api;
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

// What went wrong on the pages of the scenario that runs.
export const failures = [];

export const browser = await open();

// A page on which any console error, any report of the policy and any request elsewhere is a failure. That a move
// was refused is no fault of the page. `o.expect` matches the errors that the scenario provokes; they may arrive
// until the page is closed.
export async function page(world, url, o = {}) {
  const context = await browser.newContext({
    viewport: o.phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
    colorScheme: o.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    ...(o.context ?? {}),
  });
  const p = await context.newPage();
  p.on('console', (m) => {
    if (m.type() === 'error' && !/status of 409/.test(m.text()) && !o.expect?.test(m.text()))
      failures.push(`${url}: ${m.text().slice(0, 300)}`);
  });
  p.on('pageerror', (e) => failures.push(`${url}: ${String(e.stack).slice(0, 500)}`));
  p.on('request', (r) => {
    if (!r.url().startsWith(world.base) && !r.url().startsWith('blob:'))
      failures.push(`asked for ${r.url().slice(0, 200)}`);
  });
  p.on('dialog', (d) => {
    failures.push(`dialog: ${d.message().slice(0, 100)}`);
    void d.dismiss();
  });
  await p.goto(world.base + url);
  return p;
}

// What the console says when the server is gone.
export const NO_ANSWER = /Failed to load|ERR_|EventSource/;

export const scenarios = [];

export const scenario = (name, run) => scenarios.push({ name, run });

export const wait = (p, f, arg, timeout = 30_000) => p.waitForFunction(f, arg, { timeout });

export const frames = (p) =>
  p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

// A key whose effect is a change of the address.
export const moves = async (p, k) => {
  const before = await p.evaluate(() => location.href);
  await p.keyboard.press(k);
  await wait(p, (u) => location.href !== u, before);
};

// What two looks in a row agree on: heights and bodies may still be on their way.
export async function settled(look, good = () => true) {
  let last;
  for (const begin = Date.now(); Date.now() - begin < 30_000;) {
    const now = await look();
    if (now === last && good(now)) return now;
    last = now;
    await new Promise((r) => setTimeout(r, 150));
  }
  assert.fail(`never came to rest: ${last}`);
}

export const text = (p, css) => p.locator(css).first().innerText();

// A copy of a session under another id, for the command line to do the same to.
export function twin(w, s) {
  const id = s.id.replace(/^./, (c) => (c === 'f' ? '0' : 'f'));
  const file = w.file(s.id).replace(s.id, id);
  writeFileSync(file, readFileSync(w.file(s.id), 'utf8').replaceAll(s.id, id));
  return { id, file };
}

// What was appended, without what differs from one time to the next.
export function added(file, before) {
  let text = readFileSync(file, 'utf8').slice(before);
  [...text.matchAll(/"id":"([0-9a-f]+)"/g)].forEach(([, id], k) => {
    text = text.replaceAll(id, `new ${k}`);
  });
  return text.replace(/"timestamp":"[^"]*"/g, '"timestamp":""').split('\n');
}

// A small session that a scenario may change.
let made = 0;

export function fresh(w, name, replies = 2) {
  const s = new PiSession(name, '/home/ana/scratch', Date.now() - 3600e3 - ++made * 1000);
  s.user('first prompt');
  for (let k = 0; k < replies; k++) s.say(`answer ${k} ${'word '.repeat(40)}`);
  s.user('second prompt');
  s.say('last answer');
  s.write(w.root);
  return s;
}

export async function poll(f, most = 150) {
  for (let i = 0; i < most; i++) {
    if (f()) return;
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.fail(`never became true: ${f}`);
}

// Not just after midnight: a fork would be of another day than its session.
export const now = Date.now() - (new Date().getHours() < 3 ? 4 * 3600e3 : 0);
