/** Durations in the format of Kubernetes and Go: `1h30m`, `90s`, `500ms`. */
import { hourMs, minuteMs, secondMs } from './time-units.ts';

const unitsMs = { h: hourMs, m: minuteMs, s: secondMs, ms: 1 } as const;
const wholeForm = /^(?:\d+(?:\.\d+)?(?:h|ms|m|s))+$/;
const pieceForm = /(\d+(?:\.\d+)?)(h|ms|m|s)/g;

/** Parses a duration into ms, or returns undefined. */
export function parseDuration(text: string): number | undefined {
  if (!wholeForm.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(pieceForm))
    totalMs += Number(amount) * unitsMs[unit as keyof typeof unitsMs];
  return Math.round(totalMs);
}

/** Renders a duration in its shortest form: `1h30m`, `45s`, `250ms`, or `0s`. */
export function renderDuration(durationMs: number): string {
  let rest = Math.max(0, Math.round(durationMs));
  if (rest === 0) return '0s';
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(rest / unitsMs[unit]);
    rest -= amount * unitsMs[unit];
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text;
}
