/** What `logfleet export` makes of what an export says of itself. */
import { describe, expect, test } from 'vitest';
import { asLogfleetError, LogfleetError } from '../../../src/base/errors.ts';
import type { LogFields, Logger } from '../../../src/base/log.ts';
import { inFlags, onStdout } from '../../../src/cli/flag-words.ts';
import { logInWords } from '../../../src/cli/log-in-words.ts';
import { SingleHost } from '../../../src/cli/single-host.ts';
import { s3Error } from '../../../src/destination/s3/s3-error.ts';
import { anotherExport } from '../../../src/export/export-health.ts';
import { sampleExport } from './sample-export.ts';

const said = (message: string) => {
  const condition = {
    type: 'Ready',
    status: 'False',
    reason: 'QueryRefused',
    message,
    lastTransitionTime: '',
  } as const;
  return { ...sampleExport(), status: { conditions: [condition] } };
};

test('nobody without a SearchExport is told to write another one', async () => {
  const host = new SingleHost(sampleExport(), { get: async () => undefined });
  await host.writeStatus('SearchExport', said(`It was answered 400; correct the query${anotherExport}`));
  expect(host.resource.status?.conditions?.[0]?.message).toBe('It was answered 400; correct the query.');
});

async function saidBy(
  inWords: ((message: string) => string) | undefined,
  message: string,
): Promise<string | undefined> {
  const host = new SingleHost(sampleExport(), { get: async () => undefined }, inWords);
  await host.writeStatus('SearchExport', said(message));
  return host.resource.status?.conditions?.[0]?.message;
}

describe('an export as a process', () => {
  test.each([
    [
      'flags 1 interval as incomplete, which status.incomplete names.',
      'flags 1 interval as incomplete, as listed below.',
    ],
    ['Mend the query in another SearchExport, or wait.', 'Mend the query, or wait.'],
    [
      'spec.activeDeadlineSeconds is over: nothing more is searched. Raise it to go on.',
      'spec.activeDeadlineSeconds is over: nothing more is searched. Run it again to go on.',
    ],
  ])('says %s as %s', async (message, expected) => {
    expect(await saidBy(undefined, message)).toBe(expected);
  });
});

describe('an export by flags names them', () => {
  test.each([
    [
      'Set spec.incompletePolicy to Keep to keep what was found, flagged, or have it searched anew with the annotation logfleet.dev/requestedAt.',
      'Set --incomplete-policy to Keep to keep what was found, flagged, or run it again.',
    ],
    [
      'spec.limits.maxMessages, 99,000, is reached: nothing more is searched. What is done stays: 99,969 rows are written. Raise it to go on.',
      '--max-messages, 99,000, is reached: nothing more is searched. What is done stays: 99,969 rows are written. Raise it to go on.',
    ],
    [
      'spec.limits.maxBytesScanned is reached: 1k bytes are scanned, and nothing more is searched.',
      '--max-bytes-scanned is reached: 1k bytes are scanned, and nothing more is searched.',
    ],
    [
      'spec.activeDeadlineSeconds is over: nothing more is searched. Raise it to go on.',
      '--active-deadline-seconds is over: nothing more is searched. Run it again to go on.',
    ],
    ['newer than now minus spec.settleDelay: the next', 'newer than now minus --settle-delay: the next'],
    ['write a larger spec.output.maxPartSize', 'write a larger --max-part-size'],
    ['make output.maxPartSize smaller', 'make --max-part-size smaller'],
    [
      'make the bucket, or correct s3.bucket, s3.region and s3.endpoint',
      'make the bucket, or correct -o, --region and --endpoint',
    ],
    ['correct spec.destination.s3', 'correct -o'],
    [
      'There are no credentials: set LOGFLEET_BASE_URL, or write a manifest of Secret default/log-service with baseURL and accessId',
      'There are no credentials: set LOGFLEET_BASE_URL, or name by --secret a file with a Secret of baseURL and accessId',
    ],
    ['https://s3.region.example.com answered', 'https://s3.region.example.com answered'],
    ['getaddrinfo ENOTFOUND s3.example.com', 'getaddrinfo ENOTFOUND s3.example.com'],
    ['getaddrinfo ENOTFOUND s3.local; wait', 'getaddrinfo ENOTFOUND s3.local; wait'],
    ['getaddrinfo ENOTFOUND s3.region.example.com', 'getaddrinfo ENOTFOUND s3.region.example.com'],
    ['connect ECONNREFUSED s3.bucket-store:9000', 'connect ECONNREFUSED s3.bucket-store:9000'],
    [
      'the query aggregates: write requiresRawMessages: true, or results: Records',
      'the query aggregates: write --results Records',
    ],
    ['correct s3.endpoint.', 'correct --endpoint.'],
  ])('%s: %s', async (message, expected) => {
    expect(await saidBy(inFlags, message)).toBe(expected);
  });

  test('in its log, too', () => {
    const told: unknown[] = [];
    const record = (_: string, fields?: LogFields) => told.push(fields);
    const log: Logger = { debug: record, info: record, warn: record, error: record, with: () => log };
    const host = new SingleHost(sampleExport(), { get: async () => undefined }, inFlags);
    const words = logInWords(log, (message) => host.inWords(message));
    const cause = new Error('of the store');
    const error = new LogfleetError({
      ...{ code: 'destination.full', handling: { kind: 'backoff' }, reason: 'DestinationFull', cause },
      message: 'make output.maxPartSize smaller',
    });
    words.with({ stage: 'loading' }).warn('a step of the export failed', { key: 'a', error });
    expect(told).toMatchObject([{ key: 'a', error: { message: 'make --max-part-size smaller' } }]);
    const { code, handling, reason } = error;
    expect(told).toMatchObject([{ error: { code, handling, reason, cause } }]);
    const bug = asLogfleetError(new TypeError('output.format is undefined'));
    words.error('failed', { error: bug });
    expect(told[1]).toEqual({ error: bug });
  });

  test('and whose credentials a store refuses', async () => {
    const { message } = s3Error('write a to s3://b', { name: 'InvalidAccessKeyId', message: 'unknown' });
    expect(await saidBy(inFlags, message)).toMatch(
      /; correct what the environment gives \(AWS_ACCESS_KEY_ID and its like\)$/,
    );
  });

  test.each([
    [
      '300,000 rows are in 4 files, and the manifest proves that these are all. No page of the service describes "a" of spec.output.fields: look',
      '300,000 rows go to stdout, and it is proven that these are all. No page of the service describes "a" of --fields: look',
    ],
    [
      '1 row is in 1 file, and the manifest proves that these are all.',
      '1 row goes to stdout, and it is proven that these are all.',
    ],
    [
      '5 rows are in 1 file; the manifest flags 1 interval as incomplete, which status.incomplete names.',
      '5 rows go to stdout, with 1 interval incomplete, as listed below.',
    ],
  ])('and speaks of no files where rows go to stdout: %s', async (message, expected) => {
    expect(await saidBy((each) => onStdout(inFlags(each)), message)).toBe(expected);
  });

  test('and promises nothing of rows that were to go to stdout', async () => {
    const message =
      'spec.limits.maxMessages, 99,000, is reached: nothing more is searched. What is done stays: 99,969 rows are written. Raise it to go on.';
    expect(await saidBy((each) => onStdout(inFlags(each)), message)).toBe(
      '--max-messages, 99,000, is reached: nothing more is searched. No row has gone to stdout: rows go there once all are there. Raise it, and the export begins anew.',
    );
  });
});
