// What stands around every page: the bar, the offline band, what is said in passing, palette and help.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { lazy, Suspense } from './lazy.tsx';
import { hub, live, nextTry } from '../api/hub.ts';
import { offline, refused } from '../api/http.ts';
import { time } from '../model/format.ts';
import { visible } from '../model/safe.ts';
import { Icon, Logo } from '../parts/icons.tsx';
import { go, me, notice, route, toggleTheme } from '../state/app.ts';
import { overlay, useKeys } from '../state/keys.ts';

const Palette = lazy(() => import('./palette.tsx').then((m) => m.Palette));
const Help = lazy(() => import('./help.tsx').then((m) => m.Help));

function Connection(): JSX.Element {
  const text = refused.value
    ? 'Signed out'
    : offline.value || live.value === 'lost'
      ? 'Offline'
      : live.value === 'live'
        ? 'Live'
        : live.value === 'polling'
          ? 'Every 4 s'
          : 'Connecting';
  return (
    <span class="conn" role="status">
      <span class={text === 'Live' ? 'dot live' : text === 'Every 4 s' ? 'dot' : 'dot off'} />
      <span class="t">{text}</span>
    </span>
  );
}

function TryingAgain(): JSX.Element | null {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const t = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(t);
  }, []);
  const left = Math.ceil((nextTry.value - now) / 1000);
  return <span class="num">{left > 0 ? `Trying again in ${left} s. ` : 'Trying again. '}</span>;
}

export function OfflineBand(): JSX.Element | null {
  const gone = offline.value;
  if (!gone) return null;
  return (
    <div class="band amber" role="alert">
      <Icon name="alert" small={false} />
      <span>
        The server does not answer. What you see is from <b class="num">{time(gone.since)}</b>. <TryingAgain />
        You can keep reading; changes are disabled until it is back.
      </span>
      <button
        class="btn sm"
        onClick={() => {
          hub.retry();
          void fetch('/api/v1/health').then(
            (r) => {
              if (r.ok) location.reload();
            },
            () => undefined,
          );
        }}
      >
        Retry now
      </button>
    </div>
  );
}

// Access ended while one reads: what is shown stays.
function RefusedBand(): JSX.Element | null {
  if (!refused.value || !me.value) return null;
  return (
    <div class="band amber" role="alert">
      <Icon name="alert" small={false} />
      <span>The server no longer lets this browser in: {visible(refused.value)}.</span>
      <button class="btn sm" onClick={() => location.reload()}>
        Sign in
      </button>
    </div>
  );
}

const NAV: [string, string, string][] = [
  ['/s', 'Sessions', 'list'],
  ['/s?focus=search', 'Search', 'search'],
  ['/usage', 'Usage', 'chart'],
];

function current(title: string): boolean {
  const r = route.value;
  if (title === 'Usage') return r.page === 'usage';
  const searching = r.page === 'sessions' && (r.query.has('q') || r.query.has('focus'));
  return title === 'Search' ? searching : r.page !== 'usage' && !searching;
}

export function TabBar(): JSX.Element {
  return (
    <nav class="tabbar only-phone" aria-label="Sections">
      {NAV.map(([href, title, icon]) => (
        <a key={href} href={href} aria-current={current(title) ? 'page' : undefined}>
          <Icon name={icon} small={false} />
          {title}
        </a>
      ))}
    </nav>
  );
}

export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  useKeys(
    {
      'Ctrl k': () => {
        overlay.value = overlay.value === 'palette' ? null : 'palette';
      },
      '?': () => {
        overlay.value = 'help';
      },
      t: toggleTheme,
      'g s': () => go('/s'),
      'g u': () => go('/usage'),
      '/': () => go('/s?focus=search'),
    },
    true,
  );
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.querySelector<HTMLElement>('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="/s">
          <Logo />
          <span>grove</span>
        </a>
        <nav aria-label="Main">
          {NAV.map(([href, title]) => (
            <a key={href} href={href} aria-current={current(title) ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <button
          class="palette"
          aria-label="Search or jump to… Ctrl K"
          onClick={() => {
            overlay.value = 'palette';
          }}
        >
          <Icon name="search" />
          <span class="t">Search or jump to…</span>
          <span class="grow" />
          <kbd>Ctrl K</kbd>
        </button>
        <Connection />
        <button class="iconbtn" aria-label="Switch theme" onClick={toggleTheme}>
          <Icon name="moon" small={false} />
        </button>
        <button
          class="iconbtn"
          aria-label="Keyboard shortcuts"
          onClick={() => {
            overlay.value = 'help';
          }}
        >
          <Icon name="help" small={false} />
        </button>
      </header>
      <OfflineBand />
      <RefusedBand />
      {children}
      <Suspense>
        {overlay.value === 'palette' && <Palette />}
        {overlay.value === 'help' && <Help />}
      </Suspense>
      <div class={`notice ${notice.value?.tone ?? ''}`} role="status" aria-live="polite">
        {notice.value?.text}
      </div>
    </>
  );
}
