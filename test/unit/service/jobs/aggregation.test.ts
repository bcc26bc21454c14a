/** Tests that the client returns an aggregation's records only if the search job's result is reliable. */
import { describe, expect, test } from 'vitest';
import { type AggregationJob, readAggregation } from '../../../../src/service/jobs/aggregation.ts';
import type { JobProgress } from '../../../../src/service/jobs/job-gathering.ts';

const noTexts: string[] = [];
const finished: JobProgress = {
  state: 'doneGatheringResults',
  messageCount: 7,
  recordCount: 1,
  scannedBytes: undefined,
  errors: noTexts,
  warnings: noTexts,
  isLimitReached: false,
  hasLostStatus: false,
  statuses: 1,
  dateMs: undefined,
};
const records = [new Map([['_count', '7']])];

/**
 * Reads the result of an aggregation. Its search job ends with the status `atEnd`, which changes to `afterwards` while
 * the result is being read.
 */
async function aggregate(atEnd: Partial<JobProgress>, afterwards: Partial<JobProgress> = {}) {
  const events: string[] = [];
  let progress = { ...finished, ...atEnd };
  const job: AggregationJob = {
    id: 'job',
    get progress() {
      return progress;
    },
    whenFinished: async () => progress,
    readRecordPage: async ({ take }) => {
      events.push('read');
      await take({ records, fields: [], warning: undefined });
      progress = { ...progress, ...afterwards };
      return 1;
    },
  };
  const result = await readAggregation(job, new AbortController().signal, () => void events.push('finished'));
  return { result, events };
}

const failed = ['query failed'];
const errors = { kind: 'errors', errors: ['query failed'] };

describe('readAggregation', () => {
  test('returns the records of a search that ended normally', async () => {
    const { result, events } = await aggregate({});
    expect(result).toEqual({ kind: 'records', records, messageCount: 7 });
    expect(events).toEqual(['finished', 'read']);
  });

  test.each<[string, Partial<JobProgress>, unknown]>([
    ['reported an error', { errors: failed }, errors],
    ['lost the response to a status request', { hasLostStatus: true }, undefined],
    ['lost a response and reported an error', { hasLostStatus: true, errors: failed }, errors],
    ['stopped at the message limit', { isLimitReached: true }, undefined],
    ['was cancelled', { state: 'cancelled' }, undefined],
    ['was cancelled with an error', { state: 'cancelled', errors: failed }, errors],
  ])('reads no records of a search that %s', async (_, atEnd, expected) => {
    const { result, events } = await aggregate(atEnd);
    expect(result).toEqual(expected);
    expect(events).toEqual(['finished']);
  });

  test.each<[string, Partial<JobProgress>, unknown]>([
    ['reported an error', { errors: failed }, errors],
    ['lost the response to a status request', { hasLostStatus: true }, undefined],
  ])('drops the records of a search that %s while they were read', async (_, afterwards, expected) => {
    const { result, events } = await aggregate({}, afterwards);
    expect(result).toEqual(expected);
    expect(events).toEqual(['finished', 'read']);
  });

  test('rejects if the service does not report the number of records', async () => {
    await expect(aggregate({ recordCount: undefined })).rejects.toMatchObject({ code: 'job.recordsUncounted' });
  });
});
