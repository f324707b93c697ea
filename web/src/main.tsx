import { render, type JSX } from 'preact';
import { hub } from './api/hub.ts';
import { refused } from './api/http.ts';
import { begin, followLinks, me, route } from './state/app.ts';
import { Boundary, lazy } from './views/lazy.tsx';
import { SessionPage } from './views/session.tsx';
import { SessionsPage } from './views/sessions.tsx';
import { useWorker } from './worker/line.ts';
import { Shell } from './views/shell.tsx';

const UsagePage = lazy(() => import('./views/usage.tsx').then((m) => m.UsagePage));
const SignIn = lazy(() => import('./views/signin.tsx').then((m) => m.SignIn));
const ComparePage = lazy(() => import('./views/compare.tsx').then((m) => m.ComparePage));

function App(): JSX.Element {
  const r = route.value;
  return (
    <Shell>
      <Boundary what="page">
        {refused.value && !me.value ? (
          <SignIn />
        ) : r.page === 'sessions' ? (
          <SessionsPage />
        ) : r.page === 'session' ? (
          <SessionPage r={r} />
        ) : r.page === 'usage' ? (
          <UsagePage />
        ) : (
          <ComparePage key={`${r.key}${r.a}${r.b}`} r={r} />
        )}
      </Boundary>
    </Shell>
  );
}

useWorker();
followLinks();
void begin().then(() => {
  hub.start();
  render(<App />, document.getElementById('app')!);
});
