/** Since when what was there before is missing, by identity; on the monotonic clock. */

export class Absences {
  readonly #sinceMs = new Map<string, number>();

  /** Whether anything is missing. */
  any(): boolean {
    return this.#sinceMs.size > 0;
  }

  /** How long this has been missing; 0 where it was there when it was looked for last. */
  lastsMs(id: string, nowMs: number): number {
    const sinceMs = this.#sinceMs.get(id) ?? nowMs;
    this.#sinceMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  /** It is there again, or it was deleted. */
  end(id: string): void {
    this.#sinceMs.delete(id);
  }
}
