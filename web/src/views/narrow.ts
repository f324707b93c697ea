import { useEffect, useMemo, useState } from 'preact/hooks';

// Is this a phone's width?
export function useNarrow(): boolean {
  const query = useMemo(() => matchMedia('(max-width: 760px)'), []);
  const [narrow, set] = useState(query.matches);
  useEffect(() => {
    const f = (): void => set(query.matches);
    query.addEventListener('change', f);
    return () => query.removeEventListener('change', f);
  }, []);
  return narrow;
}
