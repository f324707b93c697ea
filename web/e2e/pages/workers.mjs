// Workers: what is shown of them, and where it comes from.
import assert from 'node:assert/strict';
import { page, scenario, text } from '../world.mjs';

scenario('workers: from the projection, with its provenance', async (w, s) => {
  const p = await page(w, `/s/${s.id}/e/${s.lines.find((l) => l.type === 'subagent_batch').id}`);
  await p.waitForSelector('.batch');
  assert.match(await text(p, '.prov'), /Shown from subagent_result/);
  await p.locator('.wk', { hasText: 'soak-test' }).click();
  assert.match(await text(p, '.evs'), /soak\.json: lost 0/);
  await p.context().close();
});

scenario('workers of older sessions: each says what it was taken from', async (w, s, all) => {
  const p = await page(w, `/s/${all.old.id}/e/${all.old.batches[0]}`);
  for (const [k, footer] of [
    /Shown from subagent_result/,
    /Shown from tool_message[\s\S]*a fallback was used/,
    /Shown from metadata_fallback[\s\S]*a fallback was used/,
    /Only the call is known/,
  ].entries()) {
    await p.goto(`${w.base}/s/${all.old.id}/e/${all.old.batches[k]}`);
    await p.waitForSelector('article.on .batch');
    assert.match(await text(p, 'article.on .prov'), footer);
    assert.match(await text(p, 'article.on .wk'), /auditor/);
  }
  await p.context().close();
});
