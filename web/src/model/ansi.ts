// Terminal output before colours are read: everything but SGR is dropped, \r and \b are applied.

const ESC = '\u001b';

// Drops OSC, DCS, APC, PM, SOS strings and every CSI that is no SGR.
export function onlyColours(text: string): string {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '\u009b') {
      i = csiEnd(text, i + 1);
      continue;
    }
    if (c !== ESC) {
      out += c;
      continue;
    }
    const next = text[i + 1];
    if (next === '[') {
      const end = csiEnd(text, i + 2);
      if (text[end] === 'm' && /^[0-9;:]*$/.test(text.slice(i + 2, end)))
        out += text.slice(i, end + 1).replace(/:/g, ';');
      i = end;
    } else if (next !== undefined && ']PX^_'.includes(next)) i = stringEnd(text, i + 2);
    else i++;
  }
  return out;
}

function csiEnd(text: string, from: number): number {
  let i = from;
  while (i < text.length && !(text[i]! >= '@' && text[i]! <= '~')) i++;
  return i;
}

function stringEnd(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\u0007' || text[i] === '\u009c') return i;
    if (text[i] === ESC && text[i + 1] === '\\') return i + 1;
  }
  return text.length;
}

// One line as a terminal would leave it: \r goes back to its beginning, \b one cell back. Colour
// sequences take no cell; they stay with the cell that follows them.
export function settle(line: string): string {
  if (!line.includes('\r') && !line.includes('\b')) return line;
  const cells: string[] = [];
  let at = 0,
    pending = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!;
    if (c === '\r') at = 0;
    else if (c === '\b') at = Math.max(0, at - 1);
    else if (c === ESC) {
      const end = line.indexOf('m', i);
      pending += line.slice(i, end + 1);
      i = end < 0 ? line.length : end;
    } else {
      cells[at++] = pending + c;
      pending = '';
    }
  }
  return Array.from(cells, (c) => c ?? ' ').join('') + pending;
}

export const terminal = (text: string): string => onlyColours(text).split('\n').map(settle).join('\n');

// Without colours, too: for places that show one line.
export const uncoloured = (text: string): string => onlyColours(text).replace(/\u001b\[[0-9;]*m/g, '');
