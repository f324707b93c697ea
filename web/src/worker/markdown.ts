// Markdown to nodes, by marked's lexer alone. Its `html` tokens are text here.
import { Lexer, type Token, type Tokens } from 'marked';
import type { Inline, Node } from './nodes.ts';
import { highlight } from './highlight.ts';

const NESTING_MAX = 32;
const TABLE_ROWS_MAX = 200;

// marked leaves character references as they are, for the HTML it would make; text wants the characters.
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
export function unescape(text: string): string {
  return text.includes('&')
    ? text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,6});/gi, (all, name: string) => {
        if (name[0] !== '#') return NAMED[name.toLowerCase()] ?? all;
        const code = name[1] === 'x' || name[1] === 'X' ? parseInt(name.slice(2), 16) : Number(name.slice(1));
        return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : all;
      })
    : text;
}

function inline(tokens: Token[] | undefined, depth: number): Inline[] {
  const out: Inline[] = [];
  for (const t of tokens ?? []) {
    if (depth > NESTING_MAX) {
      out.push(t.raw);
      continue;
    }
    switch (t.type) {
      case 'codespan':
        out.push({ t: 'code', x: (t as Tokens.Codespan).text });
        break;
      case 'strong':
        out.push({ t: 'b', c: inline((t as Tokens.Strong).tokens, depth + 1) });
        break;
      case 'em':
        out.push({ t: 'i', c: inline((t as Tokens.Em).tokens, depth + 1) });
        break;
      case 'del':
        out.push({ t: 's', c: inline((t as Tokens.Del).tokens, depth + 1) });
        break;
      case 'link':
        out.push({ t: 'a', href: (t as Tokens.Link).href, c: inline((t as Tokens.Link).tokens, depth + 1) });
        break;
      case 'image':
        out.push({ t: 'img', href: (t as Tokens.Image).href, x: (t as Tokens.Image).text });
        break;
      case 'br':
        out.push({ t: 'br' });
        break;
      case 'html':
        out.push({ t: 'html', x: t.raw });
        break;
      case 'escape':
        out.push(unescape((t as Tokens.Escape).text));
        break;
      case 'text': {
        const nested = (t as Tokens.Text).tokens;
        if (nested?.length) out.push(...inline(nested, depth + 1));
        else out.push(unescape((t as Tokens.Text).text));
        break;
      }
      default:
        out.push(t.raw);
    }
  }
  return out;
}

function list(t: Tokens.List, depth: number): Node {
  return {
    t: t.ordered ? 'ol' : 'ul',
    start: typeof t.start === 'number' ? t.start : 1,
    items: t.items.map((i) => ({ task: i.task ? i.checked === true : null, c: blocks(i.tokens, depth + 1) })),
  };
}

function table(t: Tokens.Table): Node {
  const cell = (c: Tokens.TableCell): Inline[] => inline(c.tokens, 1);
  const rows = t.rows.slice(0, TABLE_ROWS_MAX).map((r) => r.map(cell));
  return {
    t: 'table',
    head: t.header.map(cell),
    align: t.align,
    rows,
    cut: Math.max(0, t.rows.length - TABLE_ROWS_MAX),
  };
}

function blocks(tokens: Token[], depth: number): Node[] {
  const out: Node[] = [];
  for (const t of tokens) {
    if (depth > NESTING_MAX) {
      out.push({ t: 'p', c: [t.raw] });
      continue;
    }
    switch (t.type) {
      case 'space':
      case 'def':
        break;
      case 'heading':
        out.push({ t: 'h', level: (t as Tokens.Heading).depth, c: inline((t as Tokens.Heading).tokens, depth) });
        break;
      case 'paragraph':
        out.push({ t: 'p', c: inline((t as Tokens.Paragraph).tokens, depth) });
        break;
      case 'text':
        out.push({ t: 'p', c: inline((t as Tokens.Text).tokens ?? [t], depth) });
        break;
      case 'code':
        out.push({ t: 'pre', ...highlight((t as Tokens.Code).text, (t as Tokens.Code).lang ?? '') });
        break;
      case 'blockquote':
        out.push({ t: 'quote', c: blocks((t as Tokens.Blockquote).tokens, depth + 1) });
        break;
      case 'list':
        out.push(list(t as Tokens.List, depth));
        break;
      case 'table':
        out.push(table(t as Tokens.Table));
        break;
      case 'hr':
        out.push({ t: 'hr' });
        break;
      case 'html':
        out.push({ t: 'html', x: t.raw.replace(/\n+$/, '') });
        break;
      // A task's box stands as a token of its own; the item says whether it is ticked.
      case 'checkbox':
        break;
      default:
        out.push({ t: 'p', c: [t.raw] });
    }
  }
  return out;
}

export const markdown = (text: string): Node[] => blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
