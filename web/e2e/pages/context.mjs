// What the model sees, beside what `grove context` says.
import assert from 'node:assert/strict';
import { page, scenario, text, wait } from '../world.mjs';

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
