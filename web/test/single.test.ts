import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Entry } from '../src/api/types.ts';
import { Held } from '../src/single/held.ts';
import { branched, wire } from './made.ts';

const tree = wire(branched);
const message = (id: string, content: unknown, role = 'user') => ({ type: 'message', id, message: { role, content } });
const held = (entries: unknown[]): Held =>
  new Held([{ session: { id: 's', name: 'One file' } }, tree, ...entries].map((x) => JSON.stringify(x)).join('\n'));
// What the first block of a message holds.
const textOf = (e: Entry): unknown => (e['message'] as { content: { text: unknown }[] }).content[0]!.text;
const plain = tree.id.map((id, i) => message(id ?? '', `words of ${id}`, tree.role[i] === 'u' ? 'user' : 'assistant'));

test('a session that is in the page has rows, bodies and branches', () => {
  const s = held(plain);
  const shown = (): string[] =>
    s.visibleEntries.value.rows.filter((r) => r.entries.length).map((r) => s.words(r.entries[0]!));
  assert.deepEqual(shown(), ['words of e1', 'words of e2', 'words of e6', 'words of e7']);
  s.viewLeafId.value = 'e4';
  assert.equal(s.isPreview.value, true);
  assert.deepEqual(shown(), ['words of e1', 'words of e2', 'words of e3', 'words of e4']);
});

test('a long text is shown in steps, and no step ends within a character', async () => {
  const text = `${'x'.repeat(9999)}\u{1f333}${'y'.repeat(20_000)}`;
  const s = held([message('e1', [{ type: 'text', text }]), ...plain.slice(1)]);
  assert.deepEqual(textOf(s.body(0)!), {
    $ref: 'here',
    pointer: '/message/content/0/text',
    bytes: text.length,
  });
  const first = await s.more('e1', '/message/content/0/text', 0, 10_000);
  assert.equal(first.next, 9999);
  const second = await s.more('e1', '/message/content/0/text', first.next, 64_000);
  assert.equal(first.text + second.text, text);
  assert.equal(second.next, second.total);
});

test('results that an agent stores as the user’s messages are results; those that failed are counted', () => {
  const s = held([
    ...plain.slice(0, 5),
    message('e6', [{ type: 'tool_result', tool_use_id: 't', content: 'no', is_error: true }]),
    plain[6],
  ]);
  assert.equal(s.skeleton.roleAt(5), 't');
  assert.equal(s.skeleton.failed.get(5), 1);
});

test('a line that is no JSON is an entry without a body', () => {
  const s = new Held(
    [
      JSON.stringify({ session: { id: 's' } }),
      JSON.stringify(tree),
      '{"torn',
      ...plain.slice(1).map((x) => JSON.stringify(x)),
    ].join('\n'),
  );
  assert.deepEqual(s.body(0), { type: 'not JSON' });
  assert.equal(s.words(1), 'words of e2');
});

test('searching finds what can be read, not ids', () => {
  const s = held([message('e1', 'The "Ledger" (v2)'), ...plain.slice(1)]);
  const found = (q: string): string[] => {
    s.search(q);
    return s.hits.value!.hits.map((h) => h.entryId);
  };
  assert.deepEqual(found('"ledger" (V2)'), ['e1']);
  assert.deepEqual(found('words of e6'), ['e6']);
  assert.deepEqual(found('assistant'), []);
});

test('a session as one file asks for nothing: no server, no worker, no further code', () => {
  const out = mkdtempSync(join(tmpdir(), 'grove-single-'));
  try {
    execFileSync(process.execPath, ['build.mjs', '--single', '--out', out]);
    assert.deepEqual(readdirSync(out), ['export.html']);
    const page = readFileSync(join(out, 'export.html'), 'utf8');
    assert.equal(page.split('<!--grove:session-->').length, 2);
    const [code, style] = [/<script>([\s\S]*?)<\/script>/, /<style>([\s\S]*?)<\/style>/].map((r) => r.exec(page)![1]!);
    for (const word of [
      'fetch(',
      'new Worker',
      'EventSource',
      'XMLHttpRequest',
      'WORKER_URL',
      '/api/v1',
      'localStorage.',
      'sessionStorage.',
      'import(',
    ])
      assert.ok(!code!.includes(word), word);
    assert.doesNotMatch(style!, /@import|url\((?!["']?data:)/);
    for (const part of [code!, style!])
      assert.ok(page.includes(`'sha256-${createHash('sha256').update(part).digest('base64')}'`));
    assert.match(page, /Content-Security-Policy" content="\s*default-src 'none';/);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});
