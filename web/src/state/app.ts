// What every page shares: where we are, who we are, and what is said in passing.
import { computed, signal } from '@preact/signals';
import { act, ApiError, get } from '../api/http.ts';
import type { Me } from '../api/types.ts';
import { keep, readKept } from '../model/kept.ts';
import { parseRoute, takeCode, type Route } from '../model/route.ts';
import { title } from '../model/safe.ts';
import { keysOn } from './keys.ts';

export const route = signal<Route>(parseRoute(location.pathname, location.search));
export const me = signal<Me | null>(null);
export const mayWrite = computed(() => me.value?.scopes.includes('write') ?? false);
keysOn.value = readKept().keys !== false;

// Says something that needs no answer, politely, once.
export const notice = signal<{ text: string; tone: 'plain' | 'bad' } | null>(null);
let noticeTimer = 0;
export function say(text: string, tone: 'plain' | 'bad' = 'plain'): void {
  notice.value = { text, tone };
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(
    () => {
      notice.value = null;
    },
    tone === 'bad' ? 8000 : 3500,
  ) as unknown as number;
}

// Going somewhere may be refused while an edited draft would be lost.
let guard: (() => boolean) | null = null;
export function setGuard(g: (() => boolean) | null): void {
  guard = g;
}

export function go(to: string, o: { replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  const next = parseRoute(url.pathname, url.search);
  const samePage =
    next.page === route.value.page && (!('key' in next) || !('key' in route.value) || next.key === route.value.key);
  if (!samePage && guard && !guard()) return;
  // The place on the page belongs to the address: it stays when only what stands beside it changes.
  if (o.replace) history.replaceState(url.pathname === location.pathname ? history.state : null, '', to);
  else history.pushState(null, '', to);
  route.value = next;
}

addEventListener('popstate', () => {
  route.value = parseRoute(location.pathname, location.search);
});

// Links of ours are followed without a reload; everything else is the browser's.
export function followLinks(): void {
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = (e.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
    if (
      !a ||
      a.target ||
      a.origin !== location.origin ||
      a.hasAttribute('download') ||
      a.pathname.startsWith('/api/') ||
      a.pathname === '/licenses'
    )
      return;
    e.preventDefault();
    go(a.pathname + a.search);
  });
}

export function toggleTheme(): void {
  const dark = document.documentElement.dataset['theme'] !== 'dark';
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  keep({ theme: dark ? 'dark' : 'light' });
}

// The name of a page. A session's content is never part of a title, which would end up in the history.
export function setTitle(text: string): void {
  document.title = text ? `${title(text)} · grove` : 'grove';
}

// A code or a token becomes a cookie. Returns why not; of the address it is kept for who signs in then.
export const wrongCode = signal<string | null>(null);
export async function signIn(code: string): Promise<string | null> {
  try {
    await act('POST /auth/exchange', {}, { code });
    return null;
  } catch (e) {
    return e instanceof ApiError && e.status === 403
      ? 'This token or code is not valid here, or no longer.'
      : e instanceof Error
        ? e.message
        : String(e);
  }
}

// The code leaves the address before anything else is asked for; then the page is opened anew, since the browser
// would still know the address as it was typed. A code that is put behind the address of an open page is no visit
// of its own to the browser.
export async function begin(): Promise<void> {
  addEventListener('hashchange', () => {
    if (takeCode(location.hash)) location.reload();
  });
  const code = takeCode(location.hash);
  if (location.hash.startsWith('#t=')) history.replaceState(null, '', location.pathname + location.search);
  const wrong = code ? await signIn(code) : null;
  if (code && wrong === null) {
    location.replace(location.href);
    await new Promise(() => undefined);
  }
  me.value = await get('/me', {}).catch(() => null);
  wrongCode.value = wrong;
  if (wrong && me.value) say(wrong, 'bad');
}

export async function copy(text: string, what: string, then = ''): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied${then}`);
  } catch {
    say(`Copying is off here: ${text.slice(0, 200)}`);
  }
}
