/** The operator's client, connected to a simulator in a separate process. */
import { readFileSync } from 'node:fs';
import type { SimulatorAddress } from '../../simulator/simulate.ts';
import { systemClock } from '../../src/base/clock.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { SecretText } from '../../src/base/secret-text.ts';
import { RequestBudget } from '../../src/service/budget/request-budget.ts';
import { connectOverTls } from '../../src/service/connect.ts';
import type { SearchJobs } from '../../src/service/jobs/search-jobs.ts';
import { everlastingRight } from '../../test/support/send-rights.ts';

export interface ConnectedClient {
  readonly jobs: SearchJobs;
  close(): Promise<void>;
}

/**
 * Creates a client for a simulator. Without `requestsPerSecond`, the client sends at most as many requests as the
 * service allows.
 */
export function connectTo(simulator: SimulatorAddress, requestsPerSecond?: number): ConnectedClient {
  const { origin, pathname } = new URL(simulator.baseURL);
  const budget = new RequestBudget({ right: everlastingRight, clock: systemClock });
  if (requestsPerSecond !== undefined) budget.setRequestsPerSecond(requestsPerSecond);
  const connect = connectOverTls({
    clock: systemClock,
    metrics: noMetrics,
    userAgent: 'logfleet/bench',
    environment: {},
  });
  const { searches, close } = connect({
    address: { origin, basePath: pathname },
    accessId: simulator.accessId,
    accessKey: new SecretText(simulator.accessKey),
    caCertificates: readFileSync(simulator.caFile, 'utf8'),
    allowedHosts: [],
    budget: budget.key(simulator.accessId),
  });
  return { jobs: searches, close };
}
