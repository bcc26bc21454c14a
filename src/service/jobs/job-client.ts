/**
 * Sends the requests for one search job (sections 4.2 to 4.5 of docs/service.md). Sends a request only when a caller
 * asks for it. Therefore, `search-job.ts` must keep the job alive.
 */
import { assert } from '../../base/assert.ts';
import { PageScanner } from '../pages/page-scanner.ts';
import type { Call, CallOptions, CallResponse, ResponseReader } from '../requests/call.ts';
import type { Exchange } from '../requests/exchange.ts';
import type { JobSession } from '../requests/job-session.ts';
import type { BodySink } from '../requests/response-stream.ts';
import { ServiceError } from '../requests/service-error.ts';
import { type CreatedJob, decodeJobStatus, decodeRecordPage } from './decode-jobs.ts';
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

export interface JobClientOptions extends CreatedJob {
  readonly exchange: Exchange;
  readonly session: JobSession;
}

export class JobClient implements OpenJob {
  readonly id: string;
  readonly warning: string | undefined;
  readonly #exchange: Exchange;
  readonly #session: JobSession;
  /** Warning in the response to the creation of the job. */
  readonly #notice: string | undefined;
  readonly #path: string;

  constructor(options: JobClientOptions) {
    this.id = options.id;
    this.warning = withoutCookieNotice(options.warning);
    this.#exchange = options.exchange;
    this.#session = options.session;
    this.#notice = options.warning;
    this.#path = `${jobsPath}/${encodeURIComponent(options.id)}`;
  }

  get heardAtMs(): number {
    return this.#session.heardAtMs;
  }

  getStatus({ isProgressCheck, ...options }: StatusOptions = {}): Promise<CallResponse<JobStatus>> {
    const requestClass = isProgressCheck ? 'jobCare' : undefined;
    return this.#read({ ...options, operation: 'getJob', path: this.#path, requestClass }, decodeJobStatus);
  }

  listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<CallResponse<MessagePage>> {
    const path = `${this.#path}/messages?${parametersOf(query)}`;
    return this.#read({ ...options, operation: 'listMessages', path }, { begin: () => takeRows(receiver) });
  }

  listRecords(query: PageQuery, options?: CallOptions): Promise<CallResponse<RecordPage>> {
    const path = `${this.#path}/records?${parametersOf(query)}`;
    return this.#read({ ...options, operation: 'listRecords', path }, decodeRecordPage);
  }

  async delete(options?: CallOptions): Promise<CallResponse<undefined>> {
    const session = this.#session;
    const mayHaveActed = () => {
      session.isDeleted = true;
    };
    const call: Call = { ...options, operation: 'deleteJob', path: this.#path, session, mayHaveActed };
    try {
      const response = await this.#exchange.perform(call, () => undefined);
      mayHaveActed();
      return response;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.failure !== 'jobDeleted' || error.sentAtMs === undefined)
        throw error;
      return { value: undefined, sentAtMs: error.sentAtMs };
    }
  }

  /** Sends a request, and removes the service's cookie notice from the warning in the response. */
  async #read<T extends { readonly warning: string | undefined }>(
    call: Call,
    reading: ResponseReader<T>,
  ): Promise<CallResponse<T>> {
    const response = await this.#exchange.perform({ ...call, session: this.#session }, reading);
    const warning = newTextOf(response.value.warning, this.#notice);
    return { ...response, value: { ...response.value, warning } };
  }
}

function parametersOf({ offset, limit }: PageQuery): URLSearchParams {
  assert(Number.isSafeInteger(offset) && offset >= 0, 'the offset must be a whole number of at least 0');
  assert(
    Number.isInteger(limit) && limit > 0 && limit <= maxPageRows,
    'the limit must be a whole number from 1 to 10,000',
  );
  return new URLSearchParams({ offset: String(offset), limit: String(limit) });
}

/** Reads a page of messages as it arrives. */
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

/** Matches the end of a sentence in a warning. */
const sentenceEnd = /(?<=[.!?;])\s+|\n+/;
const aboutCookies = /\bcookies?\b/i;
const aboutMissing = /\b404\b|\bnot[ -]?found\b/i;

/**
 * Removes the sentences about missing cookies that the service adds to every warning (sections 2.2 and 10.2 of
 * docs/service.md). Returns undefined if no text is left.
 */
export function withoutCookieNotice(warning: string | undefined): string | undefined {
  if (warning === undefined) return undefined;
  const others = warning
    .split(sentenceEnd)
    .filter((sentence) => !(aboutCookies.test(sentence) && aboutMissing.test(sentence)));
  return others.join(' ').trim() || undefined;
}

/**
 * Minimum length, in characters, of text that `newTextOf` removes from a warning. Shorter text could occur in a new
 * warning by chance.
 */
const shortestNotice = 16;

/**
 * Returns the new part of a warning. All warnings of a job repeat the text `known`, which is the warning from the
 * creation of the job. This function removes that text.
 */
export function newTextOf(warning: string | undefined, known = ''): string | undefined {
  const said = known.trim();
  return withoutCookieNotice(said.length < shortestNotice ? warning : warning?.replaceAll(said, ' '));
}
