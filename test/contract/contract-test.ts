/**
 * How lines of the contract are tried. A test that only the simulator can be put to says why; on a deployment it is skipped with
 * that as its note, and `make contract` ends with the list of them. On the simulator nothing is skipped.
 */
import { expect, test } from 'vitest';
import type { LogData } from '../../simulator/log-data/log-data.ts';
import type { Scenario } from '../../simulator/scenario.ts';
import { type Deployment, onSimulator, openRealDeployment } from './deployment.ts';
import type { Received } from './https-client.ts';
import { openSimulator, type SimulatedDeployment } from './simulated-deployment.ts';

/** Opens the deployment that the environment names, or else a simulator. */
export function openDeployment(): Promise<Deployment> {
  return onSimulator ? openSimulator() : openRealDeployment();
}

export interface Simulation {
  /** Why it cannot be tried on a deployment, as the end of `not tried, since it …`. */
  readonly why: string;
  /** In place of what is usual (`openSimulator`). */
  readonly scenario?: Scenario;
  readonly logData?: LogData;
}

/** A test with a simulator of its own. */
export function testSimulated(
  name: string,
  { why, scenario, logData }: Simulation,
  run: (service: SimulatedDeployment) => Promise<void>,
): void {
  test(name, async ({ skip }) => {
    skip(!onSimulator, why);
    const service = await openSimulator(scenario, logData);
    try {
      await run(service);
    } finally {
      await service.close();
    }
  });
}

/**
 * Ends a test on a deployment where what it looks at is not there, so that nothing counts as tried that was not; `what` is the end of
 * `not tried, since it needs …`. The simulator has everything.
 */
export function expectThere(skip: (condition: boolean, note: string) => void, isThere: boolean, what: string): void {
  skip(!onSimulator && !isThere, `needs ${what}`);
  expect(isThere).toBe(true);
}

/** A page of a job that is not there: which of 404 and 400 `jobid.invalid` it is, deployments see in two ways (10.5). */
export function expectNoPage(received: Received, status: 400 | 404): void {
  if (!onSimulator && received.status === 404) return;
  expectError(received, onSimulator ? status : 400, 'jobid.invalid');
}

/** Where the identifier of an error stands is not specified: matched by its last parts, in each shape of 10.1 that has one. */
export function expectError({ status, json }: Received, expectedStatus: number, code: string): void {
  const codes = [json?.code, ...(json?.errors ?? []).map((error: { code: string }) => error.code)];
  const ending = expect.stringMatching(new RegExp(`(?:^|\\.)${code.replaceAll('.', '\\.')}$`));
  expect({ status, codes }).toEqual({ status: expectedStatus, codes: expect.arrayContaining([ending]) });
}
