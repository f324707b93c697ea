// Pages that are loaded when they are asked for; until then nothing, and grey bars after a moment.
import { Component, type ComponentChildren, type ComponentType, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => JSX.Element {
  let made: ComponentType<P> | null = null;
  return function Lazy(props: P): JSX.Element {
    const [C, set] = useState<ComponentType<P> | null>(() => made);
    useEffect(() => {
      if (!C)
        void load().then((c) => {
          made = c;
          set(() => c);
        });
    }, []);
    return C ? <C {...props} /> : <Bars />;
  };
}

export function Suspense({ children }: { children: ComponentChildren }): JSX.Element {
  return <>{children}</>;
}

// Grey bars, after 120 ms: what is quick never flickers.
export function Bars({ rows = 6 }: { rows?: number }): JSX.Element | null {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setLate(true), 120);
    return () => clearTimeout(t);
  }, []);
  if (!late) return null;
  return (
    <div class="bars" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class={`sk w${(i % 4) + 1}`} />
      ))}
    </div>
  );
}

// A row that cannot be drawn says so; the page around it stays.
export class Boundary extends Component<{ children: ComponentChildren; what: string }, { failed: boolean }> {
  override state = { failed: false };
  override componentDidCatch(e: Error): void {
    console.error(`This ${this.props.what} could not be drawn: ${e?.name}, ${e?.stack?.split('\n')[1]?.trim() ?? ''}`);
    this.setState({ failed: true });
  }
  override render(): ComponentChildren {
    return this.state.failed ? <p class="dim pad">This {this.props.what} could not be drawn.</p> : this.props.children;
  }
}
