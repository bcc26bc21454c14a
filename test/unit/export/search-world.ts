/** Provides what a test of an interval search needs: a simulated service and an in-memory destination. */
import type { LogData } from '../../../simulator/log-data/log-data.ts';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { type Message, RowData } from '../../../simulator/test/row-data.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { type CommitRecord, readRecords } from '../../../src/destination/commit-record.ts';
import type { Writer } from '../../../src/destination/store/writer.ts';
import type { ExportDefinition, ExportRequest } from '../../../src/export/search/export-definition.ts';
import { IntervalSearch } from '../../../src/export/search/interval-search.ts';
import {
  ChosenFields,
  type OpenedJob,
  type SearchOrder,
  type SearchResult,
  type SearchTools,
} from '../../../src/export/search/search-tools.ts';
import { ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import type { RowReceiver } from '../../../src/service/jobs/search-service.ts';
import type { PageRow } from '../../../src/service/pages/page-row.ts';
import { ClientWorld } from '../../support/client-world.ts';
import { definitionOf, exportRequest } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { testWriter } from '../../support/memory-exports.ts';

export const startMs = Date.UTC(2026, 10, 1);
export const hour = { fromMs: startMs - hourMs, toMs: startMs };

/** Returns messages, newest first, spread evenly over the hour before the test starts. */
export function evenly(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => ({
    at: startMs - 1 - Math.floor((index * hourMs) / count),
    raw: `message ${index}`,
    fields: { _messageid: `${index}` },
  }));
}

/** Request for an export of the hour before the test starts. */
export const hourRequest = exportRequest({ timeRange: { from: `${hour.fromMs}`, to: `${hour.toMs}` } });

/**
 * Fault with which the second status request of each search reports an error.
 * @param queries wildcard patterns of the searches; undefined means all searches
 */
export function lateError(queries?: readonly string[]) {
  const fault = { kind: 'pendingError', message: 'a shard is away', operations: ['getJob'], nth: [2] } as const;
  return queries === undefined ? fault : { ...fault, queries };
}

type StartOfSearch = Partial<Pick<SearchTools, 'onProgress'>> & {
  readonly opened?: OpenedJob;
  readonly failedBefore?: number;
};

export interface SearchWorldOptions {
  readonly scenario?: Scenario;
  readonly messages?: readonly Message[];
  readonly logData?: LogData;
  readonly request?: Partial<ExportRequest>;
  readonly destination?: MemoryDestination;
  /** Seed for the random part of file names. Each process must have a different seed. */
  readonly token?: number;
}

export class SearchWorld {
  readonly simulated: ClientWorld;
  readonly destination: MemoryDestination;
  readonly quirks = new ServiceQuirks();
  readonly definition: ExportDefinition;
  readonly messages: readonly Message[];
  policy: 'Fail' | 'Keep' = 'Fail';
  isScanLimitReached = false;
  searchesAtOnce = 4;
  jobs: SearchJobs;
  news = 0;
  readonly #writer: Writer;

  constructor(options: SearchWorldOptions = {}) {
    const { scenario = {}, messages = evenly(600), logData, request, destination, token = 1 } = options;
    this.messages = messages;
    this.simulated = new ClientWorld(scenario, { logData: () => logData ?? new RowData(messages) });
    this.destination = destination ?? new MemoryDestination();
    this.definition = definitionOf({ ...hourRequest, ...request });
    this.jobs = this.simulated.jobs;
    this.#writer = testWriter(seededRandom(token));
  }

  get clock() {
    return this.simulated.clock;
  }

  get tools(): SearchTools {
    const { clock } = this.simulated;
    return {
      jobs: this.jobs,
      destination: this.destination,
      definition: this.definition,
      describedFields: [],
      chosenFields: new ChosenFields([]),
      quirks: this.quirks,
      writer: this.#writer,
      clock,
      log: silentLogger,
      incompletePolicy: () => this.policy,
      settleDelayMs: () => 0,
      isScanLimitReached: () => this.isScanLimitReached,
      searchesAtOnce: () => this.searchesAtOnce,
      failedBefore: () => 0,
      onProgress: () => void this.news++,
    };
  }

  begin(order: Partial<SearchOrder> = {}, { opened, failedBefore = 0, ...tools }: StartOfSearch = {}): IntervalSearch {
    const changed = { ...this.tools, failedBefore: () => failedBefore, ...tools };
    return new IntervalSearch({ segment: 0, ...hour, ...order }, changed, opened);
  }

  async search(order: Partial<SearchOrder> = {}, start: StartOfSearch = {}): Promise<SearchResult> {
    return this.simulated.run(this.begin(order, start).done);
  }

  /** Runs a search, expects it to commit its interval, and returns the commit record. */
  async committed(order: Partial<SearchOrder> = {}, start: StartOfSearch = {}): Promise<CommitRecord> {
    return recordOf(await this.search(order, start));
  }

  rows({ files }: CommitRecord): Record<string, string>[] {
    return files.flatMap(({ name }) => {
      const content = this.destination.objects.get(this.definition.layout.within(name));
      if (!content) throw new Error(`there is no ${name}`);
      const lines = Buffer.from(content).toString().split('\n').slice(0, -1);
      return lines.map((line) => JSON.parse(line) as Record<string, string>);
    });
  }

  /** Returns a message for each wrong row in a commit record's files, and for each file or search job left behind. */
  async complaints(record: CommitRecord): Promise<string[]> {
    const found: string[] = [];
    const inside = this.messages.filter(({ at, received = at }) => {
      const timeMs = this.definition.identity.byReceiptTime ? received : at;
      return timeMs >= record.fromMs && timeMs < record.toMs;
    });
    // Equal messages are expected only once.
    const wanted = [...new Set(inside.map((message) => keyOf(message)))].sort();
    const written = this.rows(record)
      .map((row) => `${row['_messagetime']} ${row['_raw']}`)
      .sort();
    if (JSON.stringify(written) !== JSON.stringify(wanted)) {
      found.push(`${written.length} rows are written instead of ${wanted.length}`);
    }
    return [...found, ...(await this.leftovers(record.files.map(({ name }) => name)))];
  }

  /** Returns a message for each file, upload and search job that should have been removed, but still exists. */
  async leftovers(files: readonly string[] = []): Promise<string[]> {
    const found: string[] = [];
    const counted = new Set(files.map((name) => this.definition.layout.within(name)));
    for await (const { name } of this.destination.list(this.definition.layout.data)) {
      if (!counted.has(name)) found.push(`${name} is left`);
    }
    for (const { name } of this.destination.store.uploads) found.push(`an unfinished upload of ${name} remains`);
    const { jobsActive } = this.simulated.counters();
    if (jobsActive > 0) found.push(`${jobsActive} search jobs remain`);
    if (this.simulated.budget.jobs.active > 0) found.push('a permit was not returned');
    return found;
  }

  async records(): Promise<readonly CommitRecord[]> {
    return readRecords(this.destination, this.definition.layout);
  }

  get requests(): readonly string[] {
    return this.simulated.journal.map(({ operation }) => operation ?? '');
  }

  countOf(operation: string): number {
    return this.requests.filter((each) => each === operation).length;
  }
}

function recordOf(outcome: SearchResult): CommitRecord {
  if (outcome.kind === 'committed') return outcome.record;
  const error = outcome.kind === 'failed' ? outcome.error : undefined;
  throw new Error(`it is ${JSON.stringify(outcome)}`, { cause: error });
}

function keyOf({ at, raw }: Message): string {
  return `${at} ${raw}`;
}

/** Returns a receiver that passes on the ninth row again in place of the tenth row. */
export function inPlaceOfTenth(receiver: RowReceiver): RowReceiver {
  let rows = 0;
  let ninth: PageRow | undefined;
  return {
    row: ({ bytes, messageTimeMs, messageId, receiptTimeMs }) => {
      rows++;
      const row = { bytes: Buffer.from(bytes), messageTimeMs, messageId, receiptTimeMs };
      if (rows === 9) ninth = row;
      receiver.row(rows === 10 && ninth ? ninth : row);
    },
    drained: () => receiver.drained?.(),
  };
}
