// A stored entry made into blocks that the parts can draw, whichever agent wrote it. `view=ui` replaces
// long texts by references and images by media; both stay what they are here.
import type { Entry, Media, Ref } from '../api/types.ts';

export type Text = { text: string } | Ref;

export type Block =
  | { is: 'text'; text: Text }
  | { is: 'thinking'; text: Text | null; ms?: number }
  | { is: 'call'; id: string; name: string; args: any }
  | { is: 'result'; id: string; name: string | null; text: Text[]; images: Image[]; error: boolean; details: any }
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

const isRef = (v: any): v is Ref => v && typeof v === 'object' && typeof v.$ref === 'string';
const isMedia = (v: any): v is Media => v && typeof v === 'object' && typeof v.$media === 'number';

export function textIn(v: any): Text | null {
  if (typeof v === 'string') return { text: v };
  return isRef(v) ? v : null;
}

function imageIn(b: any): Image | null {
  for (const v of [b, b.data, b.source, b.source?.data, b.image]) if (isMedia(v)) return { media: v };
  if (b.type !== 'image') return null;
  const data = typeof b.data === 'string' ? b.data : typeof b.source?.data === 'string' ? b.source.data : '';
  return { type: b.mimeType ?? b.source?.media_type ?? 'image', bytes: Math.floor(data.length * 0.75), data };
}

function resultContent(content: any): { text: Text[]; images: Image[] } {
  const text: Text[] = [],
    images: Image[] = [];
  const list = Array.isArray(content) ? content : [content];
  for (const b of list) {
    const t = textIn(b) ?? (b && typeof b === 'object' ? textIn(b.text) : null);
    if (t) {
      text.push(t);
      continue;
    }
    const image = b && typeof b === 'object' ? imageIn(b) : null;
    if (image) images.push(image);
  }
  return { text, images };
}

function block(b: any, entry: Entry): Block {
  switch (b?.type) {
    case 'text': {
      const text = textIn(b.text);
      return text ? { is: 'text', text } : { is: 'unknown', type: 'text' };
    }
    case 'thinking':
    case 'redacted_thinking':
      return { is: 'thinking', text: textIn(b.thinking ?? b.text) };
    case 'toolCall':
      return { is: 'call', id: String(b.id ?? ''), name: String(b.name ?? 'tool'), args: b.arguments ?? {} };
    case 'tool_use':
    case 'server_tool_use':
      return { is: 'call', id: String(b.id ?? ''), name: String(b.name ?? 'tool'), args: b.input ?? {} };
    case 'tool_result':
      return {
        is: 'result',
        id: String(b.tool_use_id ?? ''),
        name: null,
        ...resultContent(b.content),
        error: b.is_error === true,
        details: entry['toolUseResult'],
      };
    default: {
      const image = b && typeof b === 'object' ? imageIn(b) : null;
      return image ? { is: 'image', image } : { is: 'unknown', type: String(b?.type ?? typeof b) };
    }
  }
}

function usageIn(u: any): Usage | null {
  if (!u || typeof u !== 'object') return null;
  const input =
    (u.input ?? u.input_tokens ?? 0) +
    (u.cacheRead ?? u.cache_read_input_tokens ?? 0) +
    (u.cacheWrite ?? u.cache_creation_input_tokens ?? 0);
  return {
    input,
    output: u.output ?? u.output_tokens ?? 0,
    cost: typeof u.cost?.total === 'number' ? u.cost.total : null,
  };
}

function special(m: any): Block[] | null {
  if (m.role === 'bashExecution' || m.role === 'pythonExecution') {
    return [
      {
        is: 'shell',
        command: String(m.command ?? m.code ?? ''),
        output: textIn(m.output),
        exit: typeof m.exitCode === 'number' ? m.exitCode : null,
        cancelled: m.cancelled === true,
      },
    ];
  }
  if (m.role === 'toolResult' || m.role === 'tool') {
    return [
      {
        is: 'result',
        id: String(m.toolCallId ?? ''),
        name: m.toolName ?? null,
        ...resultContent(m.content),
        error: m.isError === true,
        details: m.details,
      },
    ];
  }
  return null;
}

export function body(entry: Entry): Body {
  const m = entry['message'] ?? entry;
  const content = m.content ?? m.summary;
  const blocks =
    special(m) ??
    (Array.isArray(content)
      ? content.map((b) => block(b, entry))
      : textIn(content)
        ? [{ is: 'text', text: textIn(content)! } as Block]
        : []);
  return {
    blocks,
    model: m.model ?? null,
    usage: usageIn(m.usage),
    stop: m.stopReason ?? m.stop_reason ?? null,
    error: typeof m.errorMessage === 'string' ? m.errorMessage : null,
    resultsOnly: blocks.length > 0 && blocks.every((b) => b.is === 'result') && m.role !== 'assistant',
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
  const parts = resultContent(instead?.content ?? []);
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
