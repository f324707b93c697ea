// Text of a session, made safe to look at. Nothing here makes markup: all of it is shown as text nodes.

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const INVISIBLE = /[\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff]/;
export const LINE_MAX = 2000;
export const TITLE_MAX = 120;

// Control characters become their pictures; bidi and zero-width ones a visible mark.
export function visible(text: string): string {
  let out = '';
  for (const c of text) {
    const code = c.codePointAt(0)!;
    if (code === 9 || code === 10) out += c;
    else if (code < 32) out += String.fromCharCode(0x2400 + code);
    else if (code === 127) out += '\u2421';
    else if (code >= 128 && code < 160) out += '\ufffd';
    else if (BIDI.test(c) || INVISIBLE.test(c) || (code >= 0xe0000 && code < 0xe0080))
      out += `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
    else out += c;
  }
  return out;
}

// Prose keeps joiners (emoji and several scripts need them) but no control characters and no overrides.
export function readable(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, (c) =>
      c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd',
    )
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase()}\u27e9`);
}

export function cutLine(line: string): { text: string; cut: number } {
  return line.length <= LINE_MAX
    ? { text: line, cut: 0 }
    : { text: line.slice(0, LINE_MAX), cut: line.length - LINE_MAX };
}

export function title(text: string): string {
  const flat = visible(text.replace(/\s+/g, ' ').trim());
  return flat.length <= TITLE_MAX ? flat : `${flat.slice(0, TITLE_MAX - 1)}…`;
}

// Where a link may lead: three schemes, no credentials. The host is shown when the text does not say it.
export function link(href: string, text: string): { href: string; host: string | null } | null {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!['http:', 'https:', 'mailto:'].includes(url.protocol)) return null;
  if (url.username || url.password) return null;
  const shown = text.trim();
  const says =
    shown === href || shown === url.href || shown === url.host || (url.host !== '' && shown.includes(url.host));
  return { href: url.href, host: url.protocol === 'mailto:' || says ? null : url.host };
}
