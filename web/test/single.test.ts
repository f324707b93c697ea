import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Held } from '../src/single/held.ts';
import { project } from '../src/model/rows.ts';
import { branched, wire } from './made.ts';

test('a session that stands in the page has rows, bodies and branches', () => {
  const tree = wire(branched);
  const entries = tree.id.map((id, i) => ({ type: 'message', id, message: { role: tree.role[i] === 'u' ? 'user' : 'assistant', content: `words of ${id}` } }));
  const s = new Held({ session: { id: 's', name: 'One file' } as never, tree, entries });
  assert.deepEqual(project(s.skeleton, s.viewPath.value, { all: false, leaf: false }).rows.map((r) => s.words(r.entries[0]!)), ['words of e1', 'words of e2', 'words of e6', 'words of e7']);
  const other = new Held({ session: { id: 's' } as never, tree, entries }, 'e4');
  assert.equal(other.isPreview.value, true);
  assert.deepEqual(other.viewPath.value.map((i) => tree.id[i]), ['e1', 'e2', 'e3', 'e4']);
});

test('a conversation as one file asks for nothing: no server, no worker, no further code', () => {
  const out = mkdtempSync(join(tmpdir(), 'grove-single-'));
  try {
    execFileSync(process.execPath, ['build.mjs', '--single', '--out', out]);
    assert.deepEqual(readdirSync(out).sort(), ['page.js', 'style.css']);
    const code = readFileSync(join(out, 'page.js'), 'utf8');
    for (const word of ['fetch(', 'new Worker', 'EventSource', 'XMLHttpRequest', 'WORKER_URL', '/api/v1', 'localStorage.', 'import(']) assert.ok(!code.includes(word), word);
    assert.doesNotMatch(readFileSync(join(out, 'style.css'), 'utf8'), /@import|url\((?!["']?data:)/);
  } finally { rmSync(out, { recursive: true, force: true }); }
});
