// The letters in which /tree spells kinds and roles; openapi.json lists the same.

export type Kind =
  | 'other'
  | 'message'
  | 'thinking'
  | 'model'
  | 'usage'
  | 'compaction'
  | 'branch-summary'
  | 'custom'
  | 'custom-message'
  | 'context-edit'
  | 'label'
  | 'name'
  | 'service-tier'
  | 'context-change'
  | 'mode'
  | 'init'
  | 'rules'
  | 'tools'
  | 'reset'
  | 'credential'
  | 'system'
  | 'attachment'
  | 'progress'
  | 'meta'
  | 'subagent-batch'
  | 'subagent-result';

export type Role =
  | 'none'
  | 'other'
  | 'system'
  | 'user'
  | 'assistant'
  | 'tool'
  | 'bash'
  | 'custom'
  | 'developer'
  | 'python'
  | 'files'
  | 'summary';

export const KINDS: Record<string, Kind> = {
  m: 'message',
  t: 'thinking',
  o: 'model',
  u: 'usage',
  c: 'compaction',
  b: 'branch-summary',
  x: 'custom',
  y: 'custom-message',
  e: 'context-edit',
  l: 'label',
  n: 'name',
  v: 'service-tier',
  h: 'context-change',
  d: 'mode',
  i: 'init',
  r: 'rules',
  k: 'tools',
  z: 'reset',
  a: 'credential',
  s: 'system',
  f: 'attachment',
  g: 'progress',
  q: 'meta',
  w: 'subagent-batch',
  W: 'subagent-result',
};

export const ROLES: Record<string, Role> = {
  '-': 'none',
  o: 'other',
  s: 'system',
  u: 'user',
  a: 'assistant',
  t: 'tool',
  b: 'bash',
  c: 'custom',
  d: 'developer',
  p: 'python',
  f: 'files',
  m: 'summary',
};

export const kindOf = (letter: string): Kind => KINDS[letter] ?? 'other';
export const roleOf = (letter: string): Role => ROLES[letter] ?? 'other';
