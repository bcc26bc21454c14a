/**
 * Towards which build the list of collectors is asked for (U7). The list towards a build may leave out who runs it already, so
 * the best one is a build that no policy targets and no collector runs: it shows everybody, at every version.
 */
import { compareBuildVersions, parseBuildVersion } from '../base/build-version.ts';
import type { Build } from '../service/upgrade-service.ts';

export class View {
  /** The builds whose lists together show the fleet; places are counted in the first one's. Undefined stands for "the latest". */
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

  /** Whether a collector at this version shows in one of the lists. */
  observes(version: string): boolean {
    return this.builds.some((build) => build !== version);
  }

  /** Whether one of the builds whose lists it is made of is offered no longer. */
  isWithdrawn(offered: readonly Build[]): boolean {
    return this.builds.some((build) => build !== undefined && !isAmong(build, offered));
  }

  /** Whether any of the builds that it was chosen from is offered no longer. */
  isOutdated(offered: readonly Build[]): boolean {
    return this.#offered.some((build) => !isAmong(build, offered));
  }

  /** A view through another build that nobody seems to run, to check this one against; undefined where there is none. */
  alternative(counts: ReadonlyMap<string, number>): View | undefined {
    if (this.builds.length > 1) return undefined;
    const other = this.#offered.find(
      (build) => build !== this.builds[0] && !counts.get(build) && !this.#targeted.has(build),
    );
    return other === undefined ? undefined : new View([other], this.#offered, this.#targeted);
  }

  /**
   * A build whose list has a length that is known beforehand, so that a longer one shows that this view leaves somebody out;
   * undefined where there is none. Upgrades go on meanwhile: who leaves the build makes its list longer, who is brought to it
   * makes it shorter.
   * @param counts collectors by version, as far as they are known
   * @param strict whether nobody may be overlooked, at the price of false alarms: then one that nobody is brought to
   */
  witness(counts: ReadonlyMap<string, number>, strict: boolean): string | undefined {
    const others = this.#offered.filter((build) => build !== this.builds[0]);
    const untargeted = others.filter((build) => !this.#targeted.has(build));
    if (strict) return leastUsed(untargeted, counts);
    return others.findLast((build) => this.#targeted.has(build)) ?? leastUsed(untargeted, counts);
  }

  /** This view and the list towards another build, the one that hides the fewest; undefined where there is no other. */
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
 * Chooses the view of the next sweep.
 * @param offered builds of the service (4.7)
 * @param targeted versions that policies target
 * @param counts collectors by version, as far as they are known
 * @param present the view so far: kept while it serves, so that places stay comparable
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
  // Who runs it, or is brought to it, shows in another build's list only.
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
  return left < right ? -1 : 1;
}
