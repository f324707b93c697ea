// A session as one file.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claude, PiSession, showpiece } from '../corpus.mjs';
import { fill, told } from '../single.mjs';
import { axe, browser, failures, grove, page, scenario, text, wait, World } from '../world.mjs';

// Puts what a golden case has in its home directory into this one.
function goldenHome(name, home) {
  const dir = mkdtempSync(join(tmpdir(), 'grove-golden-'));
  execFileSync(new URL('../../../tests/golden/run', import.meta.url).pathname, ['--unpack', dir, '-k', name]);
  cpSync(join(dir, name, 'home'), home, { recursive: true });
  rmSync(dir, { recursive: true });
}

// A page that is a file: it may ask for nothing at all.
async function filePage(w, name, html, o = {}) {
  const file = join(w.home, `${name}.html`);
  writeFileSync(file, html);
  const p = await (
    await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...o })
  ).newPage();
  p.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') failures.push(`${name}: ${m.text().slice(0, 300)}`);
  });
  p.on('pageerror', (e) => failures.push(`${name}: ${String(e.stack).slice(0, 500)}`));
  p.on('request', (r) => {
    if (r.url().split('#')[0] !== `file://${file}` && !r.url().startsWith('blob:'))
      failures.push(`asked for ${r.url().slice(0, 200)}`);
  });
  p.on('dialog', (d) => {
    failures.push(`dialog: ${d.message().slice(0, 100)}`);
    void d.dismiss();
  });
  await p.goto(`file://${file}`);
  return p;
}

// What the program writes itself. One that was built without the viewer says so.
function exported(w, id, ...more) {
  const file = join(w.home, 'written.html'),
    r = spawnSync(grove, ['export', id, '--format', 'html', '-o', file, ...more], { env: w.env, encoding: 'utf8' });
  if (r.status !== 0 && /built without the viewer/.test(r.stderr)) return null;
  assert.equal(r.status, 0, r.stderr);
  return { html: readFileSync(file, 'utf8'), said: r.stderr };
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

scenario('the menu of a session offers it as a page and as Markdown, without secrets, and as JSON', async (w) => {
  const s = new PiSession('Handed on', '/home/ana/scratch', Date.now() - 3600e3);
  s.user('Why is /home/ana/scratch/secret.txt there?');
  s.say('Because ana@example.com wrote it.');
  s.write(w.root);
  const p = await page(w, `/s/${s.id}`);
  await p.waitForSelector('.leafcard');
  for (const [name, end] of [
    ['Download as Markdown, without secrets', '.md'],
    ['Download as JSON', '.json'],
  ]) {
    const came = p.waitForEvent('download');
    await p.getByRole('button', { name: 'More', exact: true }).first().click();
    await p.getByRole('menuitem', { name }).click();
    const file = await came;
    assert.ok(file.suggestedFilename().endsWith(end), file.suggestedFilename());
    const said = readFileSync(await file.path(), 'utf8');
    assert.equal(said.includes('ana@example.com'), end === '.json', said.slice(0, 400));
  }
  assert.equal(await p.getByRole('menuitem', { name: 'Download as a web page' }).count(), 0);
  await p.getByRole('button', { name: 'More', exact: true }).first().click();
  assert.equal(await p.getByRole('menuitem', { name: 'Download as a web page, without secrets' }).count(), 1);
  await p.context().close();
});
