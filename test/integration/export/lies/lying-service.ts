/** Proxy in front of the simulated service. It gives the operator false responses about search jobs. */
import {
  type InProcessRequest,
  type InProcessResponse,
  InProcessService,
  type Network,
} from '../../../../simulator/in-process.ts';
import type { ServiceModel } from '../../../../simulator/model.ts';
import type { VirtualClock } from '../../../support/virtual-clock.ts';
import type { Corpus, ResultFields } from './corpus.ts';

export interface LyingJob {
  readonly query: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly isAggregation: boolean;
  /** Number of earlier search jobs of the same kind. */
  readonly number: number;
}

export interface LyingPageRequest {
  readonly offset: number;
  readonly limit: number;
  /** Number of times that the search job's first page has been requested. */
  readonly reading: number;
  readonly job: LyingJob;
}

export interface LyingStatus {
  readonly state: string;
  readonly messageCount: number;
  readonly recordCount: number;
  readonly histogramBuckets: readonly LyingBucket[];
  readonly [other: string]: unknown;
}

export interface LyingBucket {
  readonly startTimestamp: number;
  readonly length: number;
  readonly count: number;
}

export interface Lie {
  /** Returns the rows of a search job, newest first. */
  readonly rows?: (rows: readonly ResultFields[], job: LyingJob) => readonly ResultFields[];
  /**
   * Whether the message count and the histogram are computed from the false `rows`. In that case, they agree with the
   * rows, and do not reveal the error.
   */
  readonly isCounted?: boolean;
  readonly page?: (rows: readonly ResultFields[], request: LyingPageRequest) => readonly ResultFields[];
  readonly status?: (status: LyingStatus, job: LyingJob) => LyingStatus;
  readonly records?: (records: readonly ResultFields[], job: LyingJob) => readonly ResultFields[];
}

interface KnownJob extends LyingJob {
  /** Number of rows in the search job's latest status. */
  count: number;
  isDone: boolean;
  readings: number;
}

export class LyingService extends InProcessService {
  hasLied = false;
  readonly #lie: Lie;
  readonly #truth: readonly ResultFields[];
  readonly #pageRows: number;
  readonly #jobs = new Map<string, KnownJob>();

  /** `corpus` contains all rows that exist in the service. */
  constructor(lie: Lie, { truth, pageRows }: Corpus, model: ServiceModel, clock: VirtualClock, network: Network) {
    super(model, clock, network);
    this.#lie = lie;
    this.#pageRows = pageRows;
    this.#truth = truth.toSorted((left, right) => timeOf(right) - timeOf(left));
  }

  override async request(request: InProcessRequest): Promise<InProcessResponse> {
    const response = await super.request(request);
    const { method, path } = request;
    if (method === 'POST' && response.status === 202) this.#created(request, response);
    const [, id, what, offset, limit] =
      /\/jobs\/(\w+)(?:\/(messages|records)\?.*?offset=(\d+)&limit=(\d+))?$/.exec(path) ?? [];
    const job = id === undefined ? undefined : this.#jobs.get(id);
    if (method !== 'GET' || response.status !== 200 || !job) return response;
    if (what === 'messages') return this.#messages(response, job, Number(offset), Number(limit));
    return what === 'records' ? this.#records(response, job) : this.#status(response, job);
  }

  #created({ body = '' }: InProcessRequest, { body: created }: InProcessResponse): void {
    const order = JSON.parse(body) as { readonly query: string; readonly from: string; readonly to: string };
    const { id } = JSON.parse(created) as { readonly id: string };
    const isAggregation = /\|\s*(?:count|sum|min|max)\b/.test(order.query);
    const number = [...this.#jobs.values()].filter((other) => other.isAggregation === isAggregation).length;
    const facts = { query: order.query, fromMs: Number(order.from), toMs: Number(order.to), isAggregation, number };
    this.#jobs.set(id, { ...facts, count: 0, isDone: false, readings: 0 });
  }

  #status(response: InProcessResponse, job: KnownJob): InProcessResponse {
    const status = JSON.parse(response.body) as LyingStatus;
    job.count = status.messageCount;
    job.isDone = /^(?:DONE GATHERING RESULTS|FORCE PAUSED)$/.test(status.state);
    const counted = this.#lie.isCounted && !job.isAggregation ? this.#recounted(status, job) : status;
    return this.#respond(response, status, this.#lie.status?.(counted, job) ?? counted);
  }

  #recounted(status: LyingStatus, job: KnownJob): LyingStatus {
    const rows = this.#rowsOf(job);
    const histogramBuckets = status.histogramBuckets.map((bucket) => ({
      ...bucket,
      count: rows.filter((row) => isIn(bucket, timeOf(row))).length,
    }));
    const messageCount = job.isDone ? rows.length : Math.min(status.messageCount, rows.length);
    return { ...status, messageCount, histogramBuckets };
  }

  #messages(response: InProcessResponse, job: KnownJob, offset: number, limit: number): InProcessResponse {
    const page = JSON.parse(response.body) as { readonly messages: readonly { readonly map: ResultFields }[] };
    if (offset === 0) job.readings++;
    // The pages of a running search job contain only the rows that have been found so far.
    const end = job.isDone ? offset + Math.min(limit, this.#pageRows) : offset + page.messages.length;
    const rows = this.#rowsOf(job).slice(offset, end);
    const lied = this.#lie.page?.(rows, { offset, limit, reading: job.readings, job }) ?? rows;
    const messages = (maps: readonly ResultFields[]) => ({ ...page, messages: maps.map((map) => ({ map })) });
    return this.#respond(response, messages(this.#foundBy(job).slice(offset, end)), messages(lied));
  }

  #records(response: InProcessResponse, job: KnownJob): InProcessResponse {
    const page = JSON.parse(response.body) as { readonly records: readonly { readonly map: ResultFields }[] };
    const records = page.records.map(({ map }) => map);
    const lied = this.#lie.records?.(records, job) ?? records;
    return this.#respond(response, page, { ...page, records: lied.map((map) => ({ map })) });
  }

  #respond(response: InProcessResponse, honest: object, lied: object): InProcessResponse {
    const body = JSON.stringify(lied);
    this.hasLied ||= body !== JSON.stringify(honest);
    return { ...response, body };
  }

  #rowsOf(job: KnownJob): readonly ResultFields[] {
    const found = this.#foundBy(job);
    return this.#lie.rows?.(found, job) ?? found;
  }

  /** Returns the rows that a search finds. If the search reaches the row limit, they are the newest rows. */
  #foundBy(job: KnownJob): readonly ResultFields[] {
    const [, ending = ''] = /_messageid matches "\*(\d+)"/.exec(job.query) ?? [];
    const matching = this.#truth.filter((row) => {
      return timeOf(row) >= job.fromMs && timeOf(row) < job.toMs && (row['_messageid'] ?? '').endsWith(ending);
    });
    return job.isDone ? matching.slice(0, job.count) : matching;
  }
}

export function timeOf(row: ResultFields): number {
  return Number(row['_messagetime']);
}

function isIn({ startTimestamp, length }: LyingBucket, timeMs: number): boolean {
  return timeMs >= startTimestamp && timeMs < startTimestamp + length;
}
