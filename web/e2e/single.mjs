// A session as one file: the page of web/dist filled with what the server tells of it.
import { readFileSync } from 'node:fs';

const MARK = '<!--grove:session-->';

// One transcript as the page takes it: lines of JSON in a block that the browser does not run.
export function block(known, tree, entries) {
  const lines = [known, tree, ...entries].map((x) => JSON.stringify(x).replace(/</g, '\\u003c'));
  return `<script type="application/json" class="grove-session">\n${lines.join('\n')}\n</script>`;
}

export function fill(...blocks) {
  const page = readFileSync(new URL('../dist/export.html', import.meta.url), 'utf8');
  if (page.split(MARK).length !== 2) throw new Error('the page has no one place for data');
  return page.replace(MARK, () => blocks.join('\n'));
}

// What the server tells of a session, or of one of its sub-agents.
export async function told(base, key, sub) {
  const ask = async (path) => {
    const r = await fetch(
      `${base}/api/v1/sessions/${key}${path}${sub ? `${path.includes('?') ? '&' : '?'}sub=${sub}` : ''}`,
    );
    if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
    return r.json();
  };
  const { session: _, ...tree } = await ask('/tree?level=all');
  const snapshot = await ask('/snapshot?entries=none&parts=session,subagents');
  const bodies = new Map();
  let want = tree.n ? `${tree.seq[0]}-${tree.seq.at(-1)}` : '';
  while (want) {
    const r = await ask(`/entries?seq=${want}`);
    for (const e of r.entries) bodies.set(e.seq, e.entry);
    want = (r.more ?? []).map(([a, b]) => `${a}-${b}`).join(',');
  }
  return block(
    { session: snapshot.session, subagents: snapshot.subagents, ...(sub ? { agent: { id: sub } } : {}) },
    tree,
    tree.seq.map((s) => bodies.get(s) ?? null),
  );
}
