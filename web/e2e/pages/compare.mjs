// Two branches side by side.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { showpiece } from '../corpus.mjs';
import { added, page, scenario, text, twin, wait } from '../world.mjs';

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
