/** The operations of the service that this client speaks, by name: labels of metrics, names of boundaries, rows of the outcome table. */
import type { RequestClass } from './request-budget.ts';

export type Operation = 'listCollectors' | 'listBuilds' | 'getTask' | 'createTask';

export interface OperationInfo {
  readonly method: 'GET' | 'POST';
  /** In whose turn its requests stand (protocol B3). */
  readonly requestClass: RequestClass;
  /** From the budget's grant to the last byte of the answer; a drip of bytes does not prolong it. */
  readonly deadlineMs: number;
  /** Longer answers are not read: 1,000 collectors take about 400 KB, and pages may be larger. */
  readonly maxBodyBytes: number;
}

const mebibyte = 1024 * 1024;

export const operations: { readonly [O in Operation]: OperationInfo } = {
  listCollectors: { method: 'GET', requestClass: 'listing', deadlineMs: 30_000, maxBodyBytes: 64 * mebibyte },
  listBuilds: { method: 'GET', requestClass: 'listing', deadlineMs: 15_000, maxBodyBytes: 4 * mebibyte },
  getTask: { method: 'GET', requestClass: 'taskStatus', deadlineMs: 15_000, maxBodyBytes: mebibyte },
  createTask: { method: 'POST', requestClass: 'taskCreation', deadlineMs: 15_000, maxBodyBytes: mebibyte },
};

/** Establishing a connection, through a proxy too, takes no longer. */
export const connectDeadlineMs = 10_000;
