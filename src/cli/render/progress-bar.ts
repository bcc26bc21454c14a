/** Progress bar with a resolution of an eighth of a column. */
import type { Paint } from './palette.ts';

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** `[████▌     ]` with exactly `width` columns. `part` is from 0 to 1. The bar is full only at 1. */
export function renderProgressBar(part: number, width: number, paint: Paint): string {
  const room = Math.max(0, width - 2);
  const done = Math.floor(Math.min(1, Math.max(0, part)) * room * 8);
  const inside = '█'.repeat(Math.floor(done / 8)) + eighths[done % 8];
  return `[${paint('green', inside)}${' '.repeat(room - inside.length)}]`;
}
