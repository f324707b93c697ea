// What every page shares: where we are, who we are, and what is said in passing.
import { computed, signal } from '@preact/signals';
import { get } from '../api/http.ts';
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
  noticeTimer = setTimeout(() => { notice.value = null; }, tone === 'bad' ? 8000 : 3500) as unknown as number;
}

// Going somewhere may be refused while an edited draft would be lost.
let guard: (() => boolean) | null = null;
export function setGuard(g: (() => boolean) | null): void { guard = g; }

export function go(to: string, o: { replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  const next = parseRoute(url.pathname, url.search);
  const samePage = next.page === route.value.page && (!('key' in next) || !('key' in route.value) || next.key === route.value.key);
  if (!samePage && guard && !guard()) return;
  // The place on the page belongs to the address: it stays when only what stands beside it changes.
  if (o.replace) history.replaceState(url.pathname === location.pathname ? history.state : null, '', to);
  else history.pushState(null, '', to);
  route.value = next;
}

addEventListener('popstate', () => { route.value = parseRoute(location.pathname, location.search); });

// Links of ours are followed without a reload; everything else is the browser's.
export function followLinks(): void {
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = (e.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
    if (!a || a.target || a.origin !== location.origin || a.hasAttribute('download') || a.pathname.startsWith('/api/') || a.pathname === '/licenses') return;
    e.preventDefault();
    go(a.pathname + a.search);
  });
}

export function toggleTheme(): void {
  const dark = document.documentElement.dataset['theme'] !== 'dark';
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  keep({ theme: dark ? 'dark' : 'light' });
}

// The name of a page. A session's content never stands in a title: it would go into the history.
export function setTitle(text: string): void { document.title = text ? `${title(text)} · grove` : 'grove'; }

// The code leaves the address before anything else is asked for.
export async function begin(): Promise<void> {
  const code = takeCode(location.hash);
  if (code) {
    history.replaceState(null, '', location.pathname + location.search);
    await fetch('/api/v1/auth/exchange', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Grove': '1' }, body: JSON.stringify({ code }), credentials: 'same-origin' }).catch(() => null);
  }
  me.value = await get<Me>('/me').catch(() => null);
}

export async function copy(text: string, what: string, then = ''): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied${then}`);
  } catch {
    say(`Copying is off here: ${text.slice(0, 200)}`);
  }
}
