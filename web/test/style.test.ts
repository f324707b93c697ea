import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const src = new URL('../src', import.meta.url).pathname;
const css = readFileSync(join(src, 'styles/tokens.css'), 'utf8');
const themes = [...css.matchAll(/:root(\[data-theme=['"]dark['"]\])?\s*\{([\s\S]*?)\n\}/g)].map((m) => ({
  name: m[1] ? 'dark' : 'light',
  colours: Object.fromEntries([...m[2]!.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/gi)].map((c) => [c[1]!, c[2]!])),
}));

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
const contrast = (a: string, b: string): number => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x! + 0.05) / (y! + 0.05);
};

test('every text colour has 4.5:1 on every surface it is used on, in both themes', () => {
  assert.deepEqual(
    themes.map((t) => t.name),
    ['light', 'dark'],
  );
  const pairs: [string, string][] = [];
  for (const f of [
    'text',
    'text-2',
    'text-3',
    'accent-text',
    'amber',
    'violet',
    'blue',
    'red',
    'syn-k',
    'syn-s',
    'syn-n',
    'syn-f',
    'syn-c',
  ])
    for (const g of ['bg', 'surface', 'sunken', 'hover']) pairs.push([f, g]);
  pairs.push(
    ['accent-text', 'accent-soft'],
    ['amber', 'amber-soft'],
    ['violet', 'violet-soft'],
    ['blue', 'blue-soft'],
    ['red', 'red-soft'],
    ['on-accent', 'accent'],
    ['text', 'mark'],
    ['text', 'add-hi'],
    ['text', 'del-hi'],
    ['text-2', 'accent-soft'],
    ['text-3', 'accent-soft'],
    ['text-2', 'amber-soft'],
    ['text-2', 'violet-soft'],
    ['text-3', 'amber-soft'],
  );
  for (const t of themes)
    for (const [f, g] of pairs)
      assert.ok(
        contrast(t.colours[f]!, t.colours[g]!) >= 4.5,
        `${t.name}: ${f} on ${g} ${contrast(t.colours[f]!, t.colours[g]!).toFixed(2)}`,
      );
});

const files = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? files(join(dir, f.name)) : [join(dir, f.name)],
  );

test('no code makes HTML from strings', () => {
  for (const f of files(src).filter((x) => /\.tsx?$/.test(x)))
    assert.doesNotMatch(
      readFileSync(f, 'utf8'),
      /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|new Function|\beval\(/,
      f,
    );
});

test('no view reads stored metadata of workers: the projection is the only source', () => {
  for (const f of files(src).filter((x) => /\/(views|parts|state)\//.test(x)))
    assert.doesNotMatch(readFileSync(f, 'utf8'), /\.metadata\b|\['metadata'\]/, f);
});

// Classes whose names are put together in code: show-tree, g-pi, a column's colour.
const MADE = /^(show|g)-|^[pqw]\d$/;

test('every class of the style sheets is used somewhere', () => {
  const code = files(src)
    .filter((f) => /\.tsx?$/.test(f))
    .map((f) => readFileSync(f, 'utf8'));
  const words = new Set(code.join('\n').match(/[\w-]+/g));
  for (const f of files(join(src, 'styles'))) {
    const rules = readFileSync(f, 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/\{[^{}]*\}/g, '');
    for (const [, name] of rules.replace(/'[^']*'/g, '').matchAll(/\.([a-z][\w-]*)/gi))
      assert.ok(words.has(name!) || MADE.test(name!), `${f}: .${name}`);
  }
});
