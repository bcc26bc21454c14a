/**
 * Names and limits of the service's operations. The names are used in metrics, in error boundaries (`base/boundary.ts`)
 * and in the outcome table (`outcome.ts`).
 */
import type { RequestClass } from '../budget/request-slot.ts';

/** Operations of search jobs (4.1 to 4.5). */
export const jobOperations = ['createJob', 'getJob', 'listMessages', 'listRecords', 'deleteJob'] as const;
/** Operations of collectors (4.6 to 4.9). */
export const collectorOperations = ['listCollectors', 'listBuilds', 'getTask', 'createTask'] as const;

export type JobOperation = (typeof jobOperations)[number];
export type CollectorOperation = (typeof collectorOperations)[number];
export type Operation = JobOperation | CollectorOperation;

/** Time limits of an answer whose body is read as a stream. */
export interface StreamLimits {
  /** Maximum time in ms from the grant of the request's slot to the head of the answer. */
  readonly headMs: number;
  /** Maximum time in ms between two chunks of the answer's body. */
  readonly silenceMs: number;
  /** Maximum time in ms for which the receiver of the body may pause the answer (B3). */
  readonly heldUpMs: number;
}

/** Time limits of a request that may wait long for its answer but must not block others. */
export interface PollLimits {
  /** Time in ms from the grant of the slot after which the request is cancelled as soon as a keep-alive needs its slot. */
  readonly patienceMs: number;
}

export interface OperationInfo {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Class of the operation's requests (B3), unless the call sets another class. */
  readonly requestClass: RequestClass;
  /**
   * Maximum time in ms from the grant of the request's slot to the last byte of the answer. Bytes
   * that arrive slowly do not extend it.
   */
  readonly deadlineMs: number;
  /** Maximum size of an answer in bytes. 1,000 collectors take about 400 KB, and pages may be larger. */
  readonly maxBodyBytes: number;
  readonly stream?: StreamLimits;
  /** Time limits of a search job's status requests; absent for other operations. */
  readonly poll?: PollLimits;
}

const mebibyte = 1024 * 1024;

export const operations: { readonly [O in Operation]: OperationInfo } = {
  createJob: { method: 'POST', requestClass: 'jobCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  // Another status request may be sent before this one is answered (B4), but a lost answer may lose
  // an error of the job (E5).
  getJob: {
    method: 'GET',
    requestClass: 'keepAlive',
    deadlineMs: 15_000,
    maxBodyBytes: 16 * mebibyte,
    poll: { patienceMs: 2_000 },
  },
  listMessages: {
    method: 'GET',
    requestClass: 'pageRead',
    deadlineMs: 60_000,
    maxBodyBytes: mebibyte,
    stream: { headMs: 30_000, silenceMs: 10_000, heldUpMs: 5_000 },
  },
  listRecords: { method: 'GET', requestClass: 'pageRead', deadlineMs: 60_000, maxBodyBytes: 128 * mebibyte },
  deleteJob: { method: 'DELETE', requestClass: 'jobCare', deadlineMs: 10_000, maxBodyBytes: mebibyte },
  listCollectors: { method: 'GET', requestClass: 'listing', deadlineMs: 30_000, maxBodyBytes: 64 * mebibyte },
  listBuilds: { method: 'GET', requestClass: 'listing', deadlineMs: 15_000, maxBodyBytes: 4 * mebibyte },
  getTask: { method: 'GET', requestClass: 'taskStatus', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  createTask: { method: 'POST', requestClass: 'taskCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
};
