// A conversation as one file, without a server and without a worker: the rows and parts of the viewer over a
// session that stands in the page as JSON.
import { render, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { project } from '../model/rows.ts';
import { visible } from '../model/safe.ts';
import { SourceContext } from '../parts/source.ts';
import { ConversationRow, rowLabel } from '../views/entry.tsx';
import { useNoWorker } from '../worker/inline.ts';
import { Held, type Given } from './held.ts';

export function Conversation({ given }: { given: Given }): JSX.Element {
  const [leaf, setLeaf] = useState<string | undefined>(undefined);
  const [folds, setFolds] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const session = new Held(given, leaf);
  const { rows, notShown } = project(session.skeleton, session.viewPath.value, { all, leaf: false });
  const toggle = (name: string): void => { const next = new Set(folds); if (next.has(name)) next.delete(name); else next.add(name); setFolds(next); };
  // Another branch is the path to its newest end.
  const view = (id: string): void => { const s = session.skeleton, i = s.index.get(id); setLeaf(i === undefined ? undefined : s.id[s.tip(i)]); };
  return (
    <SourceContext.Provider value={session}><main class="single" id="main"><h1>{visible(given.session.name ?? `Session ${given.session.id.slice(0, 8)}`)}</h1>
      <div role="feed" aria-label="Conversation">{rows.map((row, k) => <article key={row.key} id={row.key} aria-posinset={k + 1} aria-setsize={rows.length} aria-label={rowLabel(session, row)}>
        <ConversationRow session={session} row={row} folds={folds} toggle={toggle} goTo={(id) => document.getElementById(id)?.scrollIntoView()} view={view} label={() => undefined} resume={null} notShown={notShown} showAll={() => setAll(true)} /></article>)}</div>
    </main></SourceContext.Provider>
  );
}

const data = document.getElementById('grove-session')?.textContent;
if (data) {
  useNoWorker();
  render(<Conversation given={JSON.parse(data) as Given} />, document.getElementById('app')!);
}
