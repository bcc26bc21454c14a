/** Names and limits of the service's operations. */
import type { RequestClass } from '../budget/request-slot.ts';

/** Operations on an existing search job (sections 4.2 to 4.5 of docs/service.md). */
export const jobOperations = ['getJob', 'listMessages', 'listRecords', 'deleteJob'] as const;

export interface OperationInfo {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Default request class of the operation (B3). */
  readonly requestClass: RequestClass;
  /** Maximum time in ms from the permission to send to the last byte of the response. */
  readonly deadlineMs: number;
  /** Maximum size of a response in bytes. A list of 1,000 collectors takes about 400 KB. */
  readonly maxBodyBytes: number;
}

const mebibyte = 1024 * 1024;

export const operations = {
  createJob: { method: 'POST', requestClass: 'jobCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  // A status request has a long deadline, because cancelling it early would lose any search error in its response (E5).
  getJob: { method: 'GET', requestClass: 'keepAlive', deadlineMs: 15_000, maxBodyBytes: 16 * mebibyte },
  // The maximum size does not apply to the rows of a page, because rows are streamed.
  listMessages: { method: 'GET', requestClass: 'pageRead', deadlineMs: 60_000, maxBodyBytes: mebibyte },
  listRecords: { method: 'GET', requestClass: 'pageRead', deadlineMs: 60_000, maxBodyBytes: 128 * mebibyte },
  deleteJob: { method: 'DELETE', requestClass: 'jobCare', deadlineMs: 10_000, maxBodyBytes: mebibyte },
  listCollectors: { method: 'GET', requestClass: 'listing', deadlineMs: 30_000, maxBodyBytes: 64 * mebibyte },
  listBuilds: { method: 'GET', requestClass: 'listing', deadlineMs: 15_000, maxBodyBytes: 4 * mebibyte },
  getTask: { method: 'GET', requestClass: 'taskStatus', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  createTask: { method: 'POST', requestClass: 'taskCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
} as const satisfies Readonly<Record<string, OperationInfo>>;

export type Operation = keyof typeof operations;
