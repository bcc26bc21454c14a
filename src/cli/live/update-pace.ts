/** Rate at which collectors of a policy reach their target, over the last minute. */
import type { AnyResource } from '../resources/resource-reader.ts';

const windowMs = 60_000;

/** Number of updated collectors. Undefined if the resource has no such number. */
export function updatedOf(resource: AnyResource): number | undefined {
  return resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
}

export class UpdatePace {
  /** Oldest sample first. The first sample is the last one before the period, if there is one. */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /** @param total number of collectors at the target */
  add(atMs: number, total: number): void {
    if (this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
    this.#forget(atMs);
  }

  /** Collectors per minute, at least 0. Undefined until one second of samples is known. */
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
