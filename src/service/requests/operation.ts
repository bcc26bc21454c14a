/**
 * Names and limits of the service's operations. The names are used in metrics, in error boundaries (`base/boundary.ts`)
 * and in the outcome table (`outcome.ts`).
 */
import type { RequestClass } from '../budget/request-slot.ts';

/** Operations on a search job that already exists (4.2 to 4.5). */
export const jobOperations = ['getJob', 'listMessages', 'listRecords', 'deleteJob'] as const;

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
}

const mebibyte = 1024 * 1024;

export const operations = {
  createJob: { method: 'POST', requestClass: 'jobCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  // Another status request may be sent before this one is answered (B4), but a lost answer may lose
  // an error of the job (E5).
  getJob: { method: 'GET', requestClass: 'keepAlive', deadlineMs: 15_000, maxBodyBytes: 16 * mebibyte },
  // The rows of a page of messages are read as a stream, which has no maximum size.
  listMessages: { method: 'GET', requestClass: 'pageRead', deadlineMs: 60_000, maxBodyBytes: mebibyte },
  listRecords: { method: 'GET', requestClass: 'pageRead', deadlineMs: 60_000, maxBodyBytes: 128 * mebibyte },
  deleteJob: { method: 'DELETE', requestClass: 'jobCare', deadlineMs: 10_000, maxBodyBytes: mebibyte },
  listCollectors: { method: 'GET', requestClass: 'listing', deadlineMs: 30_000, maxBodyBytes: 64 * mebibyte },
  listBuilds: { method: 'GET', requestClass: 'listing', deadlineMs: 15_000, maxBodyBytes: 4 * mebibyte },
  getTask: { method: 'GET', requestClass: 'taskStatus', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  createTask: { method: 'POST', requestClass: 'taskCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
} as const satisfies Readonly<Record<string, OperationInfo>>;

export type Operation = keyof typeof operations;
