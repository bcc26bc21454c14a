/**
 * Chooses the version that a policy asks for from the builds that the service offers (4.7).
 *
 * The candidates of a channel are the latest build of the service, or with a pattern all matching builds, newest version first.
 * With `minAge`, a candidate counts when this policy has seen it offered for that long. Until the newest candidate is old enough,
 * the newest candidate that is old enough is the target. A policy never returns from its present target to an older version because
 * of age. `seen-builds.ts` records since when builds have been seen.
 */
import type { Target } from '../../api/generated/collector-version-policy.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { parseDuration } from '../../base/duration.ts';
import { isoTime } from '../../controller/status-text.ts';
import type { Build } from '../../service/collectors/upgrade-service.ts';
import { matchesGlob } from '../members/selector.ts';

/** Past observations that count for a channel. */
export interface TargetPast {
  /** Present target of the policy; undefined when it never had one. */
  readonly current: string | undefined;
  /** Wall ms since which the policy has seen each build offered without interruption. A missing build counts as first seen now. */
  readonly seenSinceMs: ReadonlyMap<string, number>;
  readonly wallMs: number;
}

/** The next build: it becomes the target when it is old enough, unless a better build appears. */
export interface NextBuild {
  readonly version: string;
  /** Wall ms. */
  readonly atMs: number;
}

export type TargetVerdict =
  | { readonly kind: 'offered'; readonly version: string; readonly nextBuild?: NextBuild }
  | { readonly kind: 'notOffered'; readonly wanted: string; readonly message: string }
  | { readonly kind: 'tooYoung'; readonly nextBuild: NextBuild; readonly message: string };

/** Maximum number of builds in a message. */
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

/** `minAge` in ms; 0 when any age is enough. */
export function minAgeMs({ minAge }: Target): number {
  return (minAge === undefined ? undefined : parseDuration(minAge)) ?? 0;
}

/** Whether the channel may choose this version, regardless of age. */
export function isCandidate({ versionPattern }: Target, version: string): boolean {
  return versionPattern === undefined || matchesGlob(versionPattern, version);
}

/** Candidate versions of a channel, best first. Versions that cannot be parsed have no order and are left out. */
function candidatesOf(target: Target, builds: readonly Build[]): readonly string[] {
  if (target.versionPattern === undefined) {
    const latest = builds.find((build) => build.latest);
    return latest ? [latest.version] : [];
  }
  return newestFirst(builds.map(({ version }) => version).filter((version) => isCandidate(target, version)));
}

/** Versions in descending order, without those that cannot be parsed. */
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
  // Candidates are sorted by version. The present target wins against older candidates that are old enough.
  const place = kept >= 0 && (grown < 0 || kept < grown) ? kept : grown;
  const better = place < 0 ? candidates : candidates.slice(0, place);
  const nextBuild = firstNextBuild(better, readyMs);
  const stays = builds.some(({ version }) => version === past.current) ? past.current : undefined;
  const version = candidates[place] ?? stays;
  if (version !== undefined) return { kind: 'offered', version, ...(nextBuild ? { nextBuild } : {}) };
  // No candidate is eligible, so all are younger than `minAge`, and there is at least one.
  return tooYoung(target, nextBuild as NextBuild, past);
}

/** The first version to become old enough; among equals, the first in the list. */
function firstNextBuild(candidates: readonly string[], readyMs: (version: string) => number): NextBuild | undefined {
  let first: NextBuild | undefined;
  for (const version of candidates) {
    const atMs = readyMs(version);
    if (first === undefined || atMs < first.atMs) first = { version, atMs };
  }
  return first;
}

/** Also reached with a present target when that target is no longer offered. */
function tooYoung({ minAge }: Target, nextBuild: NextBuild, { current }: TargetPast): TargetVerdict {
  const gone = current === undefined ? '' : `The service no longer offers build ${current}. `;
  const message = `${gone}Waiting for build ${nextBuild.version}, which becomes the target at ${isoTime(nextBuild.atMs)}, once it has been offered for ${minAge}; for an earlier start write a shorter spec.target.minAge, or spec.target.version instead of channel.`;
  return { kind: 'tooYoung', nextBuild, message };
}

function offered(builds: readonly Build[]): string {
  if (builds.length === 0) return 'It offers no builds at all.';
  const names = builds
    .slice(0, namedBuilds)
    .map((build) => (build.latest ? `${build.version} (latest)` : build.version));
  const more = builds.length > namedBuilds ? ` and ${builds.length - namedBuilds} more` : '';
  return `It offers ${names.join(', ')}${more}.`;
}
