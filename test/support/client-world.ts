/** Connects the service client to the simulated service. Requests go through a real request budget. */
import type { LogData } from '../../simulator/log-data/log-data.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { RowData } from '../../simulator/test/row-data.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { SecretText } from '../../src/base/secret-text.ts';
import { RequestBudget } from '../../src/service/budget/request-budget.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { SearchJobs } from '../../src/service/jobs/search-jobs.ts';
import type { JobOrder } from '../../src/service/jobs/search-service.ts';
import { everlastingRight } from './send-rights.ts';
import { ServiceWorld, type ServiceWorldOptions, secondOrigin, serviceOrigin } from './service-world.ts';

/** Scenario with 30 collectors, whose ids are above 2^53, and one API key. */
export const thirtyCollectors: Scenario = {
  users: { ops: { keys: { id: 'key' } } },
  builds: ['19.500-1', '19.253-26'],
  ids: { firstCollector: '9007199254740993', firstTask: '9223372036854770000' },
  groups: { web: { count: 30, version: '19.253-26', osName: 'Linux' } },
};

export const firstCollector = '9007199254740993';

/** Number of log messages: ten per minute in the hour before the start of the test. */
export const messageCount = 600;

function tenAMinute(startMs: number): LogData {
  return new RowData(
    Array.from({ length: messageCount }, (_, index) => ({
      at: startMs - (index + 1) * 6_000,
      raw: `message ${index}`,
    })),
  );
}

export class ClientWorld extends ServiceWorld {
  readonly budget: RequestBudget;
  readonly client: ServiceClient;
  readonly jobs: SearchJobs;

  /**
   * Members of `scenario` replace members of `thirtyCollectors`. If `scenario.logs` is not set, the service has
   * `messageCount` messages.
   */
  constructor(scenario: Scenario = {}, options: Omit<ServiceWorldOptions, 'scenario'> = {}) {
    const data = scenario.logs ? {} : { logData: tenAMinute };
    super({ latencyMs: 20, ...data, ...options, scenario: { ...thirtyCollectors, ...scenario } });
    const { clock } = this;
    this.budget = new RequestBudget({ right: everlastingRight, clock });
    const budget = this.budget.key('id');
    this.client = new ServiceClient({
      transport: this.transport(),
      budget,
      clock,
      metrics: noMetrics,
      address: { origin: serviceOrigin, basePath: '/api' },
      accessId: 'id',
      accessKey: new SecretText('key'),
      allowedHosts: [new URL(secondOrigin).host],
      userAgent: 'logfleet/test',
    });
    this.jobs = new SearchJobs({ service: this.client, permits: budget.jobs, clock });
  }

  /** Search for all messages in the hour before the start of the test. */
  get order(): JobOrder {
    return { query: '*', fromMs: this.model.startMs - 3_600_000, toMs: this.model.startMs, requiresRawMessages: true };
  }
}
