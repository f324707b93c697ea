// Code to runs of (class, text), line by line. The emitter's tree is a private member of the result;
// the version is pinned and a test holds it.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import type { Run } from './nodes.ts';

const LANGUAGES = {
  bash,
  c,
  cpp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  lua,
  makefile,
  python,
  ruby,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const ENDINGS: Record<string, string> = {
  sh: 'bash',
  zsh: 'bash',
  console: 'bash',
  shell: 'bash',
  h: 'c',
  cc: 'cpp',
  hpp: 'cpp',
  cxx: 'cpp',
  scss: 'css',
  less: 'css',
  patch: 'diff',
  golang: 'go',
  toml: 'ini',
  conf: 'ini',
  kt: 'java',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascript',
  jsonl: 'json',
  json5: 'json',
  mk: 'makefile',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  html: 'xml',
  svg: 'xml',
  vue: 'xml',
  yml: 'yaml',
};

export function languageOf(name: string): string | null {
  const word =
    name
      .trim()
      .toLowerCase()
      .split(/[\s{,]/)[0] ?? '';
  const file = word.split('/').pop() ?? '';
  if (file === 'dockerfile' || file === 'makefile') return file;
  const ending = file.includes('.') ? file.split('.').pop()! : file;
  const language = ENDINGS[ending] ?? ending;
  return hljs.getLanguage(language) ? language : null;
}

const LINES_MAX = 2000;
const LINE_MAX = 2000;

// Few classes on the page, many in highlight.js.
function tone(scope: string): string {
  const s = scope.split('.')[0]!;
  if (/^(keyword|built_in|literal|selector-tag|tag|name|doctag|meta)$/.test(s))
    return s === 'built_in' ? 'f' : s === 'literal' ? 'n' : 'k';
  if (/^(string|regexp|char|addition|template-tag|attribute-value)$/.test(s)) return 's';
  if (/^(number|symbol|bullet|variable|template-variable|attr|attribute|property|params|deletion)$/.test(s))
    return s === 'number' || s === 'symbol' ? 'n' : s === 'deletion' ? 'd' : '';
  if (/^(title|function|class|section|type|selector-class|selector-id)$/.test(s)) return 'f';
  return /^(comment|quote)$/.test(s) ? 'c' : '';
}

// The tree that highlight.js makes: scopes with texts in them.
interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

function flatten(root: Scope): Run[] {
  const out: Run[] = [];
  const stack: [Scope | string, string][] = [[root, '']];
  while (stack.length) {
    const [node, cls] = stack.pop()!;
    if (typeof node === 'string') {
      out.push([cls, node]);
      continue;
    }
    const own = node.scope ? tone(String(node.scope)) : cls;
    for (let i = node.children.length - 1; i >= 0; i--) stack.push([node.children[i]!, own]);
  }
  return out;
}

export function intoLines(runs: Run[]): Run[][] {
  const lines: Run[][] = [[]];
  for (const [cls, text] of runs) {
    text.split('\n').forEach((part, i) => {
      if (i) lines.push([]);
      if (part) lines[lines.length - 1]!.push([cls, part]);
    });
  }
  return lines;
}

function cutLong(line: Run[]): Run[] {
  let left = LINE_MAX;
  const out: Run[] = [];
  for (const [cls, text] of line) {
    if (text.length > left) {
      out.push(
        [cls, text.slice(0, left)],
        ['cut', ` … ${line.reduce((n, r) => n + r[1].length, 0) - LINE_MAX} more characters`],
      );
      return out;
    }
    left -= text.length;
    out.push([cls, text]);
  }
  return out;
}

export function runs(text: string, lang: string): Run[] {
  const language = languageOf(lang);
  if (!language) return [['', text]];
  const result = hljs.highlight(text, { language, ignoreIllegals: true });
  return flatten((result._emitter as unknown as { root: Scope }).root);
}

export function highlight(text: string, lang: string): { lang: string; lines: Run[][]; cut: number } {
  const all = text.split('\n');
  const long = all.some((l) => l.length > 8 * LINE_MAX);
  const shown = all.slice(0, LINES_MAX).join('\n');
  const lines = intoLines(long ? [['', shown]] : runs(shown, lang)).map(cutLong);
  return { lang: lang.trim().split(/\s/)[0] ?? '', lines, cut: Math.max(0, all.length - LINES_MAX) };
}
