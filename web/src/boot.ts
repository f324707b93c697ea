// Runs before the first paint, so that a dark page never flashes white.
import { readKept } from './model/kept.ts';

const theme = readKept().theme;
document.documentElement.dataset.theme =
  theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
