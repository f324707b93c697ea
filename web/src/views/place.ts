// Where one is in a session: the address alone says it. What changes the place changes the address; the branch, the
// selected entry and what the tree shows follow from it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ZOOMS } from '../model/rail.ts';
import { formatRoute, type Route } from '../model/route.ts';
import { go, route, say } from '../state/app.ts';
import type { SessionState } from '../state/session.ts';
import type { Place } from './feed.ts';
import { FILTERS } from './rail.tsx';
import { useReading, type Reading } from './reading.ts';

export type SessionRoute = Extract<Route, { page: 'session' }>;
interface Change {
  entry?: string | null;
  query?: Record<string, string | null>;
}

function keptPlace(): { place?: Place } {
  const at = (history.state as { at?: Place } | null)?.at;
  return at && typeof at.row === 'string' && typeof at.px === 'number' ? { place: at } : {};
}

export function usePlace(
  session: SessionState,
  r: SessionRoute,
  narrow: boolean,
): Reading & { url: (change: Change) => string } {
  const meta = session.sessionMeta.value;
  const [found, setFound] = useState<string | null>(null);
  const [asked, setAsked] = useState(0); // the same address may be asked for again
  const arrivedOnce = useRef(false);

  const url = (change: Change): string => {
    const query = new URLSearchParams(r.query);
    for (const [k, v] of Object.entries(change.query ?? {}))
      if (v === null) query.delete(k);
      else query.set(k, v);
    return formatRoute({
      ...r,
      entry: change.entry === undefined ? (session.selectedEntryId.value ?? r.entry) : change.entry,
      query,
    });
  };

  const placed = (entry: string | null, how: 'moved' | 'jumped' | 'viewed'): void => {
    if (how === 'viewed') setAsked(asked + 1);
    if (how === 'moved') history.replaceState(history.state, '', url({ entry, query: { l: null } }));
    else
      go(
        url({
          entry,
          query: how === 'viewed' ? { leaf: null, pane: null } : narrow ? { panel: null, pane: null } : {},
        }),
      );
  };
  const reading = useReading(session, {
    follow: !r.entry && !r.query.has('leaf'),
    placed,
    address: () => (route.value.page === 'session' ? route.value.entry : null),
    say,
  });

  // The address decides what is shown: an entry off the path opens as a preview, one that is gone says so.
  useEffect(() => {
    if (!meta) return;
    const s = session.skeleton;
    const leaf = r.query.get('leaf');
    if (r.entry !== null && s.index.get(r.entry) === undefined) {
      const missing = r.entry;
      void session.find(missing).then((there) => {
        if (there) setFound(missing);
        else {
          say('That entry is not there any more. This is the end of the session.', 'bad');
          go(url({ entry: null }), { replace: true });
        }
      });
      return;
    }
    if (leaf) session.viewLeafId.value = leaf;
    else session.lookAt(r.entry);
    if (r.entry !== null && r.entry !== session.selectedEntryId.value) {
      session.selectedEntryId.value = r.entry;
      reading.follow.value = false;
      reading.setJump({ entry: r.entry, align: 'start', ...keptPlace(), n: Date.now() });
    } else if (r.entry === null && !leaf && keptPlace().place) {
      reading.follow.value = false;
      reading.setJump({ entry: keptPlace().place!.row, align: 'start', ...keptPlace(), n: Date.now() });
    } else if (r.entry === null && !arrivedOnce.current && !leaf) reading.follow.value = true;
    else if (leaf && !r.entry) {
      const i = s.index.get(leaf);
      if (i !== undefined) {
        reading.follow.value = false;
        reading.setJump({ entry: leaf, align: 'start', n: Date.now() });
      }
    }
    arrivedOnce.current = true;
  }, [r.entry, r.query.get('leaf'), meta?.generation, meta === null, found, asked]);

  // So does what the tree shows.
  const zoom = r.query.get('zoom'),
    show = r.query.get('show') ?? '';
  useLayoutEffect(() => {
    session.zoom.value = ZOOMS.find((z) => z === zoom) ?? 'prompts';
    session.show.value = new Set(show.split(',').filter((f) => FILTERS.some(([name]) => name === f)));
  }, [session, zoom, show]);
  session.chosen = (z, filters): void =>
    go(url({ query: { zoom: z === 'prompts' ? null : z, show: [...filters].join() || null } }), { replace: true });

  return { ...reading, url };
}
