import test from 'node:test';
import assert from 'node:assert/strict';
import { onlyColours, settle, terminal } from '../src/model/ansi.ts';
import { link, readable, title, visible } from '../src/model/safe.ts';
import { markdown, unescape } from '../src/worker/markdown.ts';
import { highlight, languageOf, runs } from '../src/worker/highlight.ts';
import { compare, patchLines } from '../src/worker/diff.ts';
import type { Node } from '../src/worker/nodes.ts';

test('links: three schemes, and the true host when the text hides it', () => {
  assert.equal(link('javascript:alert(1)', 'x'), null);
  assert.equal(link('data:text/html,x', 'x'), null);
  assert.equal(link('//evil.example', 'x'), null);
  assert.equal(link('https://user:pw@evil.example', 'x'), null);
  assert.deepEqual(link('https://evil.example/a', 'bank.example'), {
    href: 'https://evil.example/a',
    host: 'evil.example',
  });
  assert.deepEqual(link('https://good.example/', 'https://good.example/'), {
    href: 'https://good.example/',
    host: null,
  });
  assert.equal(link('mailto:a@b.example', 'write')?.host, null);
});

test('control, bidi and zero-width characters are visible', () => {
  assert.equal(visible('a\u202eb\u200bc\u0007'), 'a⟨U+202E⟩b⟨U+200B⟩c␇');
  assert.equal(visible('a\tb\nc'), 'a\tb\nc');
  assert.equal(readable('\u{1f468}\u200d\u{1f469}\u202e'), '\u{1f468}\u200d\u{1f469}⟨U+202E⟩');
  assert.ok(title(`x\n${'y'.repeat(300)}`).length <= 120);
});

test('terminal: colours stay, everything else goes', () => {
  assert.equal(
    onlyColours('\u001b]0;title\u0007\u001b[31mred\u001b[0m\u001b[2J\u001b[1;1H\u001bP1$q\u001b\\x'),
    '\u001b[31mred\u001b[0mx',
  );
  assert.equal(onlyColours('\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\'), 'link');
  assert.equal(settle('10 %\r100 %'), '100 %');
  assert.equal(settle('ab\bc'), 'ac');
  assert.equal(terminal('1\r2\n3'), '2\n3');
});

test('Markdown becomes nodes; html stays text', () => {
  const [p] = markdown('a **b** `c` [d](https://e.example) <img src=x onerror=alert(1)>');
  assert.equal(p!.t, 'p');
  const kinds = (p as Extract<Node, { t: 'p' }>).c.map((x) => (typeof x === 'string' ? 's' : x.t));
  assert.deepEqual(kinds, ['s', 'b', 's', 'code', 's', 'a', 's', 'html']);
  assert.equal(markdown('<script>alert(1)</script>')[0]!.t, 'html');
  assert.equal(unescape('a &lt; b &amp;amp; &#65; &bogus;'), 'a < b &amp; A &bogus;');
  const tasks = markdown('- [x] done\n- [ ] not')[0] as Extract<Node, { t: 'ul' | 'ol' }>;
  assert.equal(tasks.items[0]!.task, true);
  const table = markdown(`|a|b|\n|-|-|\n${'|1|2|\n'.repeat(250)}`)[0] as Extract<Node, { t: 'table' }>;
  assert.equal(table.rows.length, 200);
  assert.equal(table.cut, 50);
});

test('deep nesting ends as text', () => {
  const nodes = markdown(`${'> '.repeat(100)}deep`);
  let depth = 0;
  for (let n = nodes[0]; n?.t === 'quote'; n = n.c[0]) depth++;
  assert.ok(depth >= 30 && depth <= 33);
});

test('highlight.js gives its tree as runs (pinned: a private member)', () => {
  const r = runs('const a = "b"; // c', 'ts');
  assert.deepEqual(r.map((x) => x[0]).filter(Boolean), ['k', 's', 'c']);
  assert.equal(r.map((x) => x[1]).join(''), 'const a = "b"; // c');
  assert.equal(languageOf('src/events/stream.ts'), 'typescript');
  assert.equal(languageOf('no-such'), null);
  const h = highlight(`a\n${'x'.repeat(5000)}`, '');
  assert.equal(h.lines.length, 2);
  assert.match(h.lines[1]!.at(-1)![1], /3000 more characters/);
});

test('a diff is numbered, and the changed part of a line is marked', () => {
  const lines = compare('a\nlet x = one;\nb\n', 'a\nlet x = two;\nb\n', 'js');
  assert.deepEqual(
    lines.map((l) => [l.sign, l.old, l.new]),
    [
      [' ', 1, 1],
      ['-', 2, null],
      ['+', null, 2],
      [' ', 3, 3],
    ],
  );
  assert.deepEqual(lines[1]!.hi, [8, 11]);
  const p = patchLines(
    [
      { sign: '-', old: 1, new: null, text: 'abc' },
      { sign: '+', old: null, new: 1, text: 'xyz' },
    ],
    '',
  );
  assert.equal(p[0]!.hi, undefined);
});
