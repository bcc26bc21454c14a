/**
 * Chooses the target version of a policy from the builds that the service offers (section 4.7 of docs/service.md).
 *
 * The candidates are the latest build or, with `versionPattern`, all matching builds. If `minAge` is set, the newest
 * candidate that is old enough becomes the target. `minAge` never makes a policy return to an older version.
 */
import type { Target } from '../../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { parseDuration } from '../../base/duration.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { Build } from '../../service/collectors/upgrade-service.ts';
import { matchesGlob } from '../members/selector.ts';

/**
 * Current target version, and the time at which each build was first offered. Both influence which version becomes the
 * next target.
 */
export interface TargetPast {
  /** Current target version of the policy, if the policy ever had a target. */
  readonly current: string | undefined;
  /** Wall-clock time in ms at which the service first offered each build. A build without a time counts as new. */
  readonly seenSinceMs: ReadonlyMap<string, number>;
  readonly wallMs: number;
}

/** Build that will probably become the target when its age reaches `minAge`. */
export interface NextBuild {
  readonly version: string;
  /** Wall-clock time in ms at which the build reaches `minAge`. */
  readonly atMs: number;
}

export type TargetVerdict =
  | { readonly kind: 'offered'; readonly version: string; readonly nextBuild?: NextBuild }
  | { readonly kind: 'notOffered'; readonly wanted: string; readonly message: string }
  | { readonly kind: 'tooYoung'; readonly nextBuild: NextBuild; readonly message: string };

/** Maximum number of builds that a message lists. */
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

/** `minAge` of a target in ms; 0 if the spec sets no `minAge`. */
export function minAgeMs({ minAge }: Target): number {
  return (minAge === undefined ? undefined : parseDuration(minAge)) ?? 0;
}

/**
 * Returns true if the version matches `versionPattern`, or if no pattern is set. The age of the build is checked
 * elsewhere.
 */
export function isCandidate({ versionPattern }: Target, version: string): boolean {
  return versionPattern === undefined || matchesGlob(versionPattern, version);
}

/** Returns the versions that may become the target, newest first. Versions that cannot be parsed are left out. */
function candidatesOf(target: Target, builds: readonly Build[]): readonly string[] {
  if (target.versionPattern === undefined) {
    const latest = builds.find((build) => build.latest);
    return latest ? [latest.version] : [];
  }
  return newestFirst(builds.map(({ version }) => version).filter((version) => isCandidate(target, version)));
}

/** Sorts versions in descending order. Versions that cannot be parsed are left out. */
export function newestFirst(versions: readonly string[]): readonly string[] {
  const parsed = versions.flatMap((version) => {
    const parts = parseBuildVersion(version);
    return parts ? [{ version, parts }] : [];
  });
  return parsed.sort((left, right) => compareBuildVersions(right.parts, left.parts)).map(({ version }) => version);
}

function noCandidate({ versionPattern }: Target, builds: readonly Build[]): TargetVerdict {
  if (versionPattern === undefined) {
    const message = `The service marks no build as the latest. ${offered(builds)} Set spec.target.version instead of channel, or also set spec.target.versionPattern.`;
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
  // Only a newer candidate that has reached the minimum age replaces the current target.
  const place = candidates.findIndex((version) => version === past.current || readyMs(version) <= past.wallMs);
  const better = place < 0 ? candidates : candidates.slice(0, place);
  const [nextBuild] = better
    .map((version) => ({ version, atMs: readyMs(version) }))
    .sort((left, right) => left.atMs - right.atMs);
  const stays = builds.some(({ version }) => version === past.current) ? past.current : undefined;
  const version = candidates[place] ?? stays;
  if (version !== undefined) return { kind: 'offered', version, ...(nextBuild ? { nextBuild } : {}) };
  return tooYoung(target, nextBuild as NextBuild, past);
}

/**
 * Returns the verdict that no build can become the target yet: all candidates are younger than `minAge`, and the
 * service does not offer the current target.
 */
function tooYoung({ minAge }: Target, nextBuild: NextBuild, { current }: TargetPast): TargetVerdict {
  const gone = current === undefined ? '' : `The service no longer offers build ${current}. `;
  const message = `${gone}Waiting until ${isoSeconds(nextBuild.atMs)}: build ${nextBuild.version} then becomes the target, because the service will have offered it for ${minAge}. To start earlier, set a shorter spec.target.minAge, or set spec.target.version instead of channel.`;
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
