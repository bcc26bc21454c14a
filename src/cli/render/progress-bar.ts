/** A bar of how much is done, as fine as an eighth of a column. */
import type { Paint } from './palette.ts';

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** `[████▌     ]`, in as many columns as are given. `part` is 0 to 1; the bar is full only when that is 1. */
export function renderProgressBar(part: number, width: number, paint: Paint): string {
  const room = Math.max(0, width - 2);
  const done = Math.floor(Math.min(1, Math.max(0, part)) * room * 8);
  const inside = '█'.repeat(Math.floor(done / 8)) + eighths[done % 8];
  return `[${paint('green', inside)}${' '.repeat(room - inside.length)}]`;
}
