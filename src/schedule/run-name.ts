/**
 * Converts a run's time range to the run's name, and back. Equal time ranges have equal names, so no run can be created
 * twice.
 */
import type { TimeRange } from '../base/time-range.ts';
import { isoText } from '../base/time-text.ts';

/**
 * Returns the name of a run, such as `errors-20261122t120000z-130000z`. The end has a date only if it is on another UTC
 * day.
 */
export function runName(schedule: string, span: TimeRange): string {
  return `${schedule}-${runTimes(span)}`;
}

/** Renders a time range for the name of a run, for example `20261122t120000z-130000z`. */
export function runTimes({ fromMs, toMs }: TimeRange): string {
  const [from, to] = [fromMs, toMs].map((atMs) => isoText(atMs).slice(0, 19).replace(/[-:]/g, ''));
  const [fromDay, toDay] = [from, to].map((text = '') => text.slice(0, 8));
  return `${from}z-${fromDay === toDay ? to?.slice(9) : to}z`.toLowerCase();
}

const form = /^(\d{8})t(\d{6})z-(?:(\d{8})t)?(\d{6})z$/;

/** Parses a time range that `runTimes` has rendered. Returns undefined for any other text. */
export function readRunTimes(text: string): TimeRange | undefined {
  const [, fromDay, fromTime, toDay = fromDay, toTime] = form.exec(text) ?? [];
  const fromMs = instantOf(fromDay, fromTime);
  const toMs = instantOf(toDay, toTime);
  const isRead = fromMs < toMs && runTimes({ fromMs, toMs }) === text;
  return isRead ? { fromMs, toMs } : undefined;
}

function instantOf(day = '', time = ''): number {
  const date = day.replace(/(....)(..)(..)/, '$1-$2-$3');
  return Date.parse(`${date}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`);
}
