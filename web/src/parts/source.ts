// Where parts get what a body leaves out. A page that has everything in itself gives a source without a server.
import { createContext } from 'preact';

export interface Source {
  more(
    entryId: string,
    pointer: string,
    offset: number,
    limit: number,
  ): Promise<{ text: string; next: number; total: number }>;
  media(entryId: string, n: number): string | null;
  whole(entryId: string, pointer: string): string | null; // the address of a text as it is stored
}

export const SourceContext = createContext<Source | null>(null);
