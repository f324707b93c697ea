// Hostile content, foreign callers, tokens, and what is kept in the browser.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { gigantic, PiSession } from '../corpus.mjs';
import { browser, frames, long, page, scenario, text, wait, World } from '../world.mjs';

const NEEDLE = 'xyzzy-needle-4711';

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
