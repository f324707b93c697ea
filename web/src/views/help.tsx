// The keyboard map, and a switch for single letters.
import type { JSX } from 'preact';
import { me } from '../state/app.ts';
import { keysOn, overlay } from '../state/keys.ts';
import { keep } from '../model/kept.ts';
import { Dialog } from './dialog.tsx';

const KEYS: [string, [string, string][]][] = [
  [
    'Everywhere',
    [
      ['Ctrl K', 'search or jump'],
      ['/', 'search'],
      ['g s', 'sessions'],
      ['g u', 'usage'],
      ['[', 'tree rail'],
      [']', 'inspector'],
      ['t', 'theme'],
      ['?', 'this help'],
      ['Esc', 'back out'],
    ],
  ],
  [
    'In lists',
    [
      ['j k', 'next, previous'],
      ['Enter', 'open'],
      ['o', 'open in a new tab'],
      ['e', 'rename'],
      ['Del', 'delete'],
    ],
  ],
  [
    'In a session',
    [
      ['j k', 'entry'],
      ['J K', 'prompt'],
      ['h l', 'branch at this fork'],
      ['u', 'where this branch began'],
      ['f', 'follow'],
      ['o O', 'open this, all tools'],
      ['c', 'continue from here'],
      ['b', 'label'],
      ['y Y', 'copy link, text'],
      ['r', 'raw'],
      ['i', 'context'],
      ['m', 'mark for compare'],
      ['n N', 'next, previous hit'],
      ['1 2 3', 'prompts, turns, all'],
    ],
  ],
];

export function Help(): JSX.Element {
  return (
    <Dialog
      title="Keyboard"
      close={() => {
        overlay.value = null;
      }}
      wide
    >
      <div class="help">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([k, what]) => [
                <dt key={k}>
                  {k.split(' ').map((x) => (
                    <kbd key={x}>{x}</kbd>
                  ))}
                </dt>,
                <dd key={what}>{what}</dd>,
              ])}
            </dl>
          </section>
        ))}
      </div>
      <label class="check">
        <input
          type="checkbox"
          data-focus
          checked={keysOn.value}
          onChange={(e) => {
            keysOn.value = e.currentTarget.checked;
            keep({ keys: e.currentTarget.checked });
          }}
        />
        Single letters act
      </label>
      <div class="acts">
        <span class="dim">
          grove {me.value?.version ?? ''} ·{' '}
          <a class="go" href="/licenses.txt" target="_blank" rel="noopener">
            licences
          </a>
        </span>
        <span class="grow" />
        <button
          class="btn"
          onClick={() => {
            overlay.value = null;
          }}
        >
          Close
        </button>
      </div>
    </Dialog>
  );
}
