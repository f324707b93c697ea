import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const src = new URL('../src', import.meta.url).pathname;
const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));

// The letters of a table in letters.ts, with what each stands for.
function letters(table: string): Record<string, string> {
  const text = readFileSync(join(src, 'model/letters.ts'), 'utf8');
  const rows = new RegExp(`${table}[^{]*\\{([^}]*)\\}`).exec(text)![1]!;
  return Object.fromEntries([...rows.matchAll(/'?([\w-])'?: '([\w-]+)'/g)].map((m) => [m[1]!, m[2]!]));
}

test('kinds and roles have the letters that the server’s document gives them', () => {
  assert.deepEqual(letters('KINDS'), document['x-kinds']);
  assert.deepEqual(letters('ROLES'), document['x-roles']);
});

test('no type is any', () => {
  const files = readdirSync(src, { recursive: true, withFileTypes: true }).filter((f) => /\.tsx?$/.test(f.name));
  for (const f of files) {
    const code = readFileSync(join(f.path, f.name), 'utf8').replace(/\/\/.*/g, '');
    assert.doesNotMatch(code, /(: |<|\bas |, )any\b(?=[[\]>,;)= |])/, f.name);
  }
});
