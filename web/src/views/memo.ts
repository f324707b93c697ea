// Draws again only when a property changed. Functions do not count: they close over the same things.
import { Component, createElement, type ComponentType, type JSX } from 'preact';

export function memo<P extends object>(f: (p: P) => JSX.Element): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      return Object.entries(next).some(([k, v]) => typeof v !== 'function' && now[k] !== v);
    }
    override render(): JSX.Element {
      return createElement(f as never, this.props as never);
    }
  } as unknown as ComponentType<P>;
}
