/** Kills the process before and after each request of a message analysis. The next process must finish the analysis. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, expect, test } from 'vitest';
import type { BoundaryMessage } from '../../src/base/boundary.ts';
import { hourMs } from '../../src/base/time-units.ts';
import { analyzed } from '../integration/policy/analyzed-world.ts';

const channel = 'logfleet:boundary';
const rollback = { failurePolicy: { action: 'Rollback' }, allowDowngrade: true };

type Analyzed = ReturnType<typeof analyzed>;

let listener: ((message: unknown) => void) | undefined;
afterEach(() => listener && unsubscribe(channel, listener));

/**
 * Calls `onCrossing` before and after each request and write of the process. The argument is a string such as `before
 * ledger.write`.
 */
function listen(onCrossing: (text: string) => void): void {
  if (listener) unsubscribe(channel, listener);
  listener = (message) => {
    const { name, phase } = message as BoundaryMessage;
    onCrossing(`${phase} ${name}`);
  };
  subscribe(channel, listener);
}

/** Test case: the period of the rollout in which the test kills the process, and the check of the result. */
interface KillPeriod {
  readonly spec?: object;
  readonly begins: (world: Analyzed) => boolean;
  readonly ends: (world: Analyzed) => boolean;
  readonly check: (world: Analyzed) => void;
}

const parts: Readonly<Record<string, KillPeriod>> = {
  judgement: {
    begins: ({ searches }) => searches().length > 0,
    ends: ({ world }) => world.ready('production')?.reason === 'RolloutStopped',
    check: ({ stage, analysisNow }) => {
      const { judged, unjudged, state, quiet } = analysisNow() ?? {};
      expect({ judged, unjudged, state }).toEqual({ judged: 20, unjudged: 0, state: 'Failed' });
      expect(stage('canary')?.failedAttempts).toBe(quiet);
    },
  },
  'check after a rollback': {
    spec: rollback,
    begins: ({ analysisNow }) => analysisNow()?.recovery?.state === 'Running',
    ends: ({ analysisNow }) => analysisNow()?.recovery?.recovered !== undefined,
    check: ({ analysisNow }) =>
      expect(analysisNow()?.recovery).toMatchObject({ state: 'Recovered', recovered: analysisNow()?.quiet }),
  },
};

test.each(Object.entries(parts))('a process that is killed at each boundary of the %s', async (_, part) => {
  const begin = async () => {
    const world = analyzed({ build: { stopsShipping: 0.3 }, ...(part.spec && { spec: part.spec }) });
    const replica = world.world.start();
    expect(await world.world.until(() => part.begins(world), 5 * hourMs)).toBe(true);
    return { world, replica };
  };
  const end = async (world: Analyzed, reported: string) => {
    expect(await world.world.until(() => part.ends(world), 5 * hourMs), reported).toBe(true);
    part.check(world);
  };

  const crossings: string[] = [];
  const { world } = await begin();
  listen((text) => crossings.push(text));
  await end(world, 'without a kill');
  // Waits until the API server has responded to the last status write.
  await world.world.clock.advance(1_000);
  listen(() => {});
  const kinds = new Set(crossings);
  for (const name of ['service.getJob', 'aggregation.readRecords', 'service.deleteJob', 'ledger.write', 'status.write'])
    for (const phase of ['before', 'after']) expect(kinds).toContain(`${phase} ${name}`);

  for (const [at, text] of crossings.entries()) {
    const { world, replica } = await begin();
    let crossed = 0;
    listen(() => {
      if (crossed++ === at) replica.kill();
    });
    await world.world.until(() => crossed > at, 5 * hourMs);
    expect(crossed, `${text} was crossed`).toBeGreaterThan(at);
    listen(() => {});
    world.world.start();
    await end(world, `killed ${text}, crossing ${at}`);
  }
});
