/**
 * The operator-wide settings of a set of directories. They come from ConfigMaps `logfleet-settings` among the manifests, from `logfleet
 * pause --all`, and from unusable manifests, which hold all policies. One source that pauses is enough.
 *
 * Invariant: a pause is never lost while its file is replaced or unreadable. Settings whose file is gone stay in effect for
 * `deletionDelayMs`, because editors and `git pull` delete a file and write it again.
 */

import { join } from 'node:path';
import { renderFinding } from '../../api/finding.ts';
import type { OperatorSettings } from '../host.ts';
import { type FoundSettings, type Hold, identifySettings, type Place } from './manifest-places.ts';

/** What was found when all places were looked at. */
interface SettingsReading {
  readonly settings: readonly FoundSettings[];
  readonly holds: readonly Hold[];
  /** True if settings that were read at this place before may still exist, because the file could not be read. */
  isUnclear(place: Place): boolean;
}

interface Known {
  readonly found: FoundSettings;
  readonly missingSinceMs: number | undefined;
}

/** Settings without a pause and without a hold. */
export const runningSettings: OperatorSettings = { paused: false, pausedBy: undefined };

export class DirectorySettings {
  readonly #listeners = new Set<() => void>();
  #known: readonly Known[] = [];
  #current = runningSettings;

  current(): OperatorSettings {
    return this.#current;
  }

  /** Place of the settings with this identity, or undefined if they are unknown. */
  placeOf(id: string): Place | undefined {
    return this.#known.find(({ found }) => found.source === 'manifest' && identifySettings(found) === id)?.found;
  }

  /** The settings that currently pause. */
  pausing(): readonly FoundSettings[] {
    return this.#known.map(({ found }) => found).filter(({ pausedBy }) => pausedBy !== undefined);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes over a reading. Returns true if missing settings still count for a while, so that the caller must read again later. */
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

/** Returns why no policy may start upgrades and what to do, or undefined if no hold exists. */
function policiesHold([first, ...others]: readonly Hold[]): string | undefined {
  if (!first) return undefined;
  const more = others.length === 0 ? '' : `, and ${others.length} more,`;
  return (
    `No upgrade is started: a manifest${more} cannot be used, no former version of it is known, and it may be about any collector. ` +
    `Correct or delete ${renderFinding(first.problem)}`
  );
}

function isSamePlace(left: Place, right: Place): boolean {
  return left.directory === right.directory && left.manifest === right.manifest;
}
