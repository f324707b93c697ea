// Jump anywhere: sessions by name, pages, and a search for what is typed.
import uFuzzy from '@leeoniya/ufuzzy';
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get } from '../api/http.ts';
import type { ListItem } from '../api/types.ts';
import { project } from '../model/format.ts';
import { sessionAt } from '../model/route.ts';
import { visible } from '../model/safe.ts';
import { Icon } from '../parts/icons.tsx';
import { go, route, toggleTheme } from '../state/app.ts';
import { overlay } from '../state/keys.ts';
import { Dialog } from './dialog.tsx';
import { Glyph, sessions } from './sessions.tsx';

interface Choice {
  title: string;
  hint: string;
  lead: JSX.Element;
  act: () => void;
}

const fuzzy = new uFuzzy({ intraMode: 1 });
const SHOWN = 12;

function pages(): Choice[] {
  const to = (title: string, href: string, icon: string): Choice => ({
    title,
    hint: 'page',
    lead: <Icon name={icon} />,
    act: () => go(href),
  });
  return [
    to('Sessions', '/s', 'list'),
    to('Usage', '/usage', 'chart'),
    to('Running sessions', '/s?view=running', 'play'),
    { title: 'Switch theme', hint: 'action', lead: <Icon name="moon" />, act: toggleTheme },
    {
      title: 'Keyboard shortcuts',
      hint: 'action',
      lead: <Icon name="help" />,
      act: () => {
        overlay.value = 'help';
      },
    },
  ];
}

function choices(q: string, items: ListItem[]): Choice[] {
  const all: Choice[] = [
    ...items.map((s) => ({
      title: visible(s.name || s.firstMessage || s.id),
      hint: visible(project(s.cwd)),
      lead: <Glyph agent={s.agent} />,
      act: () => go(sessionAt(s.key)),
    })),
    ...pages(),
  ];
  if (!q.trim()) return all.slice(0, SHOWN - 5).concat(pages());
  const words = all.map((c) => `${c.title} ${c.hint}`.slice(0, 200));
  const [idx, , order] = fuzzy.search(words, q, 1);
  const found = idx && order ? order.map((o) => all[idx[o]!]!) : (idx ?? []).map((i) => all[i]!);
  const search: Choice = {
    title: `Search everything for “${visible(q)}”`,
    hint: 'search',
    lead: <Icon name="search" />,
    act: () => go(`/s?q=${encodeURIComponent(q)}`),
  };
  const here: Choice[] =
    route.value.page === 'session'
      ? [
          {
            title: `Search this session for “${visible(q)}”`,
            hint: 'search',
            lead: <Icon name="search" />,
            act: () => go(`${sessionAt((route.value as { key: string }).key)}?q=${encodeURIComponent(q)}`),
          },
        ]
      : [];
  return [...found.slice(0, SHOWN - 2), ...here, search];
}

export function Palette(): JSX.Element {
  const [q, setQ] = useState('');
  const [at, setAt] = useState(0);
  const [items, setItems] = useState<ListItem[]>(sessions.value);
  useEffect(() => {
    if (!items.length)
      get('/sessions', { limit: 500 }).then(
        (r) => setItems(r.sessions),
        () => undefined,
      );
  }, []);
  const list = useMemo(() => choices(q, items), [q, items]);
  const close = (): void => {
    overlay.value = null;
  };
  const run = (c: Choice | undefined): void => {
    if (!c) return;
    close();
    c.act();
  };
  const key = (e: KeyboardEvent): void => {
    const d = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
    if (d) {
      e.preventDefault();
      setAt((at + d + list.length) % list.length);
    } else if (e.key === 'Enter') {
      e.preventDefault();
      run(list[at]);
    }
  };
  return (
    <Dialog title="Search or jump to" close={close} bare>
      <label class="field big">
        <Icon name="search" />
        <input
          data-focus
          role="combobox"
          aria-expanded="true"
          aria-controls="pal-list"
          aria-activedescendant={`pal-${at}`}
          aria-label="Search or jump to"
          placeholder="A session, a page, or words to search for"
          value={q}
          onInput={(e) => {
            setQ(e.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={key}
        />
        <kbd>Esc</kbd>
      </label>
      <div class="pal" role="listbox" id="pal-list" aria-label="Choices">
        {list.map((c, i) => (
          <div
            key={i}
            id={`pal-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => run(c)}
            onPointerMove={() => setAt(i)}
          >
            {c.lead}
            <span class="trunc">{c.title}</span>
            <span class="dim">{c.hint}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
