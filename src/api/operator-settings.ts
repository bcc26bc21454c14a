/**
 * The ConfigMap `logfleet-settings`, which speaks to the operator as a whole: in a cluster it stands in the operator's own
 * namespace, in a directory anywhere among the manifests.
 *
 * Invariant: a switch that stops everything errs on the side of stopping. Whatever somebody wrote for `paused` pauses, unless
 * it is empty or `false`.
 */
import { nearest } from './did-you-mean.ts';
import type { Finding } from './finding.ts';

export const settingsName = 'logfleet-settings';

/** The member of `data` that stops all policies and exports: nothing new is started, and what is in flight ends by itself. */
export const pausedMember = 'paused';

/** What is to be said of a ConfigMap that pauses. */
export interface Pause {
  /** The value, where it is neither `true` nor `false`. */
  readonly oddValue: string | undefined;
}

/** Whether this value of `paused` stops everything; undefined where it does not. */
export function readPause(value: unknown): Pause | undefined {
  const text = String(value ?? '').trim();
  if (text === '' || text === 'false') return undefined;
  return { oddValue: text === 'true' ? undefined : text.slice(0, 64) };
}

/** Whether a document is this ConfigMap, whatever else is in it. */
export function isSettingsManifest({ apiVersion, kind, metadata }: Readonly<Record<string, unknown>>): boolean {
  return apiVersion === 'v1' && kind === 'ConfigMap' && isRecord(metadata) && metadata['name'] === settingsName;
}

/** The value of `paused` in such a manifest, as it was written. */
export function pausedIn(manifest: Readonly<Record<string, unknown>>): unknown {
  return isRecord(manifest['data']) ? manifest['data'][pausedMember] : undefined;
}

/** What is wrong, or odd, about such a manifest. What is no text an API server refuses. */
export function checkSettings(manifest: Readonly<Record<string, unknown>>): readonly Finding[] {
  const data = manifest['data'];
  if (data === undefined || data === null) return [];
  if (!isRecord(data)) {
    return [finding('error', ['data'], 'must be a mapping; write names with texts, as in paused: "true"')];
  }
  return Object.entries(data).flatMap(([name, value]) => checkMember(name, value));
}

function checkMember(name: string, value: unknown): readonly Finding[] {
  const path = ['data', name];
  if (name !== pausedMember) {
    const meant = nearest(name, [pausedMember]);
    const fix = meant === undefined ? `write ${pausedMember}, or leave it out` : `did you mean ${meant}?`;
    return [finding('warning', path, `logfleet knows no such setting; ${fix}`, 'key')];
  }
  if (typeof value !== 'string') {
    const message = `must be a text and is ${JSON.stringify(value)}; write it in quotes, as in "${String(value)}"`;
    return [finding('error', path, message)];
  }
  const oddValue = readPause(value)?.oddValue;
  if (oddValue === undefined) return [];
  return [finding('warning', path, `${JSON.stringify(oddValue)} pauses as "true" does; write "true" or "false"`)];
}

function finding(
  severity: Finding['severity'],
  path: readonly string[],
  message: string,
  part: Finding['part'] = 'value',
): Finding {
  return { severity, path, part, message };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
