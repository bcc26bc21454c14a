/** Durations as in `kubectl get`: `45s`, `3m20s`, `2h5m`, `6d3h`, `40d`. */

/**
 * Duration in one or two units, rounded like kubectl. Slightly negative durations come from different clocks and are `0s`. Other negative
 * durations are `<invalid>`.
 */
export function renderAge(ageMs: number): string {
  const seconds = Math.trunc(ageMs / 1000);
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return inTwo(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return inTwo(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return inTwo(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? inTwo(years, 'y', days % 365, 'd') : `${years}y`;
}

/** Time since an RFC 3339 time. `<unknown>` without a time. */
export function renderAgeSince(time: string | undefined, nowMs: number): string {
  return renderAge(time === undefined ? Number.NaN : nowMs - Date.parse(time));
}

function inTwo(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
