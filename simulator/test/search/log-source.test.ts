/** Tests the scenario's `logs` member: its messages, and the errors for invalid values. */
import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import type { LogScenario } from '../../scenario/log-scenario.ts';
import { parseMoment } from '../../scenario/log-scenario.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import { ScenarioError } from '../../scenario/scenario-error.ts';
import { parseScenario } from '../../scenario-file.ts';
import { cookieOf, jobs } from '../searching-service.ts';
import { SimulatedService, startMs } from '../simulated-service.ts';

const quick: Scenario = { search: { notStartedFor: '0s', duration: '0s' } };

const serviceWith = (logs?: LogScenario, scenario: Scenario = {}) =>
  new SimulatedService({ ...quick, ...scenario, ...(logs ? { logs } : {}) });

function search(service: SimulatedService, order: object = {}) {
  const body = { query: '*', from: startMs - 48 * hourMs, to: startMs + 48 * hourMs, timeZone: 'UTC', ...order };
  const created = service.call('POST', jobs, { body });
  const under = `${jobs}/${created.json.id}`;
  const headers = { cookie: cookieOf(created) };
  const page = service.call('GET', `${under}/messages?offset=0&limit=10000`, { headers }).json;
  const times: number[] = page.messages.map(({ map }: { map: Record<string, string> }) =>
    Number(map['_messagetime'] ?? map['_messageTime']),
  );
  return { messages: page.messages, times, count: service.call('GET', under, { headers }).json.messageCount as number };
}

describe('log data', () => {
  test('is empty without logs', () => {
    expect(search(serviceWith()).count).toBe(0);
  });

  test('has 100,000 messages on the day before the start by default', () => {
    const service = serviceWith({}, { search: { ...quick.search, messageLimit: 200_000 } });
    expect(search(service).count).toBe(100_000);
    expect(search(service, { from: startMs - 24 * hourMs, to: startMs }).count).toBe(100_000);
  });

  test('can have a total number of messages in a range', () => {
    const { times } = search(serviceWith({ from: '2026-10-31T22:00:00Z', to: '-1h', messages: 500 }));
    expect(times).toHaveLength(500);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(startMs - 2 * hourMs);
    expect(Math.max(...times)).toBeLessThan(startMs - hourMs);
  });

  test('can have a number of messages per second', () => {
    expect(search(serviceWith({ from: '-1h', perSecond: 2 })).count).toBe(7_200);
  });

  test('can have milliseconds with an exact number of messages', () => {
    const logs = { from: '-1h', messages: 300, dense: [{ at: '-30m', count: 200 }] };
    const { times } = search(serviceWith(logs));
    expect(times.filter((atMs) => atMs === startMs - hourMs / 2)).toHaveLength(200);
  });

  test('can have field names in another case', () => {
    const { messages } = search(serviceWith({ messages: 1, fieldCase: 'camel' }));
    expect(messages[0].map).toHaveProperty('_messageTime');
  });

  test("depends on its own seed, or on the scenario's seed", () => {
    const made = (logSeed: number | undefined, seed: number) =>
      search(serviceWith({ messages: 20, ...(logSeed === undefined ? {} : { seed: logSeed }) }, { seed })).messages;
    expect(made(undefined, 1)).toEqual(made(undefined, 1));
    expect(made(undefined, 1)).not.toEqual(made(undefined, 2));
    expect(made(5, 1)).toEqual(made(5, 2));
  });
});

describe('a patch', () => {
  test('changes the messages of later jobs', () => {
    const service = serviceWith({ messages: 10 });
    expect(search(service).count).toBe(10);
    service.patch({ logs: { messages: 20 } });
    expect(search(service).count).toBe(20);
    service.patch({ timeScale: 2 });
    expect(search(service).count).toBe(20);
    service.patch({ logs: null });
    expect(search(service).count).toBe(0);
  });

  test('cannot add files', () => {
    const service = serviceWith({ messages: 10 });
    expect(() => service.patch({ logs: null, seed: 2 })).not.toThrow();
    expect(() => service.patch({ logs: { files: ['a.ndjson'] } })).toThrow(ScenarioError);
  });

  test('with invalid settings changes nothing', () => {
    const service = serviceWith({ messages: 10 });
    expect(() => service.patch({ logs: { from: '+1h' } })).toThrow(ScenarioError);
    expect(search(service).count).toBe(10);
  });
});

describe('logs are refused with', () => {
  const cases: readonly [string, string, string][] = [
    [
      'a text that is not a time',
      'logs: {from: yesterday}',
      's.yaml:1:14: logs.from: "yesterday" is not valid; use a time, such as',
    ],
    ['an empty range', 'logs: {from: -1h, to: -2h}', 's.yaml:1:23: logs.to: is not later than the start of the range'],
    [
      'both messages and perSecond',
      'logs: {messages: 5, perSecond: 1}',
      'logs.perSecond: cannot be combined with messages',
    ],
    [
      'both files and settings of generated messages',
      'logs: {files: [a], messages: 5}',
      'logs.messages: applies only to generated messages; remove it or',
    ],
    ['an empty list of files', 'logs: {files: []}', 'logs.files: [] is not valid; use a list'],
    ['a share above 1', 'logs: {oddShare: 2}', 'logs.oddShare: 2 is not valid; use a number from 0 to 1'],
    [
      'more messages than fit into the range',
      'logs: {from: -1s, messages: 2000000000}',
      'logs.messages: is too large for the range',
    ],
    ['a dense millisecond outside the range', 'logs: {dense: [{at: -48h, count: 1}]}', 'logs.dense: has the time '],
    [
      'messages that are shorter than possible',
      'logs: {size: {largeShare: 0.1, typicalBytes: 400}}',
      's.yaml:1:46: logs.size.typicalBytes: is 400; set 600 to 65536 bytes',
    ],
    [
      'a maximum size that is too small for large messages',
      'logs: {size: {largestBytes: 2000}}',
      's.yaml:1:29: logs.size.largestBytes: is 2000; set 16384 to 1048576 bytes',
    ],
    [
      'messages that are received too late',
      'logs: {receipt: {lateFor: 25h}}',
      's.yaml:1:27: logs.receipt.lateFor: is too long; set at most 24h',
    ],
    [
      'prompt messages that are later than late ones',
      'logs: {receipt: {promptFor: 2h, lateFor: 1h}}',
      's.yaml:1:29: logs.receipt.promptFor: is longer than lateFor; set a shorter duration',
    ],
    [
      'groups of messages that are too large',
      'logs: {crowds: {count: 1001}}',
      's.yaml:1:24: logs.crowds.count: is 1001; set 1 to 1000',
    ],
    ['too many sources', 'logs: {sources: 10001}', 's.yaml:1:17: logs.sources: is 10001; set 1 to 10000'],
    ['an unknown spelling', 'logs: {fieldCase: upper}', 'logs.fieldCase: "upper" is not valid; use one of'],
    ['an event that reads files', 'events: {a: {patch: {logs: {files: [a]}}}}', 'events.a.patch.logs.files: is read'],
  ];
  test.each(cases)('%s', (_, text, problem) => {
    expect(() => parseScenario(text, 's.yaml', startMs)).toThrow(problem);
  });

  test('an invalid setting, which is also refused when the scenario is patched', () => {
    const logs = { from: '-1h', size: { typicalBytes: 400 } };
    expect(() => serviceWith(logs)).toThrow('logs.size.typicalBytes: is 400; set 600 to 65536 bytes');
  });

  test('both files and settings, except the spelling of fields', () => {
    expect(parseScenario('logs: {files: [a], fieldCase: lower}', 's.yaml').logs).toEqual({
      files: ['a'],
      fieldCase: 'lower',
    });
  });
});

describe('times', () => {
  const start = Date.UTC(2026, 10, 1) + 0.5;
  const cases: readonly [number | string, number | undefined][] = [
    [5, 5],
    ['1793534400000', 1_793_534_400_000],
    ['2026-11-01', Date.UTC(2026, 10, 1)],
    ['2026-11-01T12:30', Date.UTC(2026, 10, 1, 12, 30)],
    ['2026-11-01T12:30:15', Date.UTC(2026, 10, 1, 12, 30, 15)],
    ['2026-11-01T12:30:15.250Z', Date.UTC(2026, 10, 1, 12, 30, 15, 250)],
    ['2026-11-01T12:30:15+02:00', Date.UTC(2026, 10, 1, 10, 30, 15)],
    ['-90m', Date.UTC(2026, 10, 1) - 90 * 60_000],
    ['+1h', Date.UTC(2026, 10, 1) + hourMs],
    ['-0s', Date.UTC(2026, 10, 1)],
    ['2026-13-01', undefined],
    ['-1 hour', undefined],
    ['1h', undefined],
    ['', undefined],
  ];
  test.each(cases)('%j', (written, atMs) => {
    expect(parseMoment(written, start)).toBe(atMs);
  });
});
