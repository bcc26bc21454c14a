/**
 * Which version a policy asks for, given the builds that the service offers now (4.7).
 *
 * A channel has candidates: the build that the service calls its latest, or with a pattern all that match it, the newest by
 * version first. With `minAge` a candidate counts once this policy has seen it offered for so long. While the newest is too young,
 * the newest one that is old enough is the target; yet a policy that has a target never goes back from it for the sake of age.
 * How long builds have been seen is kept by `seen-builds.ts`.
 */
import type { Target } from '../api/generated/collector-version-policy.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../base/build-version.ts';
import { parseDuration } from '../base/duration.ts';
import { isoTime } from '../controller/status-text.ts';
import type { Build } from '../service/upgrade-service.ts';
import { matchesGlob } from './selector.ts';

/** What has been, as far as it counts for a channel. */
export interface TargetPast {
  /** The target that the policy has; undefined where it has had none. */
  readonly current: string | undefined;
  /** Since when (wall time) the policy has seen each build offered without a break; who is not in it counts as seen just now. */
  readonly seenSinceMs: ReadonlyMap<string, number>;
  readonly wallMs: number;
}

/** A build that becomes the target once it is old enough, unless another comes before. */
export interface Heir {
  readonly version: string;
  /** Wall time. */
  readonly atMs: number;
}

export type TargetVerdict =
  | { readonly kind: 'offered'; readonly version: string; readonly heir?: Heir }
  | { readonly kind: 'notOffered'; readonly wanted: string; readonly message: string }
  | { readonly kind: 'tooYoung'; readonly heir: Heir; readonly message: string };

/** How many builds a message names. */
const namedBuilds = 10;

export function resolveTarget(target: Target, builds: readonly Build[], past: TargetPast): TargetVerdict {
  if (target.version !== undefined) {
    const { version } = target;
    if (builds.some((build) => build.version === version)) return { kind: 'offered', version };
    const message = `The service does not offer build ${version}. ${offered(builds)} Set spec.target.version to one of them.`;
    return { kind: 'notOffered', wanted: version, message };
  }
  const candidates = candidatesOf(target, builds);
  const [newest] = candidates;
  if (newest === undefined) return noCandidate(target, builds);
  const ageMs = minAgeMs(target);
  return ageMs === 0 ? { kind: 'offered', version: newest } : oldEnough(target, builds, candidates, past);
}

/** Milliseconds for which a build must have been seen before it counts (`minAge`); 0 where any counts at once. */
export function minAgeMs({ minAge }: Target): number {
  return (minAge === undefined ? undefined : parseDuration(minAge)) ?? 0;
}

/** Whether a channel may come to this build, by its version alone. */
export function isCandidate({ versionPattern }: Target, version: string): boolean {
  return versionPattern === undefined || matchesGlob(versionPattern, version);
}

/** The versions that a channel chooses from, the best first. A version that cannot be read has no place in an order. */
function candidatesOf(target: Target, builds: readonly Build[]): readonly string[] {
  if (target.versionPattern === undefined) {
    const latest = builds.find((build) => build.latest);
    return latest ? [latest.version] : [];
  }
  return newestFirst(builds.map(({ version }) => version).filter((version) => isCandidate(target, version)));
}

/** Only those that can be read, which alone have an order. */
export function newestFirst(versions: Iterable<string>): readonly string[] {
  const parsed: (readonly [string, BuildVersion])[] = [];
  for (const version of versions) {
    const parts = parseBuildVersion(version);
    if (parts) parsed.push([version, parts]);
  }
  return parsed.sort(([, left], [, right]) => compareBuildVersions(right, left)).map(([version]) => version);
}

function noCandidate({ versionPattern }: Target, builds: readonly Build[]): TargetVerdict {
  if (versionPattern === undefined) {
    const message = `The service marks no build as the latest. ${offered(builds)} Set spec.target.version instead of channel, or spec.target.versionPattern beside it.`;
    return { kind: 'notOffered', wanted: 'Latest', message };
  }
  const message = `The service offers no build that matches ${versionPattern}. ${offered(builds)} Set spec.target.versionPattern to a glob that matches one of them.`;
  return { kind: 'notOffered', wanted: versionPattern, message };
}

function oldEnough(
  target: Target,
  builds: readonly Build[],
  candidates: readonly string[],
  past: TargetPast,
): TargetVerdict {
  const readyMs = (version: string) => (past.seenSinceMs.get(version) ?? past.wallMs) + minAgeMs(target);
  const grown = candidates.findIndex((version) => readyMs(version) <= past.wallMs);
  const kept = candidates.indexOf(past.current ?? '');
  // The places are by version: the current target stays where it is before any that is old enough, so that it is never left for an older one.
  const place = kept >= 0 && (grown < 0 || kept < grown) ? kept : grown;
  const better = place < 0 ? candidates : candidates.slice(0, place);
  const heir = firstHeir(better, readyMs);
  const stays = builds.some(({ version }) => version === past.current) ? past.current : undefined;
  const version = candidates[place] ?? stays;
  if (version !== undefined) return { kind: 'offered', version, ...(heir ? { heir } : {}) };
  // Without a place all candidates are better, and there is one at least.
  return tooYoung(target, heir as Heir, past);
}

/** Who is old enough first; of those that are so at the same time, the one that stands first. */
function firstHeir(candidates: readonly string[], readyMs: (version: string) => number): Heir | undefined {
  let first: Heir | undefined;
  for (const version of candidates) {
    const atMs = readyMs(version);
    if (first === undefined || atMs < first.atMs) first = { version, atMs };
  }
  return first;
}

/** Also where there has been a target: it is offered no longer, or it would have been kept. */
function tooYoung({ minAge }: Target, heir: Heir, { current }: TargetPast): TargetVerdict {
  const gone = current === undefined ? '' : `The service no longer offers build ${current}. `;
  const message = `${gone}Waiting for build ${heir.version}, which becomes the target at ${isoTime(heir.atMs)}, once it has been offered for ${minAge}; for an earlier start write a shorter spec.target.minAge, or spec.target.version instead of channel.`;
  return { kind: 'tooYoung', heir, message };
}

function offered(builds: readonly Build[]): string {
  if (builds.length === 0) return 'It offers no builds at all.';
  const names = builds
    .slice(0, namedBuilds)
    .map((build) => (build.latest ? `${build.version} (latest)` : build.version));
  const more = builds.length > namedBuilds ? ` and ${builds.length - namedBuilds} more` : '';
  return `It offers ${names.join(', ')}${more}.`;
}
