// Every width, and text that reads from the right.
import assert from 'node:assert/strict';
import { PiSession } from '../corpus.mjs';
import { page, scenario, wait } from '../world.mjs';

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
