/** Tracks since when a known object (a resource or a Secret) has been missing, by identity, on the monotonic clock. */

export class Absences {
  readonly #sinceMs = new Map<string, number>();

  /** True while at least one object is missing. */
  any(): boolean {
    return this.#sinceMs.size > 0;
  }

  /** Time in ms since the object was first reported missing. The first call for an object starts the period and returns 0. */
  lastsMs(id: string, nowMs: number): number {
    const sinceMs = this.#sinceMs.get(id) ?? nowMs;
    this.#sinceMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  /** Ends the period of absence: the object is present again, or was deleted. */
  end(id: string): void {
    this.#sinceMs.delete(id);
  }
}
