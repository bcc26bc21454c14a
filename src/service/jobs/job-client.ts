/**
 * Requests of one search job with its cookies (4.2 to 4.5). Also records the facts that explain why the service does not know the job. This
 * class sends nothing on its own; `search-job.ts` keeps the job alive.
 */
import { assert } from '../../base/assert.ts';
import { PageScanner } from '../pages/page-scanner.ts';
import type { BodySink } from '../requests/answer-stream.ts';
import type { Answer, CallOptions, MissingJob, NoSuchJob, Streaming } from '../requests/call.ts';
import type { Exchange } from '../requests/exchange.ts';
import type { JobSession } from '../requests/job-session.ts';
import type { JobOperation } from '../requests/operation.ts';
import type { Outcome } from '../requests/outcome.ts';
import { ServiceError } from '../requests/service-error.ts';
import { type CreatedJob, decodeJobStatus, decodeRecordPage } from './decode-jobs.ts';
import { missingJob } from './missing-job.ts';
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

export const jobsPath = '/v1/search/jobs';
/** Error code of a request for a job that is missing because its deletion was requested before. */
const notThere = `service.${'jobDeleted' satisfies Outcome}`;

export interface JobClientOptions extends CreatedJob {
  readonly exchange: Exchange;
  readonly session: JobSession;
  /** Monotonic time in ms at which the request to create the job was sent. */
  readonly createdAtMs: number;
}

export class JobClient implements OpenJob {
  readonly id: string;
  readonly warning: string | undefined;
  readonly #exchange: Exchange;
  readonly #session: JobSession;
  readonly #createdAtMs: number;
  /** Text of `warning` in the answer that created the job, as the service sent it. */
  readonly #notice: string | undefined;
  readonly #path: string;
  #heardAtMs: number;
  #isHeard = false;
  /** Number of deletions of the job that may have reached the service. */
  #deletionsSent = 0;

  constructor(options: JobClientOptions) {
    this.id = options.id;
    this.warning = withoutCookieNotice(options.warning);
    this.#exchange = options.exchange;
    this.#session = options.session;
    this.#createdAtMs = options.createdAtMs;
    this.#heardAtMs = options.createdAtMs;
    this.#notice = options.warning;
    this.#path = `${jobsPath}/${encodeURIComponent(options.id)}`;
  }

  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  async getStatus(options: StatusOptions = {}): Promise<Answer<JobStatus>> {
    const { signal, dueMs, isProgressCheck, beforeSend } = options;
    const answer = await this.#exchange.perform(
      {
        ...this.#followUp('getJob', ''),
        signal,
        dueMs,
        beforeSend,
        requestClass: isProgressCheck ? 'jobCare' : undefined,
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
    return this.#withNews(await this.#exchange.perform(call, reading));
  }

  async listRecords(query: PageQuery, options?: CallOptions): Promise<Answer<RecordPage>> {
    const call = { ...this.#followUp('listRecords', `/records?${parametersOf(query)}`), signal: options?.signal };
    const answer = await this.#exchange.perform(call, decodeRecordPage);
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
      return await this.#exchange.perform(call, () => undefined);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === notThere && error.sentAtMs !== undefined)
        return { value: undefined, sentAtMs: error.sentAtMs };
      // The caller may assume that no job was created only if no request could have created one. If
      // an earlier request was sent and its answer lost, a job may exist.
      if (error.effect === 'none' && error.sentAtMs !== undefined) hadNoEffect();
      throw error;
    }
  }

  #followUp(operation: JobOperation, rest: string) {
    return {
      operation,
      path: this.#path + rest,
      session: this.#session,
      whyMissing: (refusal: NoSuchJob) => this.#whyMissing(operation, refusal),
    };
  }

  #heard(sentAtMs: number): void {
    this.#isHeard = true;
    this.#heardAtMs = Math.max(this.#heardAtMs, sentAtMs);
  }

  #whyMissing(operation: JobOperation, refusal: NoSuchJob): MissingJob {
    const isDeletion = operation === 'deleteJob';
    return missingJob(
      {
        createdAtMs: this.#createdAtMs,
        heardAtMs: this.#heardAtMs,
        isHeard: this.#isHeard,
        isDeleted: this.#deletionsSent > (isDeletion ? 1 : 0),
        isDeletion,
        hadCookie: this.#session.cookies.wereSent,
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

/**
 * Creates a receiver that scans a page of messages while the page arrives. Errors of the row
 * receiver reach the caller unchanged.
 */
function takeRows(receiver: RowReceiver): BodySink<MessagePage> {
  const scanner = new PageScanner(receiver);
  return {
    write(chunk) {
      scanner.write(chunk);
      return receiver.drained?.();
    },
    end: () => scanner.end(),
  };
}

/**
 * Removes the notice about cookies that the service adds to every warning (2.2, 10.2), so that only new warnings remain.
 *
 * The notice is known from the answer to the job's creation: the same text in a later answer is removed in any language. In
 * addition, a sentence counts as notice if it mentions a cookie and a missing request or a 404. A warning about a field named
 * `cookie` is kept.
 */

/** Matches the end of a sentence in a warning, including the whitespace after it. */
const sentenceEnd = /(?<=[.!?;])\s+|\n+/;
const aboutCookies = /\bcookies?\b/i;
const aboutMissing = /\b404\b|\bnot[ -]?found\b/i;

/**
 * Removes the sentences of the service's notice about cookies from a warning. Returns undefined if
 * nothing is left.
 */
export function withoutCookieNotice(warning: string | undefined): string | undefined {
  if (warning === undefined) return undefined;
  const news = warning
    .split(sentenceEnd)
    .filter((sentence) => !(aboutCookies.test(sentence) && aboutMissing.test(sentence)));
  return news.join(' ').trim() || undefined;
}

/**
 * Minimum number of characters of a cookie notice that is removed from later warnings. A shorter
 * text could occur in other warnings by chance.
 */
const shortestNotice = 16;

/**
 * Returns the part of a later warning that is new, compared with the warning in the answer to the
 * job's creation (`known`).
 */
export function newsOf(warning: string | undefined, known = ''): string | undefined {
  const said = known.trim();
  return withoutCookieNotice(said.length < shortestNotice ? warning : warning?.replaceAll(said, ' '));
}
