// The viewer in Debian's Chromium against `grove serve` on generated sessions. Prints TAP.
// node run.mjs --grove PROGRAM [--front] [--long] [-k WORD]
// --long writes for a minute where a few seconds do otherwise, and 500 MB where 4 do.
// --front serves web/dist beside the program, for a program that was built without the viewer.
import assert from 'node:assert/strict';
import { batches, hostile, large, small } from './corpus.mjs';
import { browser, failures, now, scenarios, value, World } from './world.mjs';

const PAGES = [
  'list',
  'session',
  'workers',
  'context',
  'search',
  'moving',
  'live',
  'compare',
  'usage',
  'layout',
  'keys',
  'safety',
  'export',
  'axe',
];
for (const name of PAGES) await import(`./pages/${name}.mjs`);

const only = value('-k');
const wanted = scenarios.filter((s) => !only || new RegExp(only).test(s.name));
const world = new World();
const { main } = small(world.root, now);
const all = { bad: hostile(world.root, now), big: large(world.root, now, 30_000, 400), old: batches(world.root, now) };
await world.serve();
console.log(`1..${wanted.length}`);
let bad = 0;
for (const [i, s] of wanted.entries()) {
  failures.length = 0;
  const begin = Date.now();
  try {
    await s.run(world, main, all);
    assert.deepEqual(failures, []);
    console.log(`ok ${i + 1} - ${s.name} # ${Date.now() - begin} ms`);
  } catch (e) {
    bad++;
    const places = [...String(e.stack ?? '').matchAll(/(\w+\.mjs:\d+)/g)].map((m) => m[1]);
    const why = String(e.message ?? e)
      .split('\n')
      .slice(0, 14);
    console.log(`not ok ${i + 1} - ${s.name}`);
    for (const line of [...(places.length ? [`at ${places.join(', ')}`] : []), ...why, ...failures.slice(0, 4)])
      console.log(`# ${line}`);
    for (const c of browser.contexts()) await c.close().catch(() => undefined);
  }
}
await browser.close();
await world.close();
process.exit(bad ? 1 : 0);
