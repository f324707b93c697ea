// Dialogs that act. Each says what it will do before it does it, filled by the server's dry run.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../api/http.ts';
import type { DeletePlan } from '../api/types.ts';
import type { ListItem } from '../api/types.ts';
import { agentName, count, plural, tokens } from '../model/format.ts';
import type { PendingLeafConfirmation, Written } from '../model/leaf.ts';
import { visible } from '../model/safe.ts';
import { sessionAt } from '../model/route.ts';
import { storePlace } from '../model/list.ts';
import { Icon } from '../parts/icons.tsx';
import { go, say } from '../state/app.ts';
import type { SessionState } from '../state/session.ts';
import { Dialog } from './dialog.tsx';
import { Bars } from './lazy.tsx';

type Named = Pick<ListItem, 'key' | 'agentId' | 'agent' | 'store'> & { name?: string | null; firstMessage?: string };
const called = (s: Named): string => visible(s.name || s.firstMessage || s.key).slice(0, 80);

export function RenameDialog({
  item,
  close,
  done,
}: {
  item: Named;
  close: () => void;
  done: (name: string) => void;
}): JSX.Element {
  const [name, setName] = useState(item.name ?? '');
  const save = async (): Promise<void> => {
    try {
      await act('PATCH /sessions/{id}', { id: item.key }, { name });
      done(name);
      close();
    } catch (e) {
      say(e instanceof Error ? e.message : 'The name was refused.', 'bad');
    }
  };
  return (
    <Dialog title="Rename the session" close={close}>
      <form
        method="dialog"
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        <label class="field">
          <input
            data-focus
            aria-label="Name"
            value={name}
            maxLength={200}
            onInput={(e) => setName(e.currentTarget.value)}
          />
        </label>
        <div class="acts">
          <button type="button" class="btn" onClick={close}>
            Cancel
          </button>
          <button class="btn pri">Rename</button>
        </div>
      </form>
    </Dialog>
  );
}

export function LabelDialog({
  now,
  close,
  save,
}: {
  now: string;
  close: () => void;
  save: (text: string | null) => void;
}): JSX.Element {
  const [text, setText] = useState(now);
  return (
    <Dialog title="Label this entry" close={close}>
      <form
        method="dialog"
        onSubmit={(e) => {
          e.preventDefault();
          save(text.trim() || null);
          close();
        }}
      >
        <label class="field">
          <Icon name="tag" />
          <input
            data-focus
            aria-label="Label"
            value={text}
            maxLength={120}
            placeholder="A word or two"
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <div class="acts">
          {now && (
            <button
              type="button"
              class="btn ghost"
              onClick={() => {
                save(null);
                close();
              }}
            >
              Take it off
            </button>
          )}
          <span class="grow" />
          <button type="button" class="btn" onClick={close}>
            Cancel
          </button>
          <button class="btn pri">Label</button>
        </div>
      </form>
    </Dialog>
  );
}

const forGood = 'It is deleted for good: this machine has no trash.';

export function DeleteDialog({
  item,
  close,
  done,
  leaving,
}: {
  item: Named;
  close: () => void;
  done: () => void;
  leaving?: (yes: boolean) => void;
}): JSX.Element {
  const [plan, setPlan] = useState<DeletePlan | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const params = item.agentId ? { id: item.key, agentId: item.agentId } : { id: item.key };
  useEffect(() => {
    act('DELETE /sessions/{id}', { ...params, dryRun: 1 }).then(setPlan, (e) => setFailed(e.message));
  }, []);
  const remove = async (): Promise<void> => {
    leaving?.(true);
    try {
      await act('DELETE /sessions/{id}', params);
      close();
      done();
      say('The session was deleted.');
    } catch (e) {
      leaving?.(false);
      setFailed(e instanceof Error ? e.message : String(e));
    }
  };
  const also = plan
    ? [
        plan.agents ? plural(plan.agents, 'sub-agent log') : '',
        plan.blobs ? `${plural(plan.blobs, 'image')} that nothing else uses` : '',
      ].filter(Boolean)
    : [];
  return (
    <Dialog title={`Delete “${called(item)}”?`} close={close}>
      {failed ? (
        <div class="banner red" role="alert">
          <Icon name="alert" small={false} />
          <span>{failed}</span>
        </div>
      ) : !plan ? (
        <Bars rows={2} />
      ) : (
        <p class="soft">
          {[plural(plan.entries, 'entry', 'entries'), ...also].join(also.length > 1 ? ', ' : ' and ')}.{' '}
          {plan.trash ? 'It goes to the trash of this machine.' : forGood} Agent{' '}
          <span class="mono">{agentName(item.agent)}</span>, store{' '}
          <span class="mono">{visible(storePlace(plan.store))}</span>.
        </p>
      )}
      <div class="acts">
        <button class="btn" data-focus onClick={close}>
          Cancel
        </button>
        <button class="btn danger" disabled={!plan} onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}

function WhatHappens({ p, name }: { p: PendingLeafConfirmation; name: string }): JSX.Element {
  if (p.outcome === 'replay') {
    const after = p.leavesBehind === 2 ? 'entry' : `${count(p.leavesBehind - 1)} entries`;
    return (
      <>
        <p class="soft">
          The leaf moves to just before this prompt.{' '}
          {p.leavesBehind > 1 ? `It and the ${after} after it stay as a branch.` : 'It stays as a branch.'}
        </p>
        {p.text && <div class="mini">{visible(p.text).slice(0, 280)}</div>}
      </>
    );
  }
  return (
    <p class="soft">
      The next message will follow {name ? 'this entry' : 'it'}.
      {p.contextTokens !== null && (
        <>
          {' '}
          Context there: <span class="num">{tokens(p.contextTokens)} tokens</span>
        </>
      )}
      {p.model && (
        <>
          , model <span class="mono">{visible(p.model.split('/').pop()!)}</span>
        </>
      )}
      .{p.leavesBehind > 0 && <> {plural(p.leavesBehind, 'entry', 'entries')} stay as a branch.</>}
    </p>
  );
}

const clip = (text: string, n: number): string => (text.length > n ? `${text.slice(0, n - 1).trimEnd()}…` : text);
const WHO: Record<string, string> = { user: 'You', assistant: 'Assistant', toolResult: 'Result' };

// An entry that came while one decided: who wrote it, how it begins.
function Meanwhile({ session, e }: { session: SessionState; e: Written }): JSX.Element {
  const i = session.skeleton.index.get(e.id);
  void session.bodyCount.value;
  useEffect(() => {
    if (!e.text) void session.fetchBody(e.id).catch(() => null);
  }, [e.id, i]);
  const text = e.text || (i === undefined ? '' : session.words(i));
  return (
    <li class="trunc">
      <b>{WHO[e.author] ?? visible(e.author)}</b> {clip(visible(text), 90)}{' '}
      <span class="mono dim">{e.id.slice(0, 8)}</span>
    </li>
  );
}

// Continue from an entry: the plan in words, who wrote meanwhile, and the two ways when an agent has the file open.
export function ContinueDialog({ session }: { session: SessionState }): JSX.Element | null {
  const s = session.leafState.value;
  const fork = async (entryId: string): Promise<void> => {
    const key = await session.fork(entryId);
    if (key) {
      session.moving.cancel();
      say('A new session was made.');
      go(sessionAt(key));
    }
  };
  if (s.at === 'refused') {
    return (
      <Dialog title="The leaf was not moved" close={() => session.moving.cancel()}>
        <div class="banner red" role="alert">
          <Icon name="alert" small={false} />
          <span>{s.message}</span>
        </div>
        <div class="acts">
          <button class="btn" data-focus onClick={() => session.moving.cancel()}>
            Close
          </button>
        </div>
      </Dialog>
    );
  }
  if (s.at !== 'pending' && s.at !== 'switching' && s.at !== 'unknown') return null;
  const p = s.pendingLeafConfirmation;
  const at = session.skeleton.index.get(p.entryId);
  const name = at === undefined ? '' : clip(visible(session.words(at).replace(/[`*#]/g, '')), 60);
  const conflict = s.at === 'pending' ? s.conflict : null;
  const toShow = conflict !== null && !conflict.live && conflict.entries.length > 0;
  const who = agentName(session.sessionMeta.value?.agent ?? 'Another');
  const moving = s.at !== 'pending';
  const open = p.openBy ?? (conflict?.live ? { agent: session.sessionMeta.value?.agent ?? 'the agent', pid: 0 } : null);
  const doIt = p.outcome === 'replay' ? 'Move and edit' : 'Move the leaf';
  return (
    <Dialog
      title={p.outcome === 'replay' ? 'Ask this again, differently?' : `Go on from ${name ? `“${name}”` : 'here'}?`}
      close={() => session.moving.cancel()}
    >
      {conflict && !conflict.live && (
        <div class="banner blue" role="alert">
          <Icon name="branch" small={false} />
          <span>
            {conflict.entries.length
              ? `${who} appended ${plural(conflict.entries.length, 'entry', 'entries')} while you decided.`
              : 'The session changed while you decided.'}{' '}
            Your move was not made.
            {conflict.entries.length > 0 && (
              <ul>
                {conflict.entries.map((e) => (
                  <Meanwhile key={e.id} session={session} e={e} />
                ))}
              </ul>
            )}
          </span>
        </div>
      )}
      <WhatHappens p={p} name={name} />
      {open && (
        <div class="banner amber">
          <Icon name="alert" small={false} />
          <span>
            {agentName(open.agent ?? 'An agent')} has this session open. It would not notice the move; a fork leaves it
            alone.
          </span>
        </div>
      )}
      {s.at === 'unknown' && (
        <p class="soft" role="status">
          The server did not say whether the move was made. Asking it…
        </p>
      )}
      <div class="acts">
        <button class="btn" onClick={() => session.moving.cancel()} disabled={s.at === 'switching'}>
          Cancel
        </button>
        {toShow && (
          <button
            class="btn pri"
            data-focus
            onClick={() => {
              const id = conflict!.entries[0]!.id;
              session.moving.cancel();
              go(sessionAt(session.key, id));
            }}
          >
            Show them
          </button>
        )}
        {open && (
          <button class="btn pri" data-focus disabled={moving} onClick={() => void fork(p.entryId)}>
            <Icon name="fork" />
            Fork instead
          </button>
        )}
        <button
          class={open || toShow ? 'btn' : 'btn pri'}
          data-focus={!open && !toShow}
          disabled={moving}
          onClick={() => void session.moving.confirm(open !== null)}
        >
          {conflict && !conflict.live ? 'Move anyway' : doIt}
        </button>
      </div>
    </Dialog>
  );
}
