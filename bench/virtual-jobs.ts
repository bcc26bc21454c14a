/** The operator's client for search jobs, connected to a simulated service in virtual time. */

import type { InProcessService } from '../simulator/in-process.ts';
import { noMetrics } from '../src/base/metrics.ts';
import { SecretText } from '../src/base/secret-text.ts';
import { RequestBudget } from '../src/service/budget/request-budget.ts';
import { ServiceClient } from '../src/service/client.ts';
import { SearchJobs } from '../src/service/jobs/search-jobs.ts';
import { InProcessTransport } from '../test/support/in-process-transport.ts';
import { everlastingRight } from '../test/support/send-rights.ts';
import type { VirtualClock } from '../test/support/virtual-clock.ts';

/** Returns a client for search jobs that keeps the request limits of the real service. */
export function jobsOn(service: InProcessService, clock: VirtualClock): SearchJobs {
  const budget = new RequestBudget({ right: everlastingRight, clock });
  const client = new ServiceClient({
    transport: new InProcessTransport(() => service, clock),
    budget: budget.key('id'),
    clock,
    metrics: noMetrics,
    address: { origin: 'https://service.test', basePath: '/api' },
    accessId: 'id',
    accessKey: new SecretText('key'),
    allowedHosts: [],
    userAgent: 'logfleet/bench',
  });
  return new SearchJobs({ service: client, permits: budget.jobs, clock });
}
