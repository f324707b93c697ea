// A session as one file, without a server and without a worker: tree and conversation of the viewer over data
// that is in the page. It begins at the top, as a reader would; #ID begins at an entry.
import { render, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { moment, plural, project } from '../model/format.ts';
import { title, visible } from '../model/safe.ts';
import { Icon, Logo } from '../parts/icons.tsx';
import { useKeys } from '../state/keys.ts';
import { Conversation } from '../views/conversation.tsx';
import { useNarrow } from '../views/narrow.ts';
import { Rail, RAIL } from '../views/rail.tsx';
import { useReading } from '../views/reading.ts';
import { useNoWorker } from '../worker/inline.ts';
import { Held } from './held.ts';

const NOTICE_MS = 3500;

const nameOf = (h: Held): string =>
  h.known.agent
    ? `Sub-agent ${h.known.agent.name ?? h.known.agent.id}`
    : h.known.session.name || h.opening() || `Session ${h.known.session.id.slice(0, 8)}`;

function toggleTheme(): void {
  const d = document.documentElement.dataset;
  d['theme'] = d['theme'] === 'dark' ? 'light' : 'dark';
}

function Find({ session, next }: { session: Held; next: () => void }): JSX.Element {
  const [q, setQ] = useState('');
  const found = session.hits.value;
  const ask = (): void => {
    if (q === (found?.q ?? '')) next();
    else {
      session.search(q.trim());
      if (session.hits.value?.hits.length) next();
    }
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        ask();
      }}
    >
      <label class="field">
        <Icon name="search" />
        <span class="vh">Find in this session</span>
        <input
          id="find"
          type="search"
          placeholder="Find in this session"
          value={q}
          onInput={(e) => {
            setQ(e.currentTarget.value);
            if (!e.currentTarget.value) session.search('');
          }}
          onKeyDown={(e) => {
            if (e.key === 'Escape') e.currentTarget.blur();
          }}
        />
      </label>
      <span class="dim num" role="status">
        {found ? plural(found.hits.length, 'entry', 'entries') : ''}
      </span>
    </form>
  );
}

function One({
  session,
  others,
  choose,
  say,
}: {
  session: Held;
  others: Held[];
  choose: (k: number) => void;
  say: (text: string) => void;
}): JSX.Element {
  const narrow = useNarrow();
  const [rail, setRail] = useState(!narrow);
  const meta = session.sessionMeta.value!;
  const placed = (entry: string | null, how: 'moved' | 'jumped' | 'viewed'): void => {
    if (how === 'viewed') {
      session.lookAt(entry);
      session.selectedEntryId.value = entry;
      if (entry !== null) reading.jumpTo(entry);
    }
    try {
      history.replaceState(history.state, '', entry === null ? '#' : `#${entry}`);
    } catch {
      /* Some viewers of files have no address to change. */
    }
  };
  const reading = useReading(session, { follow: false, placed, say });
  useEffect(() => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id) reading.view(id);
    else session.selectedEntryId.value = session.skeleton.id[session.viewPath.value[0]!] ?? null;
  }, []);
  useEffect(() => {
    document.title = title(nameOf(session));
  }, [session]);
  useKeys({
    ...reading.keys,
    t: toggleTheme,
    '[': () => setRail(!rail),
    '/': () => document.getElementById('find')?.focus(),
    Escape: () => {
      if (session.viewLeafId.value) reading.view('');
    },
  });
  const tree = (
    <Rail
      session={session}
      choose={(i) => {
        reading.choose(i);
        if (narrow) setRail(false);
      }}
      window={reading.window}
      phone={narrow}
      width={RAIL}
      widen={() => undefined}
    />
  );
  return (
    <>
      <header class="top">
        <span class="brand">
          <Logo />
          <span>grove</span>
        </span>
        <span class="grow" />
        <Find session={session} next={() => reading.keys['n']!(null as never)} />
        <button class="iconbtn" aria-label="Tree" aria-pressed={rail} onClick={() => setRail(!rail)}>
          <Icon name="branch" small={false} />
        </button>
        <button class="iconbtn" aria-label="Light or dark" onClick={toggleTheme}>
          <Icon name="moon" small={false} />
        </button>
      </header>
      <main
        class={`sess single${rail ? '' : ' norail'} show-${narrow && rail ? 'tree' : 'conversation'}`}
        id="main"
        tabIndex={-1}
      >
        {rail && tree}
        {!(narrow && rail) && (
          <section class="conv" aria-label="Session">
            <div class="sh">
              <div class="nm">
                <h1 class="trunc">{visible(nameOf(session))}</h1>
                <div class="sub">
                  <span class="trunc">{visible(project(meta.cwd))}</span>
                  {meta.createdAt && (
                    <>
                      <i />
                      <span class="num">{moment(Date.parse(meta.createdAt))}</span>
                    </>
                  )}
                  <i />
                  <span class="num">{plural(session.skeleton.n, 'entry', 'entries')}</span>
                </div>
              </div>
              {others.length > 1 && (
                <label class="pick">
                  <span class="vh">Transcript</span>
                  <select class="btn" onChange={(e) => choose(e.currentTarget.selectedIndex)}>
                    {others.map((h, k) => (
                      <option key={k} selected={h === session}>
                        {visible(nameOf(h)).slice(0, 60)}
                      </option>
                    ))}
                  </select>
                </label>
              )}
            </div>
            {session.known.notes?.map((n, k) => (
              <div key={k} class="band plain">
                <Icon name="alert" small={false} />
                <span>{visible(n)}</span>
              </div>
            ))}
            <Conversation
              session={session}
              folds={reading.folds}
              toggle={reading.toggle}
              goTo={reading.goTo}
              view={reading.view}
              label={() => undefined}
              resume={null}
              jump={reading.jump}
              follow={reading.follow}
              onWindow={(x) => {
                reading.window.value = x;
              }}
              select={reading.select}
              lines={null}
            />
          </section>
        )}
      </main>
    </>
  );
}

function Page({ texts }: { texts: string[] }): JSX.Element {
  const [at, setAt] = useState(0);
  const [notice, setNotice] = useState('');
  const timer = useRef(0);
  const say = (text: string): void => {
    setNotice(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setNotice(''), NOTICE_MS) as unknown as number;
  };
  const all = useMemo(() => texts.map((t) => new Held(t, say)), []);
  return (
    <>
      <One key={at} session={all[at]!} others={all} choose={setAt} say={say} />
      <div class="notice" role="status" aria-live="polite">
        {notice}
      </div>
    </>
  );
}

useNoWorker();
document.documentElement.dataset['theme'] = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
const app = document.getElementById('app')!;
const texts = [...document.querySelectorAll('script.grove-session')].map((e) => e.textContent!.trim()).filter(Boolean);
app.textContent = texts.length ? '' : 'There is no session in this page.';
if (texts.length) render(<Page texts={texts} />, app);
