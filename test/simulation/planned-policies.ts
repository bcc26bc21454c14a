/** Plans the policies in a simulated run, and the changes that users make to them. */
import type { Chance } from './chance.ts';
import { type FleetPlan, newestVersion } from './planned-fleet.ts';

export interface SelectorSpec {
  readonly matchNames?: readonly string[];
  readonly matchFields?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/** Name and spec of a policy, without the defaults that the API server fills in. */
export interface PolicySpec {
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly target: { readonly version?: string; readonly channel?: 'Latest' };
    readonly selector: SelectorSpec;
    readonly retryPolicy: { readonly limit: number; readonly backoff: object };
  };
}

export type PolicyAction =
  | { readonly kind: 'patchPolicy'; readonly atMs: number; readonly name: string; readonly patch: object }
  | { readonly kind: 'deletePolicy'; readonly atMs: number; readonly name: string }
  | { readonly kind: 'createPolicy'; readonly atMs: number; readonly policy: PolicySpec };

export function planPolicies(chance: Chance, fleet: FleetPlan): PolicySpec[] {
  const count = chance.one([1, 1, 1, 2, 3]);
  return Array.from({ length: count }, (_, index) => planPolicy(chance, fleet, `policy-${index}`));
}

function planPolicy(chance: Chance, fleet: FleetPlan, name: string): PolicySpec {
  return {
    name,
    spec: {
      target: chance.happens(0.15)
        ? { channel: 'Latest' }
        : { version: chance.happens(0.8) ? newestVersion : chance.one(fleet.builds) },
      allowDowngrade: chance.happens(0.3),
      selector: planSelector(chance, fleet),
      ...(chance.happens(0.2) ? { exclude: [{ matchNames: ['*-02'] }] } : {}),
      priority: chance.whole(0, 2),
      mode: chance.happens(0.08) ? 'Observe' : 'Enforce',
      paused: chance.happens(0.05),
      resyncInterval: chance.one(['20s', '60s']),
      strategy: {
        // `maxInProgress` is higher if upgrades might never end. With a low limit, endless upgrades would block all
        // others, and the simulation would take too long.
        maxInProgress: chance.one(fleet.cannotFail ? [1, 3, 10, '10%'] : [5, 10, 1_000, '50%']),
        order: chance.one(['OldestVersionFirst', 'NewestVersionFirst', 'Name']),
      },
      retryPolicy: {
        limit: chance.whole(0, 2),
        backoff: { duration: chance.one(['1s', '10s']), factor: 2, cap: '30s' },
      },
    },
  };
}

function planSelector(chance: Chance, fleet: FleetPlan): SelectorSpec {
  switch (chance.one(['all', 'all', 'names', 'os', 'version'] as const)) {
    case 'all':
      return {};
    case 'names':
      return { matchNames: [`${chance.one(fleet.groups).name}-*`] };
    case 'os':
      return { matchFields: { osName: 'Linux' } };
    case 'version':
      return {
        matchExpressions: [
          { key: 'collectorVersion', operator: 'Lt', values: [chance.one(['19.404-12', newestVersion])] },
        ],
      };
  }
}

export function planPolicyActions(
  chance: Chance,
  fleet: FleetPlan,
  policies: readonly PolicySpec[],
  calmAtMs: number,
): PolicyAction[] {
  const actions: PolicyAction[] = [];
  for (let action = 0; action < chance.whole(1, 3); action++) {
    const policy = chance.one(policies);
    const { name } = policy;
    const atMs = chance.whole(500, calmAtMs - 1);
    const laterMs = chance.whole(atMs, calmAtMs);
    const patch = (change: object, when = atMs): PolicyAction => ({
      kind: 'patchPolicy',
      atMs: when,
      name,
      patch: change,
    });
    switch (
      chance.one(['pause', 'annotation', 'retarget', 'select', 'remake', 'remade', 'width', 'refresh'] as const)
    ) {
      case 'pause':
        actions.push(patch({ spec: { paused: true } }));
        if (chance.happens(0.8)) actions.push(patch({ spec: { paused: false } }, laterMs));
        break;
      case 'annotation':
        actions.push(patch({ metadata: { annotations: { 'logfleet.dev/paused': 'true' } } }));
        if (chance.happens(0.8))
          actions.push(patch({ metadata: { annotations: { 'logfleet.dev/paused': null } } }, laterMs));
        break;
      case 'retarget':
        actions.push(
          patch({ spec: { target: { version: chance.one([...fleet.builds, '19.999-9']), channel: null } } }),
        );
        break;
      case 'select':
        actions.push(
          patch({
            spec: {
              selector: { matchNames: null, matchFields: null, matchExpressions: null, ...planSelector(chance, fleet) },
            },
          }),
        );
        break;
      case 'remake':
      case 'remade':
        actions.push(
          { kind: 'deletePolicy', atMs, name },
          { kind: 'createPolicy', atMs: atMs + chance.one([1, 200, 3_000]), policy },
        );
        break;
      case 'width':
        actions.push(
          patch({
            spec: {
              strategy: { maxInProgress: chance.one([fleet.cannotFail ? 1 : 4, 5, 1_000]) },
              priority: chance.whole(0, 3),
            },
          }),
        );
        break;
      case 'refresh':
        actions.push(patch({ metadata: { annotations: { 'logfleet.dev/requestedAt': `request-${action}` } } }));
        break;
    }
  }
  return actions;
}
