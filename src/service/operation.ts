/** The operations of the service that this client speaks, by name: labels of metrics, names of boundaries, rows of the outcome table. */
import type { RequestClass } from './request-slot.ts';

/** Of search jobs (4.1 to 4.5). */
export const jobOperations = ['createJob', 'getJob', 'listMessages', 'listRecords', 'deleteJob'] as const;
/** Of collectors (4.6 to 4.9). */
export const collectorOperations = ['listCollectors', 'listBuilds', 'getTask', 'createTask'] as const;

export type JobOperation = (typeof jobOperations)[number];
export type CollectorOperation = (typeof collectorOperations)[number];
export type Operation = JobOperation | CollectorOperation;

/** Limits of an answer whose body is taken as it comes. */
export interface StreamLimits {
  /** From the budget's grant to the head of the answer. */
  readonly headMs: number;
  /** Between two pieces of the body. */
  readonly silenceMs: number;
  /** For how long whoever takes the rows may hold the answer up (protocol B3). */
  readonly heldUpMs: number;
}

/** Limits of a question that may wait long for its answer, and must not keep others from being asked. */
export interface PollLimits {
  /** From the budget's grant; after that it is given up as soon as a keep-alive poll needs its place. */
  readonly patienceMs: number;
}

export interface OperationInfo {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** In whose turn its requests stand (protocol B3), where the call says nothing else. */
  readonly requestClass: RequestClass;
  /** From the budget's grant to the last byte of the answer; a drip of bytes does not prolong it. */
  readonly deadlineMs: number;
  /** Longer answers are not read: 1,000 collectors take about 400 KB, and pages may be larger. */
  readonly maxBodyBytes: number;
  readonly stream?: StreamLimits;
  /** Of questions for a job's status, which are little work. */
  readonly poll?: PollLimits;
}

const mebibyte = 1024 * 1024;

export const operations: { readonly [O in Operation]: OperationInfo } = {
  createJob: { method: 'POST', requestClass: 'jobCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  // The next poll does not wait for it (B4), and a lost answer is a lost error (E5).
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

/** Establishing a connection, through a proxy too, takes no longer. */
export const connectDeadlineMs = 10_000;
