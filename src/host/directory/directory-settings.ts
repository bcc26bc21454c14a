/**
 * Settings for the whole operator in manifest directories. They come from `logfleet-settings` ConfigMaps and from the
 * command `logfleet pause --all`. All upgrades stop if a settings manifest has never been valid. A pause stays in
 * effect while its file is unreadable or being replaced.
 */

import { join } from 'node:path';
import { type PlacedFinding, renderFinding } from '../../api/finding.ts';
import { Listeners } from '../../base/listeners.ts';
import type { OperatorSettings } from '../host.ts';

/** Location of a manifest: its manifest directory, and its path within that directory. */
export interface Place {
  readonly directory: string;
  /** Path of the manifest file, or of an unreadable folder, relative to the manifest directory. */
  readonly manifest: string;
}

/**
 * Manifest that has been invalid or unreadable since logfleet first saw it. It may concern any collector, so no policy
 * starts upgrades as long as the manifest exists (D1).
 */
export interface UnusableManifest extends Place {
  /** True if the manifest may contain the operator's settings. Such a manifest also pauses exports. */
  readonly mayPause: boolean;
  readonly problem: PlacedFinding;
}

export interface FoundSettings extends Place {
  /** User or object that paused the operator, worded to follow "paused by". Undefined if the operator is not paused. */
  readonly pausedBy: string | undefined;
  /**
   * Source of the settings: a ConfigMap manifest, a command such as `logfleet pause --all`, or an unreadable file
   * that may contain settings.
   */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

export function identifySettings({ directory, manifest }: Place): string {
  return `settings/${join(directory, manifest)}`;
}

interface SettingsReading {
  readonly settings: readonly FoundSettings[];
  readonly unusable: readonly UnusableManifest[];
}

export class DirectorySettings {
  readonly #listeners = new Listeners();
  #known: readonly FoundSettings[] = [];
  #current: OperatorSettings = {};

  current(): OperatorSettings {
    return this.#current;
  }

  /**
   * Returns the location of the ConfigMap with this identity, or undefined if no manifest file contains the ConfigMap.
   */
  placeOf(id: string): Place | undefined {
    return this.#known.find((found) => found.source === 'manifest' && identifySettings(found) === id);
  }

  pausing(): readonly FoundSettings[] {
    return this.#known.filter(({ pausedBy }) => pausedBy !== undefined);
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Replaces the operator settings with the settings found by the latest read of the manifests. A setting that was not
   * found remains in effect if `isKept` returns true for it.
   */
  adopt({ settings, unusable }: SettingsReading, isKept: (known: FoundSettings) => boolean): void {
    const unreadable = unusable.filter(({ mayPause }) => mayPause).map(settingsBehind);
    const kept = this.#known.filter((known) => known.source !== 'unreadable' && isKept(known));
    this.#known = [...settings, ...unreadable, ...kept];
    const reasons = new Set(this.pausing().map(({ pausedBy }) => pausedBy));
    const pausedBy = reasons.size === 0 ? undefined : [...reasons].join(' and ');
    const upgradesBlocked = renderBlock(unusable);
    if (pausedBy === this.#current.pausedBy && upgradesBlocked === this.#current.upgradesBlocked) return;
    this.#current = { pausedBy, upgradesBlocked };
    this.#listeners.notify();
  }
}

function settingsBehind({ directory, manifest }: UnusableManifest): FoundSettings {
  const pausedBy = `${join(directory, manifest)}, a manifest that logfleet cannot read and that may contain the setting paused: "true"`;
  return { directory, manifest, pausedBy, source: 'unreadable' };
}

/**
 * Explains why no policy may start upgrades, and what to do about it. Returns undefined if all manifests are usable.
 */
function renderBlock([first, ...others]: readonly UnusableManifest[]): string | undefined {
  if (!first) return undefined;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return (
    `No policy starts an upgrade, because logfleet has never read a usable version of a manifest${more} that may affect any collector. ` +
    `Correct or delete ${renderFinding(first.problem)}`
  );
}
