/** How fast a fleet comes to its target: its count of updated collectors, and by how much that grew within the last minute. */
import type { AnyResource } from './resource-access.ts';

const windowMs = 60_000;

/** What it goes by; undefined where a resource has no such count. */
export function updatedOf(resource: AnyResource): number | undefined {
  return resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
}

export class UpdatePace {
  /** Oldest first; the first one is the last from before the window, once there is such a one. */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /** @param total collectors that are at the target by now */
  add(atMs: number, total: number): void {
    if (this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
    this.#forget(atMs);
  }

  /** Collectors a minute, never below 0; undefined as long as less than a second was seen. */
  perMinute(nowMs: number): number | undefined {
    this.#forget(nowMs);
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || nowMs - first.atMs < 1_000) return undefined;
    const perMs = (last.total - first.total) / Math.min(windowMs, nowMs - first.atMs);
    return Math.max(0, Math.round(perMs * 60_000));
  }

  #forget(nowMs: number): void {
    while (this.#samples[1] && this.#samples[1].atMs <= nowMs - windowMs) this.#samples.shift();
  }
}
