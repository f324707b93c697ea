// A stored entry made into blocks that the parts can draw, whichever agent wrote it. `view=ui` replaces
// long texts by references and images by media; both stay what they are here.
import type { Entry, Media, Ref } from '../api/types.ts';
import { fields, isFields, list, member, numberOr, textOr, type Fields } from './json.ts';

export type Text = { text: string } | Ref;

export type Block =
  | { is: 'text'; text: Text }
  | { is: 'thinking'; text: Text | null; ms?: number }
  | { is: 'call'; id: string; name: string; args: unknown }
  | { is: 'result'; id: string; name: string | null; text: Text[]; images: Image[]; error: boolean; details: unknown }
  | { is: 'shell'; command: string; output: Text | null; exit: number | null; cancelled: boolean }
  | { is: 'image'; image: Image }
  | { is: 'unknown'; type: string };

export type Image = { media: Media } | { type: string; bytes: number; data: string };

export interface Usage {
  input: number;
  output: number;
  cost: number | null;
}

export interface Body {
  blocks: Block[];
  model: string | null;
  usage: Usage | null;
  stop: string | null;
  error: string | null;
  resultsOnly: boolean; // a user entry that holds nothing but results of tools
  meta: boolean; // written by the program, not by a person
}

const isRef = (v: unknown): v is Ref => typeof fields(v)['$ref'] === 'string';
const isMedia = (v: unknown): v is Media => typeof fields(v)['$media'] === 'number';

export function textIn(v: unknown): Text | null {
  if (typeof v === 'string') return { text: v };
  return isRef(v) ? v : null;
}

function imageIn(b: Fields): Image | null {
  const source = fields(b['source']);
  for (const v of [b, b['data'], b['source'], source['data'], b['image']]) if (isMedia(v)) return { media: v };
  if (b['type'] !== 'image') return null;
  const data = textOr(b['data'], textOr(source['data'], ''));
  const type = textOr(b['mimeType'], textOr(source['media_type'], 'image'));
  return { type, bytes: Math.floor(data.length * 0.75), data };
}

function resultContent(content: unknown): { text: Text[]; images: Image[] } {
  const text: Text[] = [],
    images: Image[] = [];
  for (const b of Array.isArray(content) ? content : [content]) {
    const t = textIn(b) ?? textIn(fields(b)['text']);
    const image = t || !isFields(b) ? null : imageIn(b);
    if (t) text.push(t);
    else if (image) images.push(image);
  }
  return { text, images };
}

const call = (b: Fields, args: unknown): Block => ({
  is: 'call',
  id: textOr(b['id'], ''),
  name: textOr(b['name'], 'tool'),
  args: args ?? {},
});

function block(v: unknown, entry: Entry): Block {
  const b = fields(v);
  switch (b['type']) {
    case 'text': {
      const text = textIn(b['text']);
      return text ? { is: 'text', text } : { is: 'unknown', type: 'text' };
    }
    case 'thinking':
    case 'redacted_thinking':
      return { is: 'thinking', text: textIn(member(b, 'thinking', 'text')) };
    case 'toolCall':
      return call(b, b['arguments']);
    case 'tool_use':
    case 'server_tool_use':
      return call(b, b['input']);
    case 'tool_result':
      return {
        is: 'result',
        id: textOr(b['tool_use_id'], ''),
        name: null,
        ...resultContent(b['content']),
        error: b['is_error'] === true,
        details: entry['toolUseResult'],
      };
    default: {
      const image = imageIn(b);
      return image ? { is: 'image', image } : { is: 'unknown', type: textOr(b['type'], typeof v) };
    }
  }
}

function usageIn(u: unknown): Usage | null {
  if (!isFields(u)) return null;
  const of = (...names: string[]): number => numberOr(member(u, ...names), 0);
  const read = of('cacheRead', 'cache_read_input_tokens'),
    written = of('cacheWrite', 'cache_creation_input_tokens');
  return {
    input: of('input', 'input_tokens') + read + written,
    output: of('output', 'output_tokens'),
    cost: numberOr(fields(u['cost'])['total'], null),
  };
}

function special(m: Fields): Block[] | null {
  if (m['role'] === 'bashExecution' || m['role'] === 'pythonExecution') {
    return [
      {
        is: 'shell',
        command: textOr(member(m, 'command', 'code'), ''),
        output: textIn(m['output']),
        exit: numberOr(m['exitCode'], null),
        cancelled: m['cancelled'] === true,
      },
    ];
  }
  if (m['role'] === 'toolResult' || m['role'] === 'tool') {
    return [
      {
        is: 'result',
        id: textOr(m['toolCallId'], ''),
        name: textOr(m['toolName'], null),
        ...resultContent(m['content']),
        error: m['isError'] === true,
        details: m['details'],
      },
    ];
  }
  return null;
}

function blocksOf(m: Fields, entry: Entry): Block[] {
  const content = member(m, 'content', 'summary'),
    text = textIn(content);
  if (Array.isArray(content)) return list(content).map((b) => block(b, entry));
  return text ? [{ is: 'text', text }] : [];
}

export function body(entry: Entry): Body {
  const m = fields(entry['message'] ?? entry);
  const blocks = special(m) ?? blocksOf(m, entry);
  return {
    blocks,
    model: textOr(m['model'], null),
    usage: usageIn(m['usage']),
    stop: textOr(member(m, 'stopReason', 'stop_reason'), null),
    error: textOr(m['errorMessage'], null),
    resultsOnly: blocks.length > 0 && blocks.every((b) => b.is === 'result') && m['role'] !== 'assistant',
    meta: entry['isMeta'] === true,
  };
}

export const plainText = (t: Text | null): string => (t && 'text' in t ? t.text : '');

// First words of an entry, for places that show one line.
export function firstWords(entry: Entry, max = 120): string {
  for (const b of body(entry).blocks) {
    const text = b.is === 'text' ? plainText(b.text) : b.is === 'shell' ? b.command : b.is === 'call' ? b.name : '';
    if (text.trim()) return text.replace(/\s+/g, ' ').trim().slice(0, max);
  }
  return '';
}

// What the model sees in place of an entry that this one edits: null for nothing. An entry that says neither edits
// nothing.
export function editOf(entry: Entry): { target: string; instead: string | null } | null {
  const target = entry['targetId'],
    instead = entry['replacement'];
  if (typeof target !== 'string' || instead === undefined) return null;
  const parts = resultContent(fields(instead)['content'] ?? []);
  return {
    target,
    instead: instead === null ? null : [...parts.text.map(plainText), ...parts.images.map(() => 'an image')].join(' '),
  };
}

// A reply that only calls a tool begins with what it called it with: of an object in JSON its first text.
export const firstArgument = (text: string): string =>
  /^\{"[^"]+": ?"((?:[^"\\]|\\.)*)/.exec(text)?.[1]?.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1') ?? text;

// The whole text of an entry, for Copy.
export function allText(entry: Entry): string {
  return body(entry)
    .blocks.map((b) =>
      b.is === 'text'
        ? plainText(b.text)
        : b.is === 'shell'
          ? `$ ${b.command}\n${plainText(b.output)}`
          : b.is === 'result'
            ? b.text.map(plainText).join('\n')
            : '',
    )
    .filter(Boolean)
    .join('\n\n');
}
