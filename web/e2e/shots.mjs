// Pictures of every page, in light, dark and on a phone. node shots.mjs BASE OUT KEY[/e/ENTRY] [name...]
import { mkdirSync } from 'node:fs';
import { open } from './browser.mjs';

const [, , base, out, key, ...names] = process.argv;
mkdirSync(out, { recursive: true });
const wide = [1440, 900], phone = [390, 844];
const pages = {
  sessions: ['/s', wide], search: ['/s?q=replay', wide], session: [`/s/${key}`, wide], context: [`/s/${key}?panel=context`, wide], usage: ['/usage', wide], workers: [`/s/${key}?panel=workers`, wide],
};
const all = {};
for (const [n, [url, size]] of Object.entries(pages)) { all[n] = [url, size, 'light']; all[`${n}-dark`] = [url, size, 'dark']; }
Object.assign(all, { 'phone-sessions': ['/s', phone, 'light'], 'phone-session': [`/s/${key}`, phone, 'light'], 'phone-tree': [`/s/${key}?pane=tree`, phone, 'light'], 'phone-context': [`/s/${key}?pane=context&panel=context`, phone, 'dark'], 'phone-usage': ['/usage', phone, 'light'] });

const browser = await open();
for (const n of names.length ? names : Object.keys(all)) {
  const [url, [width, height], theme] = all[n] ?? [n, wide, 'light'];
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: width < 500 ? 2 : 1.25, colorScheme: theme, reducedMotion: 'reduce' });
  const p = await context.newPage();
  p.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') console.log(n, 'console:', m.text().slice(0, 300)); });
  p.on('pageerror', (e) => console.log(n, 'error:', String(e.stack ?? e).slice(0, 600)));
  await p.goto(base + url);
  // Text is there when Markdown has been made and nothing is grey any more.
  await p.waitForFunction(() => document.querySelector('.row, .leafcard, .bubble, .tr, .kpis, .hit') && !document.querySelector('.wait, .bars, .prose .plain'), null, { timeout: 20_000 }).catch(() => undefined);
  await p.waitForTimeout(1200);
  await p.screenshot({ path: `${out}/${(all[n] ? n : n.replace(/\W+/g, '_')).slice(0, 60)}.png` });
  await context.close();
}
await browser.close();
