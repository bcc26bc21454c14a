/** Connects the client to a simulated service in the same process. Requests pass a real request budget. */

import { InProcessService } from '../../../simulator/in-process.ts';
import type { LogData } from '../../../simulator/log-data/log-data.ts';
import { ServiceModel } from '../../../simulator/model.ts';
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { RowData } from '../../../simulator/test/row-data.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import { ServiceClient } from '../../../src/service/client.ts';
import { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import type { JobOrder } from '../../../src/service/jobs/search-service.ts';
import { InProcessTransport } from '../../support/in-process-transport.ts';
import { everlastingRight } from '../../support/send-rights.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

export const usual: Scenario = {
  users: { ops: { keys: { id: 'key' } } },
  builds: ['19.500-1', '19.253-26'],
  ids: { firstCollector: '9007199254740993', firstTask: '9223372036854770000' },
  groups: { web: { count: 30, version: '19.253-26', osName: 'Linux' } },
};

/** Ten messages per minute in the hour before the start. */
export const messageCount = 600;

function tenAMinute(startMs: number): LogData {
  return new RowData(
    Array.from({ length: messageCount }, (_, index) => ({
      at: startMs - (index + 1) * 6_000,
      raw: `message ${index}`,
    })),
  );
}

export const firstCollector = '9007199254740993';

const hosts: ReadonlySet<string> = new Set(['https://service.test', 'https://eu.service.test']);

export class SimulatedWorld {
  readonly clock = new VirtualClock();
  readonly journal: JournalEntry[] = [];
  readonly model: ServiceModel;
  readonly service: InProcessService;
  readonly budget: RequestBudget;
  readonly client: ServiceClient;
  readonly jobs: SearchJobs;

  constructor(scenario: Scenario = {}, latencyMs = 20, logDataAt: (startMs: number) => LogData = tenAMinute) {
    const { clock } = this;
    const startMs = clock.now();
    const journal = (entry: JournalEntry) => void this.journal.push(entry);
    this.model = new ServiceModel({ ...usual, ...scenario }, { startMs, journal, logData: logDataAt(startMs) });
    this.service = new InProcessService(this.model, clock, { latencyMs });
    this.budget = new RequestBudget({ right: everlastingRight, clock });
    const budget = this.budget.key('id');
    this.client = new ServiceClient({
      transport: new InProcessTransport((origin) => (hosts.has(origin) ? this.service : undefined), clock),
      budget,
      clock,
      metrics: noMetrics,
      address: { origin: 'https://service.test', basePath: '/api' },
      accessId: 'id',
      accessKey: new SecretText('key'),
      allowedHosts: ['eu.service.test'],
      userAgent: 'logfleet/test',
    });
    this.jobs = new SearchJobs({ service: this.client, permits: budget.jobs, clock });
  }

  /** Search for all messages of the hour before the start. */
  get order(): JobOrder {
    return { query: '*', fromMs: this.model.startMs - 3_600_000, toMs: this.model.startMs, requiresRawMessages: true };
  }

  counters() {
    this.model.advance(this.service.nowMs());
    return this.model.counters();
  }

  /** Advances the clock until the call has ended, and returns its result. */
  async run<T>(call: Promise<T>): Promise<T> {
    let done = false;
    const end = () => {
      done = true;
    };
    void call.then(end, end);
    await this.clock.run(() => done);
    return call;
  }

  async failure(call: Promise<unknown>): Promise<unknown> {
    return this.run(
      call.then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
  }

  requests(operation?: string): readonly JournalEntry[] {
    return this.journal.filter((entry) => operation === undefined || entry.operation === operation);
  }
}
