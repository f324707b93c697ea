import test from 'node:test';
import assert from 'node:assert/strict';
import { differing } from '../src/model/words.ts';

test('words that only one side has are marked, the text stays whole', () => {
  const a = 'Make the stream resume. No polling, please.',
    b = 'Make the stream resume. Put it into a service of its own.';
  const runs = differing(a, b);
  assert.equal(runs.map((r) => r.text).join(''), a);
  assert.equal(runs[0]!.only, false);
  assert.match(runs[0]!.text, /^Make the stream resume\. ?$/);
  assert.match(
    runs
      .filter((r) => r.only)
      .map((r) => r.text)
      .join('|'),
    /No polling, please/,
  );
  assert.deepEqual(differing('same', 'same'), [{ text: 'same', only: false }]);
  assert.deepEqual(differing('new', ''), [{ text: 'new', only: true }]);
});
