// Markdown nodes made into elements. Every string becomes a text node.
import type { ComponentChildren, JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Text } from '../model/body.ts';
import { bytes } from '../model/format.ts';
import { link, readable, visible } from '../model/safe.ts';
import { askMarkdown } from '../worker/client.ts';
import type { Inline, Node } from '../worker/nodes.ts';
import { CodeLines } from './code.tsx';
import { SourceContext } from './source.ts';

function plainOf(nodes: Inline[]): string {
  return nodes.map((n) => (typeof n === 'string' ? n : 'c' in n ? plainOf(n.c) : 'x' in n ? n.x : '')).join('');
}

function Link({ href, text, children }: { href: string; text: string; children: ComponentChildren }): JSX.Element {
  const to = link(href, text);
  if (!to)
    return (
      <span class="nolink">
        {children}
        <span class="chip" title={visible(href).slice(0, 300)}>
          link not followed
        </span>
      </span>
    );
  return (
    <>
      <a class="ext" href={to.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
      {to.host && <span class="dim"> ({visible(to.host)})</span>}
    </>
  );
}

function InlineNodes({ nodes }: { nodes: Inline[] }): JSX.Element {
  return (
    <>
      {nodes.map((n, i) => {
        if (typeof n === 'string') return readable(n);
        switch (n.t) {
          case 'code':
            return <code key={i}>{visible(n.x)}</code>;
          case 'b':
            return (
              <strong key={i}>
                <InlineNodes nodes={n.c} />
              </strong>
            );
          case 'i':
            return (
              <em key={i}>
                <InlineNodes nodes={n.c} />
              </em>
            );
          case 's':
            return (
              <s key={i}>
                <InlineNodes nodes={n.c} />
              </s>
            );
          case 'a':
            return (
              <Link key={i} href={n.href} text={plainOf(n.c)}>
                <InlineNodes nodes={n.c} />
              </Link>
            );
          case 'img':
            return (
              <Link key={i} href={n.href} text={n.x}>
                {readable(n.x) || 'image'}
              </Link>
            );
          case 'html':
            return (
              <code key={i} class="ashtml">
                {visible(n.x)}
              </code>
            );
          case 'br':
            return <br key={i} />;
        }
      })}
    </>
  );
}

// What stands within a list or a quote has its direction, which is that of its first letter.
function BlockNodes({ nodes, within = false }: { nodes: Node[]; within?: boolean }): JSX.Element {
  const dir = within ? undefined : 'auto';
  return (
    <>
      {nodes.map((n, i) => {
        switch (n.t) {
          case 'p':
            return (
              <p key={i} dir={dir}>
                <InlineNodes nodes={n.c} />
              </p>
            );
          case 'h':
            return (
              <p
                key={i}
                dir={dir}
                class={`h h${Math.min(n.level, 4)}`}
                role="heading"
                aria-level={Math.min(6, n.level + 2)}
              >
                <InlineNodes nodes={n.c} />
              </p>
            );
          case 'ul':
          case 'ol': {
            const items = n.items.map((item, k) => (
              <li key={k} class={item.task === null ? undefined : 'task'}>
                {item.task !== null && (
                  <span class={item.task ? 'box on' : 'box'} role="img" aria-label={item.task ? 'done' : 'open'} />
                )}
                <BlockNodes nodes={item.c} within />
              </li>
            ));
            return n.t === 'ul' ? (
              <ul key={i} dir={dir}>
                {items}
              </ul>
            ) : (
              <ol key={i} dir={dir} start={n.start}>
                {items}
              </ol>
            );
          }
          case 'quote':
            return (
              <blockquote key={i} dir={dir}>
                <BlockNodes nodes={n.c} within />
              </blockquote>
            );
          case 'pre':
            return <CodeLines key={i} lines={n.lines} cut={n.cut} lang={n.lang} />;
          case 'table':
            return <TableNode key={i} node={n} />;
          case 'html':
            return (
              <div key={i}>
                <pre class="code ashtml" tabIndex={0}>
                  {visible(n.x)}
                </pre>
                <span class="chip">HTML shown as text</span>
              </div>
            );
          case 'hr':
            return <hr key={i} />;
        }
      })}
    </>
  );
}

function TableNode({ node }: { node: Extract<Node, { t: 'table' }> }): JSX.Element {
  const side = (k: number): string | undefined =>
    node.align[k] === 'right' ? 'r' : node.align[k] === 'center' ? 'ctr' : undefined;
  return (
    <div class="tbl" tabIndex={0} role="group" aria-label="Table">
      <table dir="auto">
        <thead>
          <tr>
            {node.head.map((c, k) => (
              <th key={k} class={side(k)} scope="col">
                <InlineNodes nodes={c} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {node.rows.map((r, k) => (
            <tr key={k}>
              {r.map((c, j) => (
                <td key={j} class={side(j)}>
                  <InlineNodes nodes={c} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {node.cut > 0 && <p class="dim">{node.cut} more rows</p>}
    </div>
  );
}

export function Plain({ text }: { text: string }): JSX.Element {
  return (
    <div class="plain" dir="auto">
      {readable(text)}
    </div>
  );
}

export function Markdown({ text }: { text: string }): JSX.Element {
  const [, again] = useState(0);
  const nodes = askMarkdown(text, () => again((n) => n + 1));
  if (nodes === undefined) return <Plain text={text} />;
  if (nodes === null)
    return (
      <>
        <Plain text={text} />
        <span class="chip">shown as plain text</span>
      </>
    );
  return <BlockNodes nodes={nodes} />;
}

export const STEP = 64_000;

// A text that may have been left out for its length: what is there, and more on demand.
export function useLong(
  entryId: string,
  text: Text | null,
): { text: string; rest: number; total: number; load: () => void; busy: boolean; address: string | null } {
  const source = useContext(SourceContext);
  const ref = text && '$ref' in text ? text : null;
  const [held, hold] = useState<{ text: string; next: number; total: number }>({
    text: '',
    next: 0,
    total: ref?.bytes ?? 0,
  });
  const [busy, setBusy] = useState(false);
  const load = (limit = STEP): void => {
    if (!ref || !source || busy) return;
    setBusy(true);
    source
      .more(entryId, ref.pointer, held.next, limit)
      .then(
        (m) => hold((h) => ({ text: h.text + m.text, next: m.next, total: m.total })),
        () => undefined,
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => {
    if (ref && !held.text) load(8192);
  }, [ref?.pointer]);
  if (!ref)
    return {
      text: text && 'text' in text ? text.text : '',
      rest: 0,
      total: 0,
      load: () => undefined,
      busy: false,
      address: null,
    };
  return {
    text: held.text,
    rest: Math.max(0, held.total - held.next),
    total: held.total,
    load: () => load(),
    busy,
    address: source?.whole(entryId, ref.pointer) ?? null,
  };
}

export function MoreBytes({ long }: { long: ReturnType<typeof useLong> }): JSX.Element | null {
  if (!long.rest) return null;
  return (
    <div class="more-w">
      <button class="more" onClick={long.load} disabled={long.busy}>
        Show next {bytes(Math.min(STEP, long.rest))} of {bytes(long.total)}
      </button>
      {long.address && (
        <a class="more raw" href={long.address} target="_blank" rel="noopener">
          Open raw
        </a>
      )}
    </div>
  );
}

const FOLD_LINES = 40;

export function Prose({ entryId, text, fold = false }: { entryId: string; text: Text; fold?: boolean }): JSX.Element {
  const long = useLong(entryId, text);
  const [open, setOpen] = useState(false);
  const lines = fold && !open ? long.text.split('\n') : null;
  const cut = lines && lines.length > FOLD_LINES ? lines.length - FOLD_LINES : 0;
  return (
    <div class="prose">
      {cut ? (
        <Markdown text={lines!.slice(0, FOLD_LINES).join('\n')} />
      ) : '$ref' in text ? (
        <Plain text={long.text} />
      ) : (
        <Markdown text={long.text} />
      )}
      {cut > 0 && (
        <button class="more" onClick={() => setOpen(true)}>
          Show {cut} more lines
        </button>
      )}
      <MoreBytes long={long} />
    </div>
  );
}
