/**
 * What is said to the operator as a whole in its directories: by ConfigMaps `logfleet-settings` among the manifests, and by what a
 * person asked with `logfleet pause --all`. Any one of them that pauses is enough.
 *
 * Invariant: nothing that pauses is forgotten because its file is being replaced or cannot be read. What is gone counts for
 * `deletionDelayMs` more, since editors and `git pull` delete a file and then write it again.
 */
import type { OperatorSettings } from '../host.ts';
import type { Place } from './manifest-reader.ts';

/** One place that says something. */
export interface FoundSettings extends Place {
  /** Who or what pauses; undefined where it does not. */
  readonly pausedBy: string | undefined;
  /** Whether a person asked for it with a command, and can take it back with one. */
  readonly isRequest: boolean;
}

/** What was found when all places were looked at. */
export interface SettingsReading {
  readonly settings: readonly FoundSettings[];
  /** Whether what was found at a place before may still be there, since its file could not be read. */
  isUnclear(place: Place): boolean;
}

interface Known {
  readonly found: FoundSettings;
  readonly missingSinceMs: number | undefined;
}

const running: OperatorSettings = { paused: false, pausedBy: undefined };

export class DirectorySettings {
  readonly #listeners = new Set<() => void>();
  #known: readonly Known[] = [];
  #current = running;

  current(): OperatorSettings {
    return this.#current;
  }

  /** The places that pause now. */
  pausing(): readonly FoundSettings[] {
    return this.#known.map(({ found }) => found).filter(({ pausedBy }) => pausedBy !== undefined);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes up what was found. Returns whether something is gone that counts for a while yet, so that one has to look again. */
  adopt(reading: SettingsReading, nowMs: number, deletionDelayMs: number): boolean {
    const present = reading.settings.map((found): Known => ({ found, missingSinceMs: undefined }));
    const absent = this.#known.filter(({ found }) => !reading.settings.some((other) => isSamePlace(other, found)));
    const kept = absent.flatMap(({ found, missingSinceMs = nowMs }): readonly Known[] => {
      if (reading.isUnclear(found)) return [{ found, missingSinceMs: undefined }];
      return nowMs - missingSinceMs < deletionDelayMs ? [{ found, missingSinceMs }] : [];
    });
    this.#replace([...present, ...kept]);
    return kept.some(({ missingSinceMs }) => missingSinceMs !== undefined);
  }

  #replace(known: readonly Known[]): void {
    this.#known = known;
    const reasons = known.map(({ found }) => found.pausedBy).filter((reason) => reason !== undefined);
    const pausedBy = reasons.length === 0 ? undefined : [...new Set(reasons)].join(' and ');
    if (pausedBy === this.#current.pausedBy) return;
    this.#current = pausedBy === undefined ? running : { paused: true, pausedBy };
    for (const listener of [...this.#listeners]) listener();
  }
}

function isSamePlace(left: Place, right: Place): boolean {
  return left.directory === right.directory && left.manifest === right.manifest;
}
