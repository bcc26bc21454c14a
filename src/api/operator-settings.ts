/**
 * The ConfigMap `logfleet-settings`, which configures the whole operator. In a cluster, this ConfigMap is in the
 * operator's namespace.
 *
 * An unknown value of `paused` pauses the operator.
 */
import { isRecord, type JsonObject } from '../base/record.ts';
import { suggestion } from './did-you-mean.ts';
import { error, type Finding, warning } from './finding.ts';

export const settingsName = 'logfleet-settings';

/** Key of the setting that pauses all policies and exports. Upgrades in flight continue. */
export const pausedMember = 'paused';

export interface Pause {
  /** Value of `paused`, truncated to 64 characters, if it is neither `true` nor `false`. Otherwise undefined. */
  readonly oddValue: string | undefined;
}

/** Interprets the value of the setting `paused`. Returns undefined if this value does not pause the operator. */
export function readPause(value: unknown): Pause | undefined {
  const text = String(value ?? '').trim();
  if (text === '' || text === 'false') return undefined;
  return { oddValue: text === 'true' ? undefined : text.slice(0, 64) };
}

/**
 * Returns text that names the ConfigMap, for messages of the form "paused by …". Returns undefined if the ConfigMap
 * does not pause the operator.
 */
export function pausedByConfigMap(value: unknown, place: string): string | undefined {
  const pause = readPause(value);
  const odd = pause?.oddValue === undefined ? '' : `, whose paused is ${JSON.stringify(pause.oddValue)}`;
  return pause && `the ConfigMap ${settingsName} in ${place}${odd}`;
}

/** Reports whether a document is the ConfigMap `logfleet-settings`. */
export function isSettingsManifest({ apiVersion, kind, metadata }: JsonObject): boolean {
  return apiVersion === 'v1' && kind === 'ConfigMap' && isRecord(metadata) && metadata['name'] === settingsName;
}

/** Returns the value of `paused` in the ConfigMap as the user wrote it. */
export function pausedIn(manifest: JsonObject): unknown {
  return isRecord(manifest['data']) ? manifest['data'][pausedMember] : undefined;
}

/** Returns errors and warnings about the ConfigMap `logfleet-settings`. */
export function* checkOperatorSettings({ data }: JsonObject): Generator<Finding> {
  if (data === undefined || data === null) return;
  if (!isRecord(data)) {
    const remedy = 'use a mapping of names to strings, for example paused: "true"';
    yield error(['data'], 'WrongType', { problem: 'must be a mapping', remedy });
    return;
  }
  for (const [name, value] of Object.entries(data)) yield* checkMember(name, value);
}

function* checkMember(name: string, value: unknown): Generator<Finding> {
  const path = ['data', name];
  if (name !== pausedMember) {
    const remedy = suggestion(name, [pausedMember], `use ${pausedMember}, or leave it out`);
    yield warning(path, 'Unknown', { problem: 'logfleet has no such setting', remedy, subject: 'key' });
  } else if (typeof value !== 'string') {
    const remedy = `put it in quotes, for example "${String(value)}"`;
    yield error(path, 'WrongType', { problem: `must be a string, not ${JSON.stringify(value)}`, remedy });
  } else if (readPause(value)?.oddValue !== undefined) {
    const problem = `the setting ${pausedMember} has the value ${JSON.stringify(readPause(value)?.oddValue)}, which pauses logfleet, just as "true" does`;
    yield warning(path, 'Risky', { problem, remedy: 'use "true" or "false"' });
  }
}
