// Addresses: the URL is the state. Parsing never fails; what it does not know becomes the list.

export type Route =
  | { page: 'sessions'; query: URLSearchParams }
  | { page: 'session'; key: string; agent: string | null; entry: string | null; query: URLSearchParams }
  | { page: 'compare'; key: string; a: string; b: string; query: URLSearchParams }
  | { page: 'usage'; query: URLSearchParams };

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parseRoute(path: string, search: string): Route {
  const query = new URLSearchParams(search);
  const p = path.split('/').filter(Boolean).map(decode);
  if (p[0] === 'usage') return { page: 'usage', query };
  if (p[0] !== 's' || !p[1]) return { page: 'sessions', query };
  const key = p[1];
  if (p[2] === 'compare' && p[3]?.includes('...')) {
    const at = p[3].indexOf('...');
    return { page: 'compare', key, a: p[3].slice(0, at), b: p[3].slice(at + 3), query };
  }
  let rest = p.slice(2),
    agent: string | null = null;
  if (rest[0] === 'agents' && rest[1]) {
    agent = rest[1];
    rest = rest.slice(2);
  }
  return { page: 'session', key, agent, entry: rest[0] === 'e' && rest[1] ? rest[1] : null, query };
}

export function formatRoute(r: Route): string {
  const e = encodeURIComponent;
  const q = r.query.toString();
  const tail = q ? `?${q.replace(/%2C/g, ',')}` : '';
  switch (r.page) {
    case 'sessions':
      return `/s${tail}`;
    case 'usage':
      return `/usage${tail}`;
    case 'compare':
      return `/s/${e(r.key)}/compare/${e(r.a)}...${e(r.b)}${tail}`;
    case 'session':
      return `/s/${e(r.key)}${r.agent ? `/agents/${e(r.agent)}` : ''}${r.entry ? `/e/${e(r.entry)}` : ''}${tail}`;
  }
}

export const sessionAt = (key: string, entry: string | null = null): string =>
  formatRoute({ page: 'session', key, agent: null, entry, query: new URLSearchParams() });

// The one-time code or the token of #t=…
export const takeCode = (hash: string): string | null =>
  hash.startsWith('#t=') ? decode(hash.slice(3)).trim() || null : null;
