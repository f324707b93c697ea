// A tool call and its result, said in a word.
import type { Block, Text } from './body.ts';
import { bytes, count } from './format.ts';
import { fields, list, member, numberOr, textOr } from './json.ts';

export type Call = Extract<Block, { is: 'call' }>;
export type Result = Extract<Block, { is: 'result' }>;

export type Family = 'read' | 'find' | 'edit' | 'write' | 'shell' | 'web' | 'task' | 'todo' | 'other';

const FAMILIES: Record<string, Family> = {
  read: 'read',
  cat: 'read',
  notebookread: 'read',
  view: 'read',
  ls: 'find',
  grep: 'find',
  find: 'find',
  glob: 'find',
  search: 'find',
  edit: 'edit',
  multiedit: 'edit',
  notebookedit: 'edit',
  apply_patch: 'edit',
  write: 'write',
  bash: 'shell',
  shell: 'shell',
  exec: 'shell',
  python: 'shell',
  bashoutput: 'shell',
  webfetch: 'web',
  websearch: 'web',
  web_search: 'web',
  fetch: 'web',
  browser: 'web',
  task: 'task',
  agent: 'task',
  subagent: 'task',
  todowrite: 'todo',
  todo: 'todo',
  update_plan: 'todo',
};

export const family = (name: string): Family => FAMILIES[name.toLowerCase()] ?? 'other';

const ARGS = [
  'file_path',
  'path',
  'filePath',
  'notebook_path',
  'command',
  'cmd',
  'code',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'name',
];

// What the call was about: a path, a command, a pattern; else its shortest string.
export function argument(call: Call): string {
  if (typeof call.args === 'string') return call.args;
  const a = fields(call.args);
  for (const key of ARGS) {
    const value = textOr(a[key], '');
    if (value) return oneLine(value);
  }
  const strings = Object.values(a)
    .filter((v): v is string => typeof v === 'string' && v !== '')
    .sort((x, y) => x.length - y.length);
  return strings.length ? oneLine(strings[0]!) : '';
}

const oneLine = (s: string): string => {
  const t = s.trimStart();
  const nl = t.indexOf('\n');
  return nl < 0 ? t : `${t.slice(0, nl)} …`;
};

export interface Word {
  text: string;
  tone: 'plain' | 'good' | 'bad';
  added?: number;
  removed?: number;
}

const sizeOf = (t: Text[]): number => t.reduce((n, x) => n + ('text' in x ? x.text.length : x.bytes), 0);
export const linesOf = (t: Text[]): number => {
  let n = 0;
  for (const x of t) if ('text' in x && x.text) n += x.text.replace(/\n$/, '').split('\n').length;
  return n;
};

export function exitStatus(r: Result): number | null {
  const exit = member(r.details, 'exitCode', 'exit_code', 'code');
  if (typeof exit === 'number') return exit;
  const text = r.text.map((t) => ('text' in t ? t.text : '')).join('\n');
  const m =
    /(?:exit(?:ed)?(?: with)?(?: code| status)?[: ]+)(-?\d+)/i.exec(text.slice(-400)) ??
    /(?:exit(?:ed)?(?: with)?(?: code| status)?[: ]+)(-?\d+)/i.exec(text.slice(0, 200));
  if (m) return Number(m[1]);
  return r.error ? 1 : null;
}

// +a −d of an edit: what the tool stored, else what its arguments say.
export function changed(call: Call, r: Result | null): { added: number; removed: number } | null {
  const patch = patchOf(r);
  if (patch) return countPatch(patch);
  const written = fields(call.args)['content'];
  if (family(call.name) === 'write' && typeof written === 'string')
    return { added: written === '' ? 0 : written.replace(/\n$/, '').split('\n').length, removed: 0 };
  const pairs = editPairs(call.args);
  if (!pairs.length) return null;
  const lines = (s: string): number => (s === '' ? 0 : s.replace(/\n$/, '').split('\n').length);
  return pairs.reduce(
    (sum, [o, n]) => {
      const oldLines = o.split('\n'),
        newLines = n.split('\n');
      let head = 0;
      while (head < oldLines.length && head < newLines.length && oldLines[head] === newLines[head]) head++;
      let tail = 0;
      while (
        tail < oldLines.length - head &&
        tail < newLines.length - head &&
        oldLines[oldLines.length - 1 - tail] === newLines[newLines.length - 1 - tail]
      )
        tail++;
      return {
        added: sum.added + (n ? lines(n) - head - tail : 0),
        removed: sum.removed + (o ? lines(o) - head - tail : 0),
      };
    },
    { added: 0, removed: 0 },
  );
}

function editPair(v: unknown): [string, string][] {
  const before = member(v, 'old_string', 'oldText'),
    after = member(v, 'new_string', 'newText');
  return typeof before === 'string' && typeof after === 'string' ? [[before, after]] : [];
}

export function editPairs(args: unknown): [string, string][] {
  const many = list(fields(args)['edits']).flatMap(editPair);
  return many.length ? many : editPair(args);
}

export type Patch = { lines: { sign: ' ' | '+' | '-' | '@'; old: number | null; new: number | null; text: string }[] };

// The patch that a tool stored: Claude's structuredPatch, pi's numbered lines, or a unified diff.
export function patchOf(r: Result | null): Patch | null {
  const d = fields(r?.details),
    hunks = list(d['structuredPatch']);
  if (hunks.length) return fromHunks(hunks);
  const text = textOr(d['diff'], textOr(d['patch'], ''));
  if (!text) return null;
  return /^@@ /m.test(text) ? fromUnified(text) : fromNumbered(text);
}

function fromHunks(hunks: unknown[]): Patch {
  const lines: Patch['lines'] = [];
  hunks.forEach((hunk, k) => {
    const h = fields(hunk),
      before = numberOr(h['oldStart'], 1),
      after = numberOr(h['newStart'], 1);
    if (k) lines.push({ sign: '@', old: null, new: null, text: `@@ -${before} +${after} @@` });
    number(lines, list(h['lines']).map(String), before || 1, after || 1);
  });
  return { lines };
}

function number(out: Patch['lines'], lines: string[], oldAt: number, newAt: number): void {
  for (const line of lines) {
    const sign = line[0] === '+' ? '+' : line[0] === '-' ? '-' : ' ';
    if (line[0] === '\\') continue;
    out.push({ sign, old: sign === '+' ? null : oldAt, new: sign === '-' ? null : newAt, text: line.slice(1) });
    if (sign !== '+') oldAt++;
    if (sign !== '-') newAt++;
  }
}

function fromUnified(text: string): Patch {
  const lines: Patch['lines'] = [];
  let hunk: string[] = [],
    oldAt = 1,
    newAt = 1,
    inside = false;
  const flush = (): void => {
    number(lines, hunk, oldAt, newAt);
    hunk = [];
  };
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const m = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (m) {
      if (inside) {
        flush();
        lines.push({ sign: '@', old: null, new: null, text: line });
      }
      inside = true;
      oldAt = Number(m[1]);
      newAt = Number(m[2]);
    } else if (inside) hunk.push(line);
  }
  flush();
  return { lines };
}

// "+ 12 text", "- 12 text", "  12 text"; "..." stands for what was left out.
function fromNumbered(text: string): Patch {
  const lines: Patch['lines'] = [];
  let shift = 0;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const m = /^([ +-])\s*(\d+)? ?(.*)$/s.exec(line);
    if (!m) continue;
    const sign = m[1] as ' ' | '+' | '-',
      at = m[2] ? Number(m[2]) : null;
    if (at === null && m[3]!.trim() === '...') {
      lines.push({ sign: '@', old: null, new: null, text: '…' });
      continue;
    }
    lines.push({
      sign,
      old: sign === '+' ? null : at,
      new: sign === '-' ? null : at === null ? null : sign === ' ' ? at + shift : at,
      text: m[3]!,
    });
    if (sign === '+') shift++;
    if (sign === '-') shift--;
  }
  return { lines };
}

export function countPatch(p: Patch): { added: number; removed: number } {
  let added = 0,
    removed = 0;
  for (const l of p.lines)
    if (l.sign === '+') added++;
    else if (l.sign === '-') removed++;
  return { added, removed };
}

export function inAWord(call: Call, r: Result | null): Word {
  if (!r) return { text: 'no result', tone: 'plain' };
  const kind = family(call.name);
  if (kind === 'edit' || kind === 'write') {
    const n = r.error ? null : changed(call, r);
    if (n) return { text: '', tone: 'plain', ...n };
  }
  if (kind === 'shell') {
    const exit = exitStatus(r) ?? 0;
    return { text: `exit ${exit}`, tone: exit ? 'bad' : 'good' };
  }
  if (r.error) return { text: 'failed', tone: 'bad' };
  const lines = linesOf(r.text),
    size = sizeOf(r.text);
  if (r.text.some((t) => '$ref' in t)) return { text: bytes(size), tone: 'plain' };
  switch (kind) {
    case 'read':
      return {
        text: r.images.length && !lines ? 'image' : `${count(lines)} ${lines === 1 ? 'line' : 'lines'}`,
        tone: 'plain',
      };
    case 'find':
      return { text: `${count(lines)} ${lines === 1 ? 'match' : 'matches'}`, tone: 'plain' };
    case 'web':
      return { text: hostOf(call) ?? bytes(size), tone: 'plain' };
    case 'todo':
      return { text: todoWord(call), tone: 'plain' };
    case 'task':
      return { text: 'done', tone: 'good' };
    default:
      return { text: r.images.length && !size ? 'image' : bytes(size), tone: 'plain' };
  }
}

function hostOf(call: Call): string | null {
  try {
    return new URL(String(fields(call.args)['url'])).host || null;
  } catch {
    return null;
  }
}

export interface Todo {
  text: string;
  state: 'done' | 'doing' | 'open';
}
export function todos(call: Call): Todo[] {
  return list(member(call.args, 'todos', 'plan', 'items')).map((t) => {
    const { status, done } = fields(t) as { status?: unknown; done?: unknown };
    return {
      text: String(member(t, 'content', 'step', 'text') ?? t),
      state: status === 'completed' || done === true ? 'done' : status === 'in_progress' ? 'doing' : 'open',
    };
  });
}

function todoWord(call: Call): string {
  const all = todos(call);
  return all.length ? `${all.filter((t) => t.state === 'done').length} of ${all.length} done` : 'list';
}
