// Usage: the figures of `grove usage`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { claude, showpiece } from '../corpus.mjs';
import { grove, page, scenario, text, wait, World } from '../world.mjs';

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
