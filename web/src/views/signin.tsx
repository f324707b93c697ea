// The server lets in whoever has a token: it is typed here, or the address is opened with #t= and the token.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../model/safe.ts';
import { Logo } from '../parts/icons.tsx';
import { signIn, wrongCode } from '../state/app.ts';

export function SignIn(): JSX.Element {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(wrongCode.value);
  const send = async (): Promise<void> => {
    const why = await signIn(token.trim());
    if (why) setWrong(why);
    else location.reload();
  };
  return (
    <main class="wrap" id="main" tabIndex={-1}>
      <form
        class="empty"
        onSubmit={(e) => {
          e.preventDefault();
          void send();
        }}
      >
        <Logo size={34} />
        <b>This server asks for a token</b>
        <p class="soft">
          Whoever runs it makes one with <code class="mono">grove token add</code>. This browser then has access for
          twelve hours.
        </p>
        <label class="field">
          <input
            type="password"
            autocomplete="current-password"
            autoFocus
            aria-label="Token"
            placeholder="Token"
            value={token}
            onInput={(e) => setToken(e.currentTarget.value)}
          />
        </label>
        {wrong && (
          <p class="bad" role="alert">
            {visible(wrong)}
          </p>
        )}
        <button class="btn pri" disabled={!token.trim()}>
          Sign in
        </button>
      </form>
    </main>
  );
}
