/** Renders wall-clock times, in ms since the epoch, as text in UTC. */

/** Renders a time in ms, such as `2026-11-01T00:00:00.000Z`. */
export function isoText(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** Renders a time in whole seconds, such as `2026-11-01T00:00:00Z`. */
export function isoSeconds(wallMs: number): string {
  return `${isoText(wallMs).slice(0, 19)}Z`;
}

/** Renders the time of day, such as `22:00:00Z`. */
export function timeOfDay(wallMs: number): string {
  return isoSeconds(wallMs).slice(11);
}
