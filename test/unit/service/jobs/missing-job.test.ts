/**
 * Tests which cause the client reports if the service does not know a search job (sections 7.3, 10.2, 3.1 and 5.3 of
 * docs/service.md).
 */
import { expect, test } from 'vitest';
import { type JobFacts, missingJob } from '../../../../src/service/requests/missing-job.ts';
import type { RequestFailure } from '../../../../src/service/requests/request-failure.ts';

const hour = 3_600_000;

const facts: JobFacts = {
  createdAtMs: 0,
  heardAtMs: undefined,
  isDeleted: false,
  isDeletion: false,
  hadCookie: true,
  hasCookie: true,
  isAstray: false,
  sentAtMs: 0,
};
type ChangedFacts = Partial<JobFacts>;
const heard = (heardAtMs: number): ChangedFacts => ({ heardAtMs });
const noCookie: ChangedFacts = { hadCookie: false, hasCookie: false };

const cases: readonly [string, ChangedFacts, number, RequestFailure][] = [
  ['right after its creation', {}, 300, 'jobNotKnownYet'],
  ['within the grace period for replicas', {}, 9_999, 'jobNotKnownYet'],
  ['right after another replica knew it', heard(2_000), 3_999, 'jobNotKnownYet'],
  ['within the grace period, but found by the service a moment ago', heard(3_000), 4_000, 'jobGone'],
  ['within the grace period, without a cookie', noCookie, 5_000, 'jobNotKnownYet'],
  ['after a deletion by this client, in any case', { isDeleted: true, ...noCookie }, 300, 'jobDeleted'],
  ['a deletion right after the creation', { isDeletion: true }, 300, 'jobNotKnownYet'],
  ['a deletion right after another replica knew it', { isDeletion: true, ...heard(2_000) }, 3_999, 'jobNotKnownYet'],
  ['a second deletion', { isDeletion: true, isDeleted: true }, 300, 'jobDeleted'],
  ['a later deletion, in any case', { isDeletion: true, ...noCookie }, 10_000, 'jobDeleted'],
  ['redirected away from its cookies', { hasCookie: false, isAstray: true }, 300, 'jobCookieMissing'],
  [
    'redirected away from its cookies by its deletion',
    { isDeleted: true, hasCookie: false, isAstray: true },
    300,
    'jobCookieMissing',
  ],
  ['redirected with its cookies', { ...heard(60_000), isAstray: true }, 61_000, 'jobGone'],
  ['never found, without a cookie', noCookie, 10_000, 'jobCookieMissing'],
  ['not found for a long time, without a cookie', noCookie, 50_000, 'jobCookieMissing'],
  ['known until its cookie expired', { ...heard(60_000), hasCookie: false }, 61_000, 'jobCookieMissing'],
  ['known without a cookie, so no cookie is missing', { ...noCookie, ...heard(60_000) }, 61_000, 'jobGone'],
  ['after 20 s of silence', heard(60_000), 80_000, 'jobSilenced'],
  ['never found with its cookie, and silent', {}, 20_000, 'jobSilenced'],
  ['after eight hours, and not silent', heard(8 * hour - 5_000), 8 * hour, 'jobTimedOut'],
  ['after eight hours, and silent', heard(8 * hour - 25_000), 8 * hour, 'jobSilenced'],
  ['during its life', heard(60_000), 65_000, 'jobGone'],
];

test.each(cases)('%s', (_name, change, sentAtMs, failure) => {
  expect(missingJob({ ...facts, ...change, sentAtMs }).failure).toBe(failure);
});

test('the message about a lost job contains the time since its last response', () => {
  expect(missingJob({ ...facts, ...heard(60_000), sentAtMs: 91_500 }).detail).toContain('31.5 s');
});
