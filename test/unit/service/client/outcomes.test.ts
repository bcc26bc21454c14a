/** Each operation × each outcome: what the caller gets, how often the request went out, and how the budget's slots ended. */
import { describe, expect, test } from 'vitest';
import { type Operation, operations } from '../../../../src/service/operation.ts';
import { type Outcome, outcomes, taskRefusals, treatmentOf } from '../../../../src/service/outcome.ts';
import { accessKey, calls, failureOn, goodBodies, harness, settled } from './harness.ts';
import type { Step } from './scripted-transport.ts';

const html = '<html><body>Bad gateway</body></html>';
const refusal = (code: string): Step => ({
  kind: 'answer',
  status: 400,
  body: `{"status":400,"id":"AAAAA-BBBBB-CCCCC","code":"searchjob.${code}","message":"no ${accessKey}"}`,
});

/** A script that ends in each outcome; those of 7.5 exist for creations only. */
const scripts: { readonly [O in Outcome]: readonly Step[] } = {
  nameNotFound: [{ kind: 'noConnection', failure: 'nameNotFound' }],
  refused: [{ kind: 'noConnection', failure: 'refused' }],
  notReachable: [{ kind: 'unwritten', failure: 'connectionLost' }],
  proxyFailed: [{ kind: 'noConnection', failure: 'proxyFailed' }],
  tlsFailed: [{ kind: 'noConnection', failure: 'tlsFailed' }],
  certificateUnknown: [{ kind: 'noConnection', failure: 'certificateUnknown' }],
  certificateExpired: [{ kind: 'noConnection', failure: 'certificateExpired' }],
  certificateForAnother: [{ kind: 'noConnection', failure: 'certificateForAnother' }],
  closed: [{ kind: 'unwritten', failure: 'closed' }],
  connectTimeout: [{ kind: 'noConnection' }],
  withdrawn: [{ kind: 'noConnection' }],
  connectionLost: [{ kind: 'written', failure: 'connectionLost' }],
  timeout: [{ kind: 'written' }],
  abandoned: [{ kind: 'written' }],
  answerTooLarge: [{ kind: 'written', failure: 'answerTooLarge' }],
  answerMalformed: [{ kind: 'written', failure: 'answerMalformed' }],
  answerInvalid: [{ kind: 'answer', status: 200, body: html }],
  redirectNotAllowed: [{ kind: 'answer', status: 301, headers: { location: 'https://evil.test/api/v1/x' } }],
  redirectInCircles: [{ kind: 'answer', status: 302, headers: { location: '/api/again' } }],
  badRequest: [{ kind: 'answer', status: 400, body: '{"code":"limit.too.large"}' }],
  unauthorized: [{ kind: 'answer', status: 401, body: '{"code":"unauthorized"}' }],
  forbidden: [{ kind: 'answer', status: 403 }],
  notFound: [{ kind: 'answer', status: 404 }],
  methodUnsupported: [{ kind: 'answer', status: 405 }],
  contentTypeInvalid: [{ kind: 'answer', status: 415 }],
  rateLimited: [{ kind: 'answer', status: 429, headers: { 'retry-after': '7' } }],
  clientError: [{ kind: 'answer', status: 418 }],
  requestTimeout: [{ kind: 'answer', status: 408 }],
  internalError: [{ kind: 'answer', status: 500, body: html }],
  unavailable: [{ kind: 'answer', status: 503 }],
  serverError: [{ kind: 'answer', status: 502, body: html }],
  unexpectedStatus: [{ kind: 'answer', status: 304 }],
  'collector.invalid': [refusal('collector.invalid')],
  'collector.type.invalid': [refusal('collector.type.invalid')],
  'collector.not.alive': [refusal('collector.not.alive')],
  'collector.in.upgrading': [refusal('collector.in.upgrading')],
  'collector.version.invalid': [refusal('collector.version.invalid')],
};

/** What must come of it, in the words of the protocol and not of the code: [reason, handling, effect of a creation, writes of a read]. */
const expected: { readonly [O in Outcome]: readonly [string, string, 'none' | 'unknown', number] } = {
  nameNotFound: ['ServiceUnreachable', 'backoff', 'none', 0],
  refused: ['ServiceUnreachable', 'backoff', 'none', 0],
  notReachable: ['ServiceUnreachable', 'backoff', 'none', 0],
  proxyFailed: ['ServiceUnreachable', 'backoff', 'none', 0],
  tlsFailed: ['ServiceUnreachable', 'backoff', 'none', 0],
  certificateUnknown: ['CertificateNotTrusted', 'stall', 'none', 0],
  certificateExpired: ['CertificateNotTrusted', 'stall', 'none', 0],
  certificateForAnother: ['CertificateNotTrusted', 'stall', 'none', 0],
  closed: ['ClientClosed', 'backoff', 'none', 0],
  connectTimeout: ['ServiceUnreachable', 'backoff', 'none', 0],
  withdrawn: ['CallAborted', 'backoff', 'none', 0],
  connectionLost: ['ServiceUnreachable', 'backoff', 'unknown', 3],
  timeout: ['ServiceUnreachable', 'backoff', 'unknown', 1],
  abandoned: ['CallAborted', 'backoff', 'unknown', 1],
  answerTooLarge: ['AnswerInvalid', 'backoff', 'unknown', 1],
  answerMalformed: ['AnswerInvalid', 'backoff', 'unknown', 1],
  answerInvalid: ['AnswerInvalid', 'backoff', 'unknown', 1],
  redirectNotAllowed: ['RedirectNotAllowed', 'stall', 'none', 1],
  redirectInCircles: ['RedirectNotAllowed', 'stall', 'none', 4],
  badRequest: ['RequestRefused', 'backoff', 'none', 1],
  unauthorized: ['Unauthorized', 'stall', 'none', 2],
  forbidden: ['Forbidden', 'stall', 'none', 1],
  notFound: ['AddressInvalid', 'stall', 'none', 1],
  methodUnsupported: ['AddressInvalid', 'stall', 'none', 1],
  contentTypeInvalid: ['RequestRefused', 'stall', 'none', 1],
  rateLimited: ['RateLimited', 'retryAfter', 'none', 1],
  clientError: ['RequestRefused', 'backoff', 'none', 1],
  requestTimeout: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  internalError: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  unavailable: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  serverError: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  unexpectedStatus: ['AnswerInvalid', 'backoff', 'unknown', 1],
  'collector.invalid': ['CollectorRefused', 'wait', 'none', 1],
  'collector.type.invalid': ['CollectorRefused', 'wait', 'none', 1],
  'collector.not.alive': ['CollectorRefused', 'wait', 'none', 1],
  'collector.in.upgrading': ['CollectorRefused', 'wait', 'none', 1],
  'collector.version.invalid': ['CollectorRefused', 'wait', 'none', 1],
};

const names = Object.keys(operations) as Operation[];
const isRefusal = (outcome: Outcome) => (taskRefusals as readonly string[]).includes(outcome);
const byCaller: ReadonlySet<Outcome> = new Set(['withdrawn', 'abandoned']);

describe.each(names)('%s', (operation) => {
  const own = outcomes.filter(
    (outcome) => !byCaller.has(outcome) && (operation === 'createTask' || !isRefusal(outcome)),
  );
  const task = (outcome: Outcome) => operation === 'getTask' && outcome === 'notFound';

  test.each(own)('%s', async (outcome) => {
    const { error, harness: world } = await failureOn(operation, scripts[outcome]);
    const [reason, handling, creationEffect, readWrites] = expected[outcome];
    const creating = operation === 'createTask';
    expect(error.code).toBe(`service.${outcome}`);
    expect(error.reason).toBe(task(outcome) ? 'TaskNotFound' : reason);
    expect(error.handling.kind).toBe(task(outcome) ? 'wait' : handling);
    expect(error.effect).toBe(creating ? creationEffect : 'none');
    // A creation goes out once, and again only where a redirect sends it.
    const writes = creating && outcome !== 'redirectInCircles' ? Math.min(1, readWrites) : readWrites;
    expect(world.transport.written).toHaveLength(writes);
    expect(world.budget.started).toBe(writes);
    expect(world.budget.open).toBe(0);
    expect(error.sentAtMs === undefined).toBe(writes === 0);
    expect(error.message).not.toContain(accessKey);
  });

  test('an abort before the write leaves nothing sent', async () => {
    const { clock, client, budget } = harness(scripts.withdrawn);
    const controller = new AbortController();
    const call = calls[operation](client, { signal: controller.signal });
    clock.after(10, () => controller.abort());
    expect(await settled(clock, call)).toMatchObject({
      code: 'service.withdrawn',
      effect: 'none',
      reason: 'CallAborted',
    });
    expect(budget.requests).toHaveLength(0);
  });

  test('an abort after the write keeps its place in the budget (B2)', async () => {
    const { clock, client, budget } = harness(scripts.abandoned);
    const controller = new AbortController();
    const call = calls[operation](client, { signal: controller.signal });
    clock.after(10, () => controller.abort());
    const effect = operation === 'createTask' ? 'unknown' : 'none';
    expect(await settled(clock, call)).toMatchObject({ code: 'service.abandoned', effect });
    expect(budget.ends).toEqual([{ kind: 'abandoned' }]);
  });

  test('a time-out keeps its place in the budget, a reset gives it back', async () => {
    const late = await failureOn(operation, scripts.timeout);
    expect(late.harness.budget.ends).toEqual([{ kind: 'abandoned' }]);
    const reset = await failureOn(operation, scripts.connectionLost);
    expect(reset.harness.budget.ends.every(({ kind }) => kind === 'broken')).toBe(true);
  });

  test.each([
    ['nothing', ''],
    ['half a document', goodBodies[operation].slice(0, -3)],
    ['another type', '{"collectors":7,"targets":"x","upgrade":[],"id":{}}'],
    ['null', 'null'],
    ['an empty object', '{}'],
  ])('an answer of %s cannot be read', async (_name, body) => {
    const { error } = await failureOn(operation, [{ kind: 'answer', status: 200, body }]);
    expect(error.code).toBe('service.answerInvalid');
    expect(error.status).toBe(200);
  });
});

test('reads get what they asked for after a reset or a spurious 401, and stay within their tries', async () => {
  const good: Step = { kind: 'answer', status: 200, body: goodBodies.listBuilds };
  const { clock, client, transport } = harness([
    { kind: 'written', failure: 'connectionLost' },
    { kind: 'answer', status: 401 },
    good,
  ]);
  await expect(settled(clock, client.listBuilds())).resolves.toMatchObject({
    value: [{ version: '1.2-3', latest: true }],
  });
  expect(transport.written).toHaveLength(3);
});

test('Retry-After is given to the caller, in seconds or as a date; nobody sleeps through it', async () => {
  const inSeconds = await failureOn('createTask', [{ kind: 'answer', status: 429, headers: { 'retry-after': '30' } }]);
  expect(inSeconds.error.handling).toEqual({ kind: 'retryAfter', delayMs: 30_000 });
  expect(inSeconds.harness.budget.ends).toMatchObject([{ kind: 'answered', status: 429, retryAfterMs: 30_000 }]);
  const date = new Date(inSeconds.harness.clock.now() + 5_000).toUTCString();
  const asDate = await failureOn('listBuilds', [{ kind: 'answer', status: 503, headers: { 'retry-after': date } }]);
  expect(asDate.error.handling).toEqual({ kind: 'retryAfter', delayMs: 5_000 });
});

test.each([
  [
    '{"id":"X","errors":[{"code":"searchjob.collector.not.alive","message":"asleep"}]}',
    'collector.not.alive',
    'asleep',
  ],
  ['{"status":400,"id":"X","code":"in.upgrading","message":"busy"}', 'collector.in.upgrading', 'busy'],
  ['{"code":"COLLECTOR.VERSION.INVALID"}', 'collector.version.invalid', '400'],
])('an error body %s is understood', async (body, outcome, inMessage) => {
  const { error } = await failureOn('createTask', [{ kind: 'answer', status: 400, body }]);
  expect(error).toMatchObject({ code: `service.${outcome}`, serviceCode: outcome });
  expect(error.message).toContain(inMessage);
});

test('a code that fits several identifiers stays what it is', async () => {
  const { error } = await failureOn('createTask', [{ kind: 'answer', status: 400, body: '{"code":"invalid"}' }]);
  expect(error).toMatchObject({ code: 'service.badRequest', serviceCode: 'invalid' });
});

test('no row lets a request with an unknown effect be sent again', () => {
  for (const operation of names) {
    for (const outcome of outcomes) {
      const { effect, again } = treatmentOf(operation, outcome);
      expect(effect === 'unknown' || operation === 'createTask' ? again : 0).toBe(0);
    }
  }
});
