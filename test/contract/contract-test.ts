/** Helpers for tests that run on the simulator or on a real deployment. */
import { expect, test } from 'vitest';
import type { LogData } from '../../simulator/log-data/log-data.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { type Deployment, onSimulator, openRealDeployment } from './deployment.ts';
import type { Received } from './https-client.ts';
import { openSimulator, type SimulatedDeployment } from './simulated-deployment.ts';

/**
 * Connects to the real deployment specified in environment variables. If the variables are not set, starts a simulator.
 */
export function openDeployment(): Promise<Deployment> {
  return onSimulator ? openSimulator() : openRealDeployment();
}

export interface SimulatedCase {
  /** Reason why the test cannot run on a real deployment, such as `would upgrade something`. */
  readonly why: string;
  /** Simulator scenario for this test, which replaces the suite's default scenario. */
  readonly scenario?: Scenario;
  readonly logData?: LogData;
}

/** Defines a test with its own simulator. */
export function testSimulated(
  name: string,
  { why, scenario, logData }: SimulatedCase,
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
 * Skips the test on a real deployment that lacks `what`, such as `messages`. On the simulator, the test fails instead.
 */
export function expectThere(skip: (condition: boolean, note: string) => void, isThere: boolean, what: string): void {
  skip(!onSimulator && !isThere, `needs ${what}`);
  expect(isThere).toBe(true);
}

/** Expects the response to a page request for an unknown search job: 404, or 400 with `jobid.invalid`. */
export function expectNoPage(received: Received, status: 400 | 404): void {
  if (!onSimulator && received.status === 404) return;
  expectError(received, onSimulator ? status : 400, 'jobid.invalid');
}

/**
 * Expects an error with this code. Some deployments put the code directly into the body, and others into the body's
 * `errors` list.
 */
export function expectError({ status, json }: Received, expectedStatus: number, code: string): void {
  const codes = [json?.code, ...(json?.errors ?? []).map((error: { code: string }) => error.code)];
  const ending = expect.stringMatching(new RegExp(`(?:^|\\.)${code.replaceAll('.', '\\.')}$`));
  expect({ status, codes }).toEqual({ status: expectedStatus, codes: expect.arrayContaining([ending]) });
}
