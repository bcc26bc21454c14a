/**
 * Requests of one search job (4.2 to 4.5), with its cookies, and with the facts that explain why the service does not know the job.
 * It sends nothing on its own; `search-job.ts` keeps the job alive.
 */
import { assert } from '../base/assert.ts';
import type { BodySink } from './answer-stream.ts';
import type { Streaming } from './call.ts';
import type { Calls } from './calls.ts';
import { newsOf, withoutCookieNotice } from './cookie-notice.ts';
import { type CreatedJob, decodeJobStatus, decodeRecordPage } from './decode-search.ts';
import type { JobHome } from './job-home.ts';
import { type JobRefusal, type MissingJob, missingJob } from './missing-job.ts';
import type { JobOperation } from './operation.ts';
import type { Outcome } from './outcome.ts';
import { PageScanner } from './page-scanner.ts';
import {
  type JobStatus,
  type MessagePage,
  maxPageRows,
  type OpenJob,
  type PageQuery,
  type RecordPage,
  type RowReceiver,
  type StatusOptions,
} from './search-service.ts';
import { ServiceError } from './service-error.ts';
import type { Answer, CallOptions } from './upgrade-service.ts';

export const jobsPath = '/v1/search/jobs';
/** Error code for a job that does not exist after its deletion was requested. */
const notThere = `service.${'jobDeleted' satisfies Outcome}`;

export interface JobClientOptions extends CreatedJob {
  readonly calls: Calls;
  readonly home: JobHome;
  /** Monotonic sending time of the job's creation. */
  readonly createdAtMs: number;
}

export class JobClient implements OpenJob {
  readonly id: string;
  readonly warning: string | undefined;
  readonly #calls: Calls;
  readonly #home: JobHome;
  readonly #createdAtMs: number;
  /** `warning` of the creation, as received. */
  readonly #notice: string | undefined;
  readonly #path: string;
  #heardAtMs: number;
  #isHeard = false;
  /** Number of deletions that may have been received. */
  #deletionsSent = 0;

  constructor(options: JobClientOptions) {
    this.id = options.id;
    this.warning = withoutCookieNotice(options.warning);
    this.#calls = options.calls;
    this.#home = options.home;
    this.#createdAtMs = options.createdAtMs;
    this.#heardAtMs = options.createdAtMs;
    this.#notice = options.warning;
    this.#path = `${jobsPath}/${encodeURIComponent(options.id)}`;
  }

  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  async getStatus(options: StatusOptions = {}): Promise<Answer<JobStatus>> {
    const { signal, dueMs, isLook, beforeSend } = options;
    const answer = await this.#calls.perform(
      {
        ...this.#followUp('getJob', ''),
        signal,
        dueMs,
        beforeSend,
        requestClass: isLook ? 'jobCare' : undefined,
      },
      decodeJobStatus,
    );
    this.#heard(answer.sentAtMs);
    return this.#withNews(answer);
  }

  async listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<Answer<MessagePage>> {
    const reading: Streaming<MessagePage> = {
      begin: (_head, sentAtMs) => {
        this.#heard(sentAtMs);
        return takeRows(receiver);
      },
    };
    const call = { ...this.#followUp('listMessages', `/messages?${parametersOf(query)}`), signal: options?.signal };
    return this.#withNews(await this.#calls.perform(call, reading));
  }

  async listRecords(query: PageQuery, options?: CallOptions): Promise<Answer<RecordPage>> {
    const call = { ...this.#followUp('listRecords', `/records?${parametersOf(query)}`), signal: options?.signal };
    const answer = await this.#calls.perform(call, decodeRecordPage);
    this.#heard(answer.sentAtMs);
    return this.#withNews(answer);
  }

  async delete(options?: CallOptions): Promise<Answer<undefined>> {
    const beforeSend = () => {
      this.#deletionsSent++;
    };
    const hadNoEffect = () => {
      this.#deletionsSent--;
    };
    const call = { ...this.#followUp('deleteJob', ''), signal: options?.signal, beforeSend, hadNoEffect };
    try {
      return await this.#calls.perform(call, () => undefined);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === notThere && error.sentAtMs !== undefined)
        return { value: undefined, sentAtMs: error.sentAtMs };
      // Only if the creation had no effect for certain: an earlier write may have created the job, with its answer lost.
      if (error.effect === 'none' && error.sentAtMs !== undefined) hadNoEffect();
      throw error;
    }
  }

  #followUp(operation: JobOperation, rest: string) {
    return {
      operation,
      path: this.#path + rest,
      home: this.#home,
      whyMissing: (refusal: JobRefusal) => this.#whyMissing(operation, refusal),
    };
  }

  #heard(sentAtMs: number): void {
    this.#isHeard = true;
    this.#heardAtMs = Math.max(this.#heardAtMs, sentAtMs);
  }

  #whyMissing(operation: JobOperation, refusal: JobRefusal): MissingJob {
    const isDeletion = operation === 'deleteJob';
    return missingJob(
      {
        createdAtMs: this.#createdAtMs,
        heardAtMs: this.#heardAtMs,
        isHeard: this.#isHeard,
        isDeleted: this.#deletionsSent > (isDeletion ? 1 : 0),
        isDeletion,
        hadCookie: this.#home.cookies.wereSent,
      },
      refusal,
    );
  }

  #withNews<T extends { readonly warning: string | undefined }>(answer: Answer<T>): Answer<T> {
    const { value } = answer;
    return { ...answer, value: { ...value, warning: newsOf(value.warning, this.#notice) } };
  }
}

function parametersOf({ offset, limit }: PageQuery): URLSearchParams {
  assert(Number.isSafeInteger(offset) && offset >= 0, 'an offset is a whole number from 0 on');
  assert(Number.isInteger(limit) && limit > 0 && limit <= maxPageRows, 'a limit is a whole number from 1 to 10,000');
  return new URLSearchParams({ offset: String(offset), limit: String(limit) });
}

/** Creates a sink that scans a page while it arrives. Errors of the receiver reach the caller unchanged. */
function takeRows(receiver: RowReceiver): BodySink<MessagePage> {
  const scanner = new PageScanner(receiver);
  return {
    write(chunk) {
      scanner.write(chunk);
      return receiver.room?.();
    },
    end: () => scanner.end(),
  };
}
