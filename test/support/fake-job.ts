/** Fake search job, each of whose operations can be replaced by a test. */
import type { Clock } from '../../src/base/clock.ts';
import type { JobPermit } from '../../src/service/budget/job-admission.ts';
import type {
  JobOrder,
  JobStatus,
  MessagePage,
  OpenJob,
  PageQuery,
  RecordPage,
  RowReceiver,
  StatusOptions,
} from '../../src/service/jobs/search-service.ts';
import type { PageRow } from '../../src/service/pages/page-row.ts';
import type { CallOptions, CallResponse } from '../../src/service/requests/call.ts';
import type { Effect, RequestFailure } from '../../src/service/requests/request-failure.ts';
import { serviceError } from './service-error.ts';

export const order: JobOrder = { query: 'x', fromMs: 0, toMs: 100_000 };

export const running: JobStatus = {
  state: 'gatheringResults',
  messageCount: 0,
  recordCount: undefined,
  buckets: [],
  pendingErrors: [],
  pendingWarnings: [],
  scannedBytes: undefined,
  warning: undefined,
};

export const done = (messageCount: number): JobStatus => ({ ...running, state: 'doneGatheringResults', messageCount });

function rowOf(index: number): PageRow {
  const bytes = Buffer.from(`{"_messageid":"${index}"}`);
  return { bytes, messageId: String(index), messageTimeMs: 100_000 - index, receiptTimeMs: undefined };
}

export function failure(
  failure: RequestFailure,
  more: { effect?: Effect; retryAfterMs?: number; stall?: boolean; sent?: boolean; reason?: string } = {},
) {
  const { effect = 'none', retryAfterMs, stall, sent = true, reason } = more;
  return serviceError({
    failure,
    message: failure,
    handling: stall
      ? { kind: 'stall' }
      : retryAfterMs === undefined
        ? { kind: 'backoff' }
        : { kind: 'retryAfter', delayMs: retryAfterMs },
    effect,
    ...(reason !== undefined && { reason }),
    ...(sent ? { sentAtMs: 0 } : {}),
  });
}

export class FakeJob implements OpenJob {
  readonly id = 'A1';
  warning: string | undefined;
  heardAtMs: number;
  /** Times of the status requests, in ms. */
  readonly asked: number[] = [];
  readonly options: StatusOptions[] = [];
  readonly queries: PageQuery[] = [];
  deletions = 0;
  /** Returns the status of the fake search job, or throws an error. */
  status: () => Promise<JobStatus> | JobStatus = () => running;
  page: (query: PageQuery, receiver: RowReceiver) => Promise<number> | number = () => 0;
  records: (query: PageQuery) => RecordPage = () => ({ fields: [], records: [], warning: undefined });
  deletion: () => void = () => {};
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.heardAtMs = clock.monotonic();
  }

  async getStatus(options: StatusOptions = {}): Promise<CallResponse<JobStatus>> {
    options.signal?.throwIfAborted();
    options.beforeSend?.();
    const sentAtMs = this.#clock.monotonic();
    this.asked.push(sentAtMs);
    this.options.push(options);
    const value = await this.status();
    this.heardAtMs = Math.max(this.heardAtMs, sentAtMs);
    return { value, sentAtMs };
  }

  async listMessages(
    query: PageQuery,
    receiver: RowReceiver,
    options?: CallOptions,
  ): Promise<CallResponse<MessagePage>> {
    options?.signal?.throwIfAborted();
    this.queries.push(query);
    const sentAtMs = this.#clock.monotonic();
    const rows = await this.page(query, receiver);
    this.heardAtMs = Math.max(this.heardAtMs, sentAtMs);
    return { value: { rows, bytes: 0, fields: [], warning: undefined }, sentAtMs };
  }

  async listRecords(query: PageQuery): Promise<CallResponse<RecordPage>> {
    this.queries.push(query);
    return { value: this.records(query), sentAtMs: this.#clock.monotonic() };
  }

  async delete(): Promise<CallResponse<undefined>> {
    this.deletions++;
    this.deletion();
    return { value: undefined, sentAtMs: this.#clock.monotonic() };
  }
}

/** Fake permit to run a search job. The permit records when `end` was first called. */
export class FakePermit implements JobPermit {
  endedAtMs: number | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  end(): void {
    this.endedAtMs ??= this.#clock.monotonic();
  }
}

/**
 * Returns a function that returns the result pages of a search job with `total` rows. Each page has at most `max` rows.
 */
export function serve(total: number, max = 10_000) {
  return ({ offset, limit }: PageQuery, receiver: RowReceiver): number => {
    const rows = Math.max(0, Math.min(total - offset, limit, max));
    for (let index = 0; index < rows; index++) receiver.row(rowOf(offset + index));
    return rows;
  };
}

/** Returns the ids of the first `count` rows. */
export const firstIds = (count: number) => Array.from({ length: count }, (_, index) => String(index));
