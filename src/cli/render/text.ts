/**
 * Formats ages, times, numbers and sizes as text. `printable` removes control characters from text that other programs
 * or users wrote.
 */
import { groupedText, pluralOf, wordFor } from '../../base/number-text.ts';
import { isoText } from '../../base/time-text.ts';

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns the text on one line, without control characters. */
export function printable(text: string): string {
  return text.replaceAll(controls, ' ');
}

/**
 * Renders a duration in one or two units, like kubectl. Because clocks can differ, a small negative duration becomes
 * `0s`. Any other negative duration becomes `<invalid>`.
 */
export function renderAge(ageMs: number): string {
  const seconds = Math.trunc(ageMs / 1000);
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return inTwoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return inTwoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return inTwoUnits(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? inTwoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

/** Renders the age of an RFC 3339 time. Returns `<unknown>` if `time` is undefined. */
export function renderAgeSince(time: string | undefined, nowMs: number): string {
  return renderAge(time === undefined ? Number.NaN : nowMs - Date.parse(time));
}

/**
 * Renders the remaining time, such as `about 5m`. Returns undefined if there is no estimate, or if the estimated end
 * has passed.
 */
export function renderTimeLeft(estimatedEnd: string | undefined, nowMs: number): string | undefined {
  const leftMs = estimatedEnd === undefined ? 0 : Date.parse(estimatedEnd) - nowMs;
  return leftMs < 1_000 ? undefined : `about ${renderAge(leftMs)}`;
}

/** Renders the remaining time as part of a sentence, such as `done in about 5m`. Returns undefined if it is unknown. */
export function renderEnd(estimatedEnd: string | undefined, nowMs: number): string | undefined {
  const timeLeft = renderTimeLeft(estimatedEnd, nowMs);
  return timeLeft === undefined ? undefined : `done in ${timeLeft}`;
}

function inTwoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** Returns a text with its first letter capitalized. */
export function capitalised(text: string): string {
  return text.replace(/^./, (first) => first.toUpperCase());
}

/**
 * Renders names as examples in brackets, such as ` (web-1, web-2, …)`. `count` is the total number of names, of which
 * only some may be given.
 */
export function renderExamples(examples: readonly string[], count: number): string {
  if (examples.length === 0) return '';
  const more = count > examples.length ? ', …' : '';
  return ` (${examples.join(', ')}${more})`;
}

/** Renders a time without seconds, such as `2026-11-21 22:00 UTC`. */
export function renderMinute(wallMs: number): string {
  const minute = isoText(wallMs).slice(0, 16).replace('T', ' ');
  return `${minute} UTC`;
}

const byteUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** Renders a number with its noun, such as `1,234,567 rows` or `1 row`. */
export function renderCount(count: number, noun: string): string {
  return `${groupedText(count)} ${wordFor(count, noun, pluralOf(noun))}`;
}

/** Renders a size, such as `512 B`, `1.4 MiB` or `240 GiB`. */
export function renderBytes(bytes: number): string {
  if (bytes < 1_024) return `${Math.round(bytes)} B`;
  let size = bytes / 1_024;
  let unit = 0;
  // A size that would be rounded to 1,024 is shown in the next unit instead, such as `1.0 MiB` instead of `1,024 KiB`.
  while (Math.round(size) >= 1_024 && unit < byteUnits.length - 1) {
    size /= 1_024;
    unit++;
  }
  const figure = size < 100 ? size.toFixed(1) : groupedText(size);
  return `${figure} ${byteUnits[unit]}`;
}
