/**
 * The settings of the operator as a whole in its directories: ConfigMaps `logfleet-settings` among the manifests, requests by
 * `logfleet pause --all`, and manifests that cannot be used and hold all policies. Any one of them that pauses is enough.
 *
 * Invariant: no pause is forgotten because its file is being replaced or cannot be read. Settings whose file is gone count for
 * `deletionDelayMs` more, since editors and `git pull` delete a file and then write it again.
 */
import { join } from 'node:path';
import type { OperatorSettings } from '../host.ts';
import { type Hold, identifySettings, type Place } from './manifest-reader.ts';
import { renderProblem } from './problem.ts';

/** One place that says something. */
export interface FoundSettings extends Place {
  /** Who or what pauses; undefined where it does not. */
  readonly pausedBy: string | undefined;
  /** A ConfigMap among the manifests, a request by a command, or a file that cannot be read and may contain the ConfigMap. */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** What was found when all places were looked at. */
export interface SettingsReading {
  readonly settings: readonly FoundSettings[];
  readonly holds: readonly Hold[];
  /** Whether what was found at a place before may still be there, since its file could not be read. */
  isUnclear(place: Place): boolean;
}

interface Known {
  readonly found: FoundSettings;
  readonly missingSinceMs: number | undefined;
}

/** Nothing pauses and nothing holds. */
export const runningSettings: OperatorSettings = { paused: false, pausedBy: undefined };

export class DirectorySettings {
  readonly #listeners = new Set<() => void>();
  #known: readonly Known[] = [];
  #current = runningSettings;

  current(): OperatorSettings {
    return this.#current;
  }

  /** Where the settings of this identity stand; undefined where they are not known. */
  placeOf(id: string): Place | undefined {
    return this.#known.find(({ found }) => found.source === 'manifest' && identifySettings(found) === id)?.found;
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
    const unreadable = reading.holds.filter(({ mayPause }) => mayPause).map(settingsBehind);
    const present = [...reading.settings, ...unreadable].map((found): Known => ({ found, missingSinceMs: undefined }));
    const absent = this.#known.filter(
      ({ found }) => found.source !== 'unreadable' && !reading.settings.some((other) => isSamePlace(other, found)),
    );
    const kept = absent.flatMap(({ found, missingSinceMs = nowMs }): readonly Known[] => {
      if (reading.isUnclear(found)) return [{ found, missingSinceMs: undefined }];
      return nowMs - missingSinceMs < deletionDelayMs ? [{ found, missingSinceMs }] : [];
    });
    this.#replace([...present, ...kept], policiesHold(reading.holds));
    return kept.some(({ missingSinceMs }) => missingSinceMs !== undefined);
  }

  #replace(known: readonly Known[], hold: string | undefined): void {
    this.#known = known;
    const reasons = known.map(({ found }) => found.pausedBy).filter((reason) => reason !== undefined);
    const pausedBy = reasons.length === 0 ? undefined : [...new Set(reasons)].join(' and ');
    if (pausedBy === this.#current.pausedBy && hold === this.#current.policiesHold) return;
    const settings = pausedBy === undefined ? runningSettings : { paused: true, pausedBy };
    this.#current = hold === undefined ? settings : { ...settings, policiesHold: hold };
    for (const listener of [...this.#listeners]) listener();
  }
}

function settingsBehind({ directory, manifest }: Hold): FoundSettings {
  const pausedBy = `${join(directory, manifest)}, which cannot be read and may contain the switch for everything`;
  return { directory, manifest, pausedBy, source: 'unreadable' };
}

/** Why no policy may start anything, and what to do; undefined where nothing holds them. */
function policiesHold([first, ...others]: readonly Hold[]): string | undefined {
  if (!first) return undefined;
  const more = others.length === 0 ? '' : `, and ${others.length} more,`;
  return (
    `No upgrade is started: a manifest${more} cannot be used, no former version of it is known, and it may be about any collector. ` +
    `Correct or delete ${renderProblem(first.problem)}`
  );
}

function isSamePlace(left: Place, right: Place): boolean {
  return left.directory === right.directory && left.manifest === right.manifest;
}
