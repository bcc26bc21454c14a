/** Tests the health checks for Argo CD and Flux in manifests/gitops. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Environment } from '@marcbachmann/cel-js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Condition, type ConditionType, reasons, setCondition } from '../../../src/api/conditions.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { World } from '../../support/world.ts';
import { runLua } from './lua-program.ts';

const folder = join(import.meta.dirname, '../../../manifests/gitops');
const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'));
const checks: Readonly<Record<string, string>> = read('argo-cd-health.yaml').data;
const expressions: readonly Record<'apiVersion' | 'kind' | 'inProgress' | 'failed' | 'current', string>[] =
  read('flux-kustomization.yaml').spec.healthCheckExprs;

interface Looked {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec: object;
  readonly status?: object | undefined;
}

function argo(obj: Looked) {
  const lua = checks[`resource.customizations.health.logfleet.dev_${obj.kind}`];
  if (lua === undefined) throw new Error(`Argo CD has no check of a ${obj.kind}`);
  return runLua(lua, { obj }, ['status', 'message']);
}

/**
 * Returns the state that Flux computes from the health expressions. Returns `error` if an expression uses a missing
 * field, in which case Flux keeps waiting.
 */
function fluxVerdict(looked: Looked): 'inProgress' | 'failed' | 'current' | 'nothing' | 'error' {
  const flux = expressions.find(({ apiVersion, kind }) => apiVersion === looked.apiVersion && kind === looked.kind);
  if (!flux) throw new Error(`Flux has no check of a ${looked.kind}`);
  const environment = new Environment();
  for (const name of Object.keys(looked)) environment.registerVariable(name, 'dyn');
  try {
    for (const verdict of ['inProgress', 'failed', 'current'] as const) {
      if (environment.evaluate(flux[verdict], { ...looked }) === true) return verdict;
    }
    return 'nothing';
  } catch {
    return 'error';
  }
}

function policy(conditions: readonly Condition[] | undefined, observedGeneration = 3): Looked {
  return resource('CollectorVersionPolicy', conditions, observedGeneration);
}

function exportWith(conditions: readonly Condition[] | undefined, observedGeneration = 3): Looked {
  return resource('SearchExport', conditions, observedGeneration);
}

function resource(kind: KindName, conditions: readonly Condition[] | undefined, observedGeneration: number): Looked {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind,
    metadata: { name: 'production', generation: 3 },
    spec: {},
    status: { observedGeneration, ...(conditions && { conditions }) },
  };
}

function conditionsOf(ready: Condition['status'], reason: string, ...others: readonly ConditionType[]) {
  const verdicts = [['Ready', ready] as const, ...others.map((type) => [type, 'True'] as const)];
  return verdicts.reduce<readonly Condition[]>(
    (list, [type, status]) =>
      setCondition(
        list,
        { type, status, reason, message: `${reason} says why`, observedGeneration: 3 },
        '2026-11-21T09:00:00Z',
      ),
    [],
  );
}

const waitForPeople: readonly string[] = [reasons.paused, reasons.awaitingApproval, reasons.observing];

describe('the table of health states', () => {
  test.each([
    ['everything is at the target', 'True', [], reasons.allUpdated, 'Healthy', 'current'],
    ['overlapping does not affect health', 'True', ['Overlapping'], reasons.allUpdated, 'Healthy', 'current'],
    ['rolling', 'False', ['Reconciling'], reasons.rollingOut, 'Progressing', 'inProgress'],
    ['a window', 'False', ['Reconciling'], reasons.waitingForWindow, 'Progressing', 'inProgress'],
    ['a soak', 'False', ['Reconciling'], reasons.soaking, 'Progressing', 'inProgress'],
    ['the age of a build', 'False', ['Reconciling'], reasons.waitingForBuildAge, 'Progressing', 'inProgress'],
    ['rolling back', 'False', ['Reconciling'], reasons.rollingBack, 'Progressing', 'inProgress'],
    ['an approval', 'False', ['Reconciling'], reasons.awaitingApproval, 'Suspended', 'inProgress'],
    ['paused', 'Unknown', [], reasons.paused, 'Suspended', 'inProgress'],
    ['observing', 'False', [], reasons.observing, 'Suspended', 'inProgress'],
    ['stopped', 'False', ['Stalled'], reasons.rolloutStopped, 'Degraded', 'failed'],
    ['aborted', 'False', ['Stalled'], reasons.aborted, 'Degraded', 'failed'],
    ['rolled back', 'False', ['Stalled'], reasons.rolledBack, 'Degraded', 'failed'],
  ] as const)('%s', (_, ready, others, reason, status, verdict) => {
    const looked = policy(conditionsOf(ready, reason, ...others));
    expect(argo(looked)).toEqual({ status, message: `${reason} says why` });
    expect(fluxVerdict(looked)).toBe(verdict);
  });

  test.each(Object.values(reasons))('%s: the conditions decide, whatever the reason', (reason) => {
    const [atWork, stalled, done] = [
      policy(conditionsOf('False', reason, 'Reconciling')),
      policy(conditionsOf('False', reason, 'Stalled')),
      policy(conditionsOf('True', reason)),
    ];
    expect([atWork, stalled, done].map(fluxVerdict)).toEqual(['inProgress', 'failed', 'current']);
    const waiting = waitForPeople.includes(reason) ? 'Suspended' : 'Progressing';
    expect([atWork, stalled, done].map((one) => argo(one).status)).toEqual([waiting, 'Degraded', 'Healthy']);
  });

  test.each([
    ['an older generation', policy(conditionsOf('True', reasons.allUpdated), 2)],
    ['an older generation that was stalled', policy(conditionsOf('False', reasons.aborted, 'Stalled'), 2)],
    ['no conditions', policy(undefined)],
    ['no condition Ready', policy([])],
  ])('%s: without a status', (_, looked) => {
    expect(argo(looked).status).toBe('Progressing');
    expect(argo(looked).message).toMatch(/^Waiting until logfleet has processed /);
    expect(fluxVerdict(looked)).toBe('inProgress');
  });

  test('a policy without any status: Argo CD shows it as progressing, and Flux waits', () => {
    const { status: _, ...looked } = policy([]);
    expect(argo(looked).status).toBe('Progressing');
    expect(fluxVerdict(looked)).toBe('error');
  });
});

describe('the table of health states of exports', () => {
  test.each([
    ['complete', 'True', ['Complete'], reasons.exported, 'Healthy', 'current'],
    ['complete, except flagged intervals', 'True', ['Complete'], reasons.exportedIncomplete, 'Healthy', 'current'],
    ['exporting', 'False', ['Reconciling'], reasons.exporting, 'Progressing', 'inProgress'],
    ['waiting for rows to arrive', 'False', ['Reconciling'], reasons.waitingToSettle, 'Progressing', 'inProgress'],
    ['a full disk', 'False', ['Reconciling'], reasons.destinationFull, 'Progressing', 'inProgress'],
    [
      'a store that cannot be reached',
      'False',
      ['Reconciling'],
      reasons.destinationUnavailable,
      'Progressing',
      'inProgress',
    ],
    ['paused', 'Unknown', [], reasons.paused, 'Suspended', 'inProgress'],
    ['an interval that cannot be proven', 'False', ['Stalled'], reasons.intervalIncomplete, 'Degraded', 'failed'],
    ['a limit', 'False', ['Stalled'], reasons.maxMessagesReached, 'Degraded', 'failed'],
    ['failed', 'False', ['Failed'], reasons.deadlineExceeded, 'Degraded', 'failed'],
    ['failed, and stalled', 'False', ['Stalled', 'Failed'], reasons.deadlineExceeded, 'Degraded', 'failed'],
  ] as const)('%s', (_, ready, others, reason, status, verdict) => {
    const looked = exportWith(conditionsOf(ready, reason, ...others));
    expect(argo(looked)).toEqual({ status, message: `${reason} says why` });
    expect(fluxVerdict(looked)).toBe(verdict);
  });

  test.each(Object.values(reasons))('%s: the conditions decide, whatever the reason', (reason) => {
    const [atWork, stalled, failed, done] = [
      exportWith(conditionsOf('False', reason, 'Reconciling')),
      exportWith(conditionsOf('False', reason, 'Stalled')),
      exportWith(conditionsOf('False', reason, 'Failed')),
      exportWith(conditionsOf('True', reason, 'Complete')),
    ];
    expect([atWork, stalled, failed, done].map(fluxVerdict)).toEqual(['inProgress', 'failed', 'failed', 'current']);
    const waiting = reason === reasons.paused ? 'Suspended' : 'Progressing';
    const verdicts = [waiting, 'Degraded', 'Degraded', 'Healthy'];
    expect([atWork, stalled, failed, done].map((one) => argo(one).status)).toEqual(verdicts);
  });

  test.each([
    ['an older generation', exportWith(conditionsOf('True', reasons.exported, 'Complete'), 2)],
    ['an older generation that had failed', exportWith(conditionsOf('False', reasons.deadlineExceeded, 'Failed'), 2)],
    ['no conditions', exportWith(undefined)],
    ['no condition Ready', exportWith([])],
  ])('%s: without a status', (_, looked) => {
    expect(argo(looked).status).toBe('Progressing');
    expect(argo(looked).message).toMatch(/^Waiting until logfleet has processed /);
    expect(fluxVerdict(looked)).toBe('inProgress');
  });
});

describe('statuses that an operator wrote', () => {
  async function lookedAfter(spec: object, waitMs: number) {
    const world = new World({
      scenario: {
        builds: ['19.100-1', '19.150-1', '19.200-1'],
        groups: { web: { count: 4, version: '19.100-1' } },
        upgrade: { duration: '2m' },
      },
      settings: { statusIntervalMs: 1_000 },
    });
    world.addSecret();
    world.addPolicy('production', { target: { version: '19.200-1' }, ...spec });
    world.start();
    await world.clock.advance(waitMs);
    const looked = world.policy('production') as unknown as Looked;
    return [argo(looked).status, fluxVerdict(looked)];
  }

  test.each<[string, object, number, string, string]>([
    ['in progress', {}, minuteMs, 'Progressing', 'inProgress'],
    ['at the end', {}, 30 * minuteMs, 'Healthy', 'current'],
    ['paused', { paused: true }, minuteMs, 'Suspended', 'inProgress'],
    ['observing', { mode: 'Observe' }, minuteMs, 'Suspended', 'inProgress'],
    ['a build that is not offered', { target: { version: '18.1-1' } }, minuteMs, 'Degraded', 'failed'],
    ['no collector selected', { selector: { matchNames: ['db-*'] } }, minuteMs, 'Degraded', 'failed'],
  ])('%s', async (_, spec, waitMs, status, verdict) => {
    expect(await lookedAfter(spec, waitMs)).toEqual([status, verdict]);
  });
});
