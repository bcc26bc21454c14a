/**
 * Chooses the build for which the collector list is requested (U7). The list for a build may lack the collectors that
 * already run that build, so a build that no collector runs is the best choice.
 */

import { compareBuildVersions, parseBuildVersion } from '../base/build-version.ts';
import { compareText } from '../base/text-order.ts';
import type { Build } from '../service/collectors/upgrade-service.ts';

export class View {
  /**
   * One or two builds for which the collector list is requested. A second build is needed only if the list for the
   * first build does not show all collectors. An undefined first build means the latest build.
   */
  readonly builds: readonly [string | undefined, ...string[]];
  readonly #offered: readonly string[];
  readonly #targeted: ReadonlySet<string>;

  constructor(
    builds: readonly [string | undefined, ...string[]],
    offered: readonly string[],
    targeted: ReadonlySet<string>,
  ) {
    this.builds = builds;
    this.#offered = offered;
    this.#targeted = targeted;
  }

  /** Reports whether the requested collector lists show collectors that run this version. */
  observes(version: string): boolean {
    return this.builds.some((build) => build !== version);
  }

  /** Reports whether the service no longer offers a build for which the collector list is requested. */
  isWithdrawn(offered: readonly Build[]): boolean {
    return this.builds.some((build) => build !== undefined && !isAmong(build, offered));
  }

  /** Reports whether the service has withdrawn any of the builds that it offered when this view was created. */
  isOutdated(offered: readonly Build[]): boolean {
    return this.#offered.some((build) => !isAmong(build, offered));
  }

  /**
   * Returns a view with a different build that no collector runs and no policy targets. Returns undefined if there is
   * no such build, or if this view already has two builds.
   */
  alternative(counts: ReadonlyMap<string, number>): View | undefined {
    if (this.builds.length > 1) return undefined;
    const other = this.#offered.find(
      (build) => build !== this.builds[0] && !counts.get(build) && !this.#targeted.has(build),
    );
    return other === undefined ? undefined : new View([other], this.#offered, this.#targeted);
  }

  /**
   * Returns a build whose list can show collectors that the list of this view does not show. Returns undefined if there
   * is no such build.
   * @param counts number of known collectors by version
   * @param strict true to exclude builds that policies target
   */
  witness(counts: ReadonlyMap<string, number>, strict: boolean): string | undefined {
    const others = this.#offered.filter((build) => build !== this.builds[0]);
    const untargeted = others.filter((build) => !this.#targeted.has(build));
    if (strict) return leastUsed(untargeted, counts);
    return others.findLast((build) => this.#targeted.has(build)) ?? leastUsed(untargeted, counts);
  }

  /**
   * Returns a view with a second build, so that two lists are read. Returns undefined if this view already has two
   * builds, or if the service offers no other build.
   */
  widened(counts: ReadonlyMap<string, number>): View | undefined {
    const [first] = this.builds;
    const second = leastUsed(
      this.#offered.filter((build) => build !== first),
      counts,
    );
    if (this.builds.length > 1 || second === undefined) return undefined;
    return new View([first, second], this.#offered, this.#targeted);
  }
}

/**
 * Chooses the builds for which the collector list is requested next.
 * @param counts number of known collectors by version
 * @param present current view; its build is kept if no policy targets that build and no collector runs it
 */
export function chooseView(
  offered: readonly Build[],
  targeted: ReadonlySet<string>,
  counts: ReadonlyMap<string, number>,
  present: View | undefined,
): View {
  const versions = offered.map((build) => build.version).sort(oldestFirst);
  const free = versions.filter((version) => !targeted.has(version));
  const unused = free.filter((version) => !counts.get(version));
  const kept = present?.builds[0];
  const first = unused.includes(kept ?? '') ? kept : (unused[0] ?? leastUsed(free, counts));
  const view = new View([first ?? versions[0]], versions, targeted);
  // The list for a build does not show the collectors that run that build. If any collector runs it, a second list is
  // needed.
  const hidesSome = first === undefined || counts.get(first);
  return hidesSome ? (view.widened(counts) ?? view) : view;
}

function isAmong(version: string, builds: readonly Build[]): boolean {
  return builds.some((build) => build.version === version);
}

function leastUsed(versions: readonly string[], counts: ReadonlyMap<string, number>): string | undefined {
  let best: string | undefined;
  for (const version of versions) {
    if (best === undefined || (counts.get(version) ?? 0) < (counts.get(best) ?? 0)) best = version;
  }
  return best;
}

function oldestFirst(left: string, right: string): number {
  const leftVersion = parseBuildVersion(left);
  const rightVersion = parseBuildVersion(right);
  if (leftVersion && rightVersion) return compareBuildVersions(leftVersion, rightVersion);
  return compareText(left, right);
}
