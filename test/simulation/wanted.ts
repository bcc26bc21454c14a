/** Computes which collectors each policy selects, owns and upgrades, without using the operator's code. */
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { HistoryPlan } from './plan.ts';
import type { SelectorSpec } from './planned-policies.ts';

export interface NamedCollector {
  readonly name: string;
  readonly version: string;
}

/** Returns a collector's group. The collector's name consists of the group's name and a number. */
export function groupOf(plan: HistoryPlan, { name }: NamedCollector) {
  return plan.fleet.groups.find((group) => name.startsWith(`${group.name}-`));
}

export function isHosted(subject: NamedCollector): boolean {
  return subject.name.startsWith('cloud-');
}

/**
 * Reports whether the policy selects the collector. Returns undefined if this depends on the collector's version, which
 * is unknown.
 */
export function isSelected(
  plan: HistoryPlan,
  policy: CollectorVersionPolicy,
  subject: NamedCollector,
): boolean | undefined {
  const { selector, exclude = [] } = policy.spec;
  const excluded = (exclude as readonly SelectorSpec[]).some(({ matchNames = [] }) =>
    matchNames.some((glob) => subject.name.endsWith(glob.slice(1))),
  );
  if (excluded) return false;
  const { matchNames, matchFields, matchExpressions } = selector as SelectorSpec;
  if (matchNames && !matchNames.some((glob) => subject.name.startsWith(glob.slice(0, -1)))) return false;
  if (matchFields && groupOf(plan, subject)?.osName !== matchFields['osName']) return false;
  return matchExpressions === undefined ? true : undefined;
}

/** Compares two versions by the numbers that they contain: `19.404-12` is read as [19, 404, 12]. */
export function compareVersions(left: string, right: string): number {
  const [leftParts, rightParts] = [left, right].map((version) => version.split(/[.-]/).map(Number)) as [
    number[],
    number[],
  ];
  for (let part = 0; part < 3; part++) {
    const difference = (leftParts[part] ?? 0) - (rightParts[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function matchesVersion(policy: CollectorVersionPolicy, version: string): boolean {
  const expressions = (policy.spec.selector as SelectorSpec).matchExpressions ?? [];
  return expressions.every(({ values }) => version !== '' && compareVersions(version, values[0] as string) < 0);
}

/** Returns the policy's target, or undefined if the service does not offer it. */
export function targetOf(plan: HistoryPlan, policy: CollectorVersionPolicy): string | undefined {
  const { target } = policy.spec;
  if (target.version === undefined) return plan.fleet.builds.at(-1);
  return plan.fleet.builds.includes(target.version) ? target.version : undefined;
}

export function isPaused(policy: CollectorVersionPolicy): boolean {
  return policy.spec.paused || policy.metadata.annotations?.['logfleet.dev/paused'] === 'true';
}

export function tolerates({ spec }: CollectorVersionPolicy): boolean {
  const stages = spec.strategy.stages ?? [];
  return spec.failurePolicy?.maxFailures !== undefined || stages.some(({ maxFailures }) => maxFailures !== undefined);
}

/** Converts a percentage of the collectors to a number of collectors, rounded up and at least 1. */
export function shareOf(share: number | string, of: number): number {
  return typeof share === 'number' ? share : Math.max(1, Math.ceil((Number(share.slice(0, -1)) * of) / 100));
}

export function isInSelector(plan: HistoryPlan, selector: SelectorSpec | undefined, subject: NamedCollector): boolean {
  if (!selector) return false;
  const { matchNames, matchFields } = selector;
  if (matchNames && !matchNames.some((glob) => subject.name.startsWith(glob.slice(0, -1)))) return false;
  return !matchFields || groupOf(plan, subject)?.osName === matchFields['osName'];
}

export function acts(policy: CollectorVersionPolicy): boolean {
  return policy.spec.mode === 'Enforce' && !isPaused(policy) && policy.metadata.deletionTimestamp === undefined;
}

/** Compares two policies by rank (U13). The result is negative if `left` takes precedence. */
export function compareRank(left: CollectorVersionPolicy, right: CollectorVersionPolicy): number {
  if (left.spec.mode !== right.spec.mode) return left.spec.mode === 'Enforce' ? -1 : 1;
  if (left.spec.priority !== right.spec.priority) return right.spec.priority - left.spec.priority;
  const [leftCreated, rightCreated] = [left.metadata.creationTimestamp, right.metadata.creationTimestamp];
  if (leftCreated !== rightCreated) return leftCreated < rightCreated ? -1 : 1;
  return left.metadata.name < right.metadata.name ? -1 : 1;
}
