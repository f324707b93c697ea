// JSON as a tree that is made only as far as it is opened.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../model/safe.ts';

const TEXT_MAX = 400,
  ITEMS_MAX = 100;

function Leaf({ value }: { value: unknown }): JSX.Element {
  if (typeof value === 'string')
    return (
      <span class="s">{visible(JSON.stringify(value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value))}</span>
    );
  return <span class="n">{String(value)}</span>;
}

export function JsonTree({
  value,
  name,
  open = false,
  depth = 0,
}: {
  value: unknown;
  name?: string;
  open?: boolean;
  depth?: number;
}): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  const label = name === undefined ? null : <span class="jk">{visible(name)}: </span>;
  if (value === null || typeof value !== 'object')
    return (
      <div class="jn">
        {label}
        <Leaf value={value} />
      </div>
    );
  const isList = Array.isArray(value);
  const entries = isList ? value.map((v, i) => [String(i), v] as const) : Object.entries(value);
  if (!entries.length)
    return (
      <div class="jn">
        {label}
        {isList ? '[]' : '{}'}
      </div>
    );
  return (
    <div class="jn">
      <button class="jt" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        <span class="dim">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      {isOpen && depth < 32 && (
        <div class="ji">
          {entries.slice(0, ITEMS_MAX).map(([k, v]) => (
            <JsonTree key={k} name={k} value={v} depth={depth + 1} open={depth < 1} />
          ))}
          {entries.length > ITEMS_MAX && <div class="dim">{entries.length - ITEMS_MAX} more</div>}
        </div>
      )}
    </div>
  );
}
