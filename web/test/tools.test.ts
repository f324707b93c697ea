import test from 'node:test';
import assert from 'node:assert/strict';
import { allText, body, firstWords } from '../src/model/body.ts';
import {
  argument,
  editPairs,
  exitStatus,
  inAWord,
  patchOf,
  todos,
  type Call,
  type Result,
} from '../src/model/tools.ts';

const call = (name: string, args: unknown): Call => ({ is: 'call', id: '1', name, args });
const result = (text: string, more: Partial<Result> = {}): Result => ({
  is: 'result',
  id: '1',
  name: null,
  text: [{ text }],
  images: [],
  error: false,
  details: undefined,
  ...more,
});

test('results in a word', () => {
  assert.equal(inAWord(call('read', { path: 'a' }), result('1\n2\n3\n')).text, '3 lines');
  assert.equal(inAWord(call('grep', { pattern: 'a' }), result('x')).text, '1 match');
  assert.deepEqual(
    inAWord(call('bash', { command: 'x' }), result('no\n\nCommand exited with code 1', { error: true })),
    { text: 'exit 1', tone: 'bad' },
  );
  assert.equal(inAWord(call('bash', { command: 'x' }), result('ok')).text, 'exit 0');
  assert.deepEqual(inAWord(call('edit', { path: 'a', oldText: 'a\nb', newText: 'a\nc\nd' }), result('ok')), {
    text: '',
    tone: 'plain',
    added: 2,
    removed: 1,
  });
  assert.equal(inAWord(call('write', { path: 'a', content: '1\n2\n' }), result('ok')).added, 2);
  assert.equal(inAWord(call('WebFetch', { url: 'https://x.example/a' }), result('page')).text, 'x.example');
  assert.equal(
    inAWord(call('TodoWrite', { todos: [{ content: 'a', status: 'completed' }, { content: 'b' }] }), result('ok')).text,
    '1 of 2 done',
  );
  assert.equal(inAWord(call('mystery', { a: 1 }), null).text, 'no result');
  assert.equal(inAWord(call('bash', {}), result('', { details: { exitCode: 3 } })).text, 'exit 3');
  assert.equal(
    inAWord(call('read', {}), { ...result(''), text: [{ $ref: 'x', pointer: '/a', bytes: 18_400_000 }] }).text,
    '18.4 MB',
  );
});

test('what a call was about', () => {
  assert.equal(argument(call('bash', { command: 'npm test\nrest', timeout: 4 })), 'npm test …');
  assert.equal(argument(call('odd', { long: 'abcdef', s: 'ab' })), 'ab');
  assert.equal(argument(call('odd', null)), '');
});

test('patches: structured, unified, numbered', () => {
  const structured = patchOf(
    result('', { details: { structuredPatch: [{ oldStart: 39, newStart: 39, lines: [' a', '-b', '+c', '+d'] }] } }),
  )!;
  assert.deepEqual(
    structured.lines.map((l) => [l.sign, l.old, l.new]),
    [
      [' ', 39, 39],
      ['-', 40, null],
      ['+', null, 40],
      ['+', null, 41],
    ],
  );
  const unified = patchOf(result('', { details: { diff: '--- a\n+++ b\n@@ -3,2 +3,2 @@\n x\n-y\n+z\n' } }))!;
  assert.deepEqual(
    unified.lines.map((l) => [l.sign, l.text]),
    [
      [' ', 'x'],
      ['-', 'y'],
      ['+', 'z'],
    ],
  );
  const numbered = patchOf(result('', { details: { diff: '  1 a\n- 2 b\n+ 2 c\n  3 d' } }))!;
  assert.deepEqual(
    numbered.lines.map((l) => [l.sign, l.old, l.new, l.text]),
    [
      [' ', 1, 1, 'a'],
      ['-', 2, null, 'b'],
      ['+', null, 2, 'c'],
      [' ', 3, 3, 'd'],
    ],
  );
});

test('Claude and pi give the same blocks', () => {
  const pi = body({
    type: 'message',
    message: {
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'h' },
        { type: 'text', text: 'x' },
        { type: 'toolCall', id: '1', name: 'read', arguments: { path: 'a' } },
      ],
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } },
    },
  });
  const claude = body({
    type: 'assistant',
    message: {
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'h', signature: 's' },
        { type: 'text', text: 'x' },
        { type: 'tool_use', id: '1', name: 'read', input: { path: 'a' } },
      ],
      usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 },
    },
  });
  assert.deepEqual(pi.blocks, claude.blocks);
  assert.deepEqual(pi.usage, { input: 8, output: 2, cost: 0.5 });
  assert.deepEqual(claude.usage, { input: 8, output: 2, cost: null });
  const results = body({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'ok' }] },
  });
  assert.ok(results.resultsOnly);
  assert.ok(!body({ type: 'message', message: { role: 'user', content: 'hi' } }).resultsOnly);
});

test('long texts and images stay references', () => {
  const text = { $ref: 'e', pointer: '/message/content/0/text', bytes: 9000 },
    media = { $media: 0, type: 'image/png', bytes: 10, width: 4, height: 3 };
  const content = [
    { type: 'text', text },
    { type: 'image', data: media },
  ];
  const b = body({ type: 'message', message: { role: 'user', content } });
  assert.deepEqual(b.blocks, [
    { is: 'text', text },
    { is: 'image', image: { media } },
  ]);
});

test('the first words and the whole text of an entry', () => {
  assert.equal(firstWords({ type: 'message', message: { role: 'user', content: 'one\n two' } }), 'one two');
  assert.equal(allText({ type: 'message', message: { role: 'bashExecution', command: 'ls', output: 'a' } }), '$ ls\na');
});

test('odds and ends', () => {
  assert.deepEqual(editPairs({ edits: [{ oldText: 'a', newText: 'b' }] }), [['a', 'b']]);
  assert.equal(exitStatus(result('x\nexit code: 2')), 2);
  assert.deepEqual(todos(call('todo', { todos: 'x' })), []);
});
