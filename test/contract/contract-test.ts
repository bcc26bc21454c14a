/**
 * Helpers for the tests of the contract. A test that only the simulator can run gives a reason. On a deployment the test is
 * skipped with that reason, and `make contract` lists all skipped tests. On the simulator no test is skipped.
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
  /** Reason why the test cannot run on a real deployment. The text completes the sentence `not tried, since it …`. */
  readonly why: string;
  /** Scenario of the simulator for this test, which replaces the usual one (see `openSimulator`). */
  readonly scenario?: Scenario;
  readonly logData?: LogData;
}

/** Defines a test with its own simulator. */
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
 * Skips the rest of a test if the deployment lacks something that the test needs. `what` completes the sentence `not tried, since
 * it needs …`. The simulator lacks nothing.
 */
export function expectThere(skip: (condition: boolean, note: string) => void, isThere: boolean, what: string): void {
  skip(!onSimulator && !isThere, `needs ${what}`);
  expect(isThere).toBe(true);
}

/** Expects the answer for a page of an unknown job: 404, or 400 with `jobid.invalid`. Deployments differ (section 10.5). */
export function expectNoPage(received: Received, status: 400 | 404): void {
  if (!onSimulator && received.status === 404) return;
  expectError(received, onSimulator ? status : 400, 'jobid.invalid');
}

/**
 * Expects an error code. The specification does not define its place in the body, so all forms in section 10.1 are accepted. Only
 * the last parts of the code must match.
 */
export function expectError({ status, json }: Received, expectedStatus: number, code: string): void {
  const codes = [json?.code, ...(json?.errors ?? []).map((error: { code: string }) => error.code)];
  const ending = expect.stringMatching(new RegExp(`(?:^|\\.)${code.replaceAll('.', '\\.')}$`));
  expect({ status, codes }).toEqual({ status: expectedStatus, codes: expect.arrayContaining([ending]) });
}
