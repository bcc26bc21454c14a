/** Times for people and programs. */

/** `2026-11-21T22:00:00Z` */
export function renderMoment(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

/** `2026-11-21 22:00 UTC`, for times that are not exact to the second. */
export function renderMinute(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
