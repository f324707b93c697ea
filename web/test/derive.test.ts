import test from 'node:test';
import assert from 'node:assert/strict';
import { completeContext, contextParts, diffOf, explainRuns } from '../src/model/derive.ts';
import { Skeleton } from '../src/model/skeleton.ts';
import { branched, wire } from './made.ts';

test('parts of a context by who said it; the sum is the window', () => {
  const messages = [{ role: 'compactionSummary', summary: 'x'.repeat(400) }, { role: 'user', content: 'y'.repeat(40) }, { role: 'toolResult', content: [{ type: 'text', text: 'z'.repeat(80) }, { type: 'image', data: 'A'.repeat(9999) }] }];
  const parts = contextParts(messages);
  assert.deepEqual(parts.map((p) => [p.part, p.tokens]), [['summary', 100], ['prompts', 10], ['toolResults', 20], ['images', 1500]]);
  const c = completeContext({ messages, entryIds: [], leaf: null }, new Skeleton());
  assert.equal(c.window!.used, 1630);
  assert.equal(c.window!.source, 'estimate');
});

test('reasons entry by entry become runs', () => {
  const s = Skeleton.from(wire(branched));
  const runs = explainRuns([{ entryId: 'e1', included: false, reason: 'before' }, { entryId: 'e2', included: false, reason: 'before' }, { entryId: 'e6', included: true, reason: 'sent' }], s);
  assert.deepEqual(runs, [{ from: 1, to: 2, included: false, reason: 'before', count: 2 }, { from: 6, to: 6, included: true, reason: 'sent', count: 1 }]);
});

test('two branches: where they part, how long each is, which files it changed', () => {
  const s = Skeleton.from(wire(branched));
  const edit = { type: 'message', message: { role: 'assistant', content: [{ type: 'toolCall', id: '1', name: 'edit', arguments: { path: 'a.ts', oldText: 'x', newText: 'y\nz' } }], usage: { cost: { total: 0.5 } } } };
  const d = diffOf(s, 3, 6, (i) => (i === 3 ? edit : undefined));
  assert.equal(d.fork, 'e2');
  assert.equal(d.common, 2);
  assert.deepEqual(d.a, { leaf: 'e4', entries: 2, seq: [], cost: 0.5, files: [{ path: 'a.ts', added: 2, removed: 1, edits: 1 }] });
  assert.equal(d.b.entries, 2);
  assert.equal(diffOf(s, 6, 6, () => undefined).a.entries, 0);
});
