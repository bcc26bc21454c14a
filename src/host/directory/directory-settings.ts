/**
 * Operator-wide settings of a set of manifest directories. They come from three sources: ConfigMaps `logfleet-settings`
 * among the manifests, the command `logfleet pause --all`, and unusable manifests, which stop all policies from
 * starting upgrades. One source that pauses is enough.
 *
 * Invariant: a pause is never lost while its file is replaced or unreadable. Settings whose file is gone stay in effect
 * for `deletionDelayMs`, because editors and `git pull` delete a file and write it again.
 */

import { join } from 'node:path';
import { renderFinding } from '../../api/finding.ts';
import type { OperatorSettings } from '../host.ts';
import { type FoundSettings, type Hold, identifySettings, type Place } from './manifest-places.ts';

/** Settings that one reading of all manifest directories found. */
interface SettingsReading {
  readonly settings: readonly FoundSettings[];
  readonly holds: readonly Hold[];
  /** True if a file could not be read completely, so that settings from an earlier reading may still exist there. */
  readonly isUnclear: boolean;
}

/** Functions that measure how long the file of some settings has been missing. */
interface Absence {
  /** Returns whether the file of these settings has been missing long enough for the settings to count as deleted. */
  isGone(id: string): boolean;
  /** Records that the file of these settings is present again. */
  isPresent(id: string): void;
}

/** Settings that neither pause the operator nor stop policies from starting upgrades. */
export const runningSettings: OperatorSettings = { paused: false, pausedBy: undefined };

export class DirectorySettings {
  readonly #listeners = new Set<() => void>();
  #known: readonly FoundSettings[] = [];
  #current = runningSettings;

  current(): OperatorSettings {
    return this.#current;
  }

  /** File that contains the settings with this identity, or undefined if the settings are unknown. */
  placeOf(id: string): Place | undefined {
    return this.#known.find((found) => found.source === 'manifest' && identifySettings(found) === id);
  }

  /** Returns the settings that currently pause the operator. */
  pausing(): readonly FoundSettings[] {
    return this.#known.filter(({ pausedBy }) => pausedBy !== undefined);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Replaces the known settings by those of a new reading. Settings whose file is missing stay in effect until they
   * count as deleted.
   */
  adopt(reading: SettingsReading, { isGone, isPresent }: Absence): void {
    for (const found of reading.settings) isPresent(identifySettings(found));
    const unreadable = reading.holds.filter(({ mayPause }) => mayPause).map(settingsBehind);
    const kept = this.#known.filter(
      (found) =>
        found.source !== 'unreadable' &&
        !reading.settings.some((other) => isSamePlace(other, found)) &&
        (reading.isUnclear || !isGone(identifySettings(found))),
    );
    this.#replace([...reading.settings, ...unreadable, ...kept], policiesHold(reading.holds));
  }

  #replace(known: readonly FoundSettings[], hold: string | undefined): void {
    this.#known = known;
    const reasons = known.map((found) => found.pausedBy).filter((reason) => reason !== undefined);
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

/** Returns a message why no policy may start upgrades and what to do. Returns undefined if all manifests are usable. */
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
