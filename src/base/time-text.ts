/** Renders times as text, such as `2026-11-01T00:00:00.000Z`. */
export function isoText(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
