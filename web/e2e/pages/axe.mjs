// What axe finds on each page: nothing.
import assert from 'node:assert/strict';
import { axe, page, scenario, settled, wait } from '../world.mjs';

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
