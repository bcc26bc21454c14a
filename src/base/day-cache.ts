/** Caches values that are computed for whole days. */
import { dayMs } from './time-units.ts';

/**
 * Maximum number of days in a cache. A full cache is cleared. The maximum is large enough to count 1,000 pending runs of
 * a daily schedule.
 */
const maxDays = 1_500;

/**
 * Returns the cached value for the day of `timeMs`. If there is none, calls `find` with the start of the day and stores
 * the result. Days have 24 hours and begin at multiples of 24 hours, as in UTC and in local times as numbers.
 */
export function cached<V>(days: Map<number, V>, timeMs: number, find: (startMs: number) => V): V {
  const day = Math.floor(timeMs / dayMs);
  if (!days.has(day)) {
    const value = find(day * dayMs);
    if (days.size >= maxDays) days.clear();
    days.set(day, value);
  }
  return days.get(day) as V;
}
