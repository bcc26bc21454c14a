/** Tests scenario files, and the positions of errors in invalid files. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { mergePatch } from '../base/merge-patch.ts';
import { mixedFleet } from '../collectors/mixed-fleet.ts';
import { faultKinds, type UpgradeScenario } from '../scenario/scenario.ts';
import { ScenarioError } from '../scenario/scenario-error.ts';
import { scenarioSchema } from '../scenario/scenario-schema.ts';
import { settingsOf, upgradeSettings } from '../scenario/settings.ts';
import { checkScenario } from '../scenario-check.ts';
import { parseScenario } from '../scenario-file.ts';
import { SimulatedService } from './simulated-service.ts';

function problems(text: string): string[] {
  try {
    parseScenario(text, 's.yaml');
    return [];
  } catch (error) {
    if (error instanceof ScenarioError) return error.message.split('\n');
    throw error;
  }
}

describe('a problem is reported with file, line, column, path and remedy, for', () => {
  const cases: readonly [string, string, string][] = [
    [
      'an unknown member',
      'seed: 1\nseeed: 2',
      's.yaml:2:8: seeed: is not a known member; use one of seed, timeScale, ',
    ],
    [
      'an unknown member of a nested object',
      'groups:\n  web: {count: 1, version: 1.2-3, colour: red}',
      's.yaml:2:43: groups.web.colour: is not a known member',
    ],
    [
      'a scenario that is not a map',
      '- 1',
      's.yaml:1:1: the scenario: [1] is not valid; use a map with members from this list: seed, ',
    ],
    ['a wrong type', 'seed: many', 's.yaml:1:7: seed: "many" is not valid; use a whole number'],
    [
      'a text that is not a duration',
      'upgrade: {duration: 3 minutes}',
      's.yaml:1:21: upgrade.duration: "3 minutes" is not valid; use a duration, such as 3m, or a range of two',
    ],
    [
      'a bare number for a duration',
      'list: {lag: 5}',
      's.yaml:1:13: list.lag: 5 is not valid; use a duration, such as 90s, 3m or 1h30m',
    ],
    ['a value that is not in the list of values', 'list: {order: random}', 'use one of id, name, version, shuffled'],
    ['a member that is never omitted', 'task: {omit: [collectorId]}', 'use one of requestTime, message'],
    [
      'a required member that is missing',
      'groups:\n  web: {version: 1.2-3}',
      's.yaml:2:8: groups.web.count: is missing; set it to a whole number from 0 to 1000000',
    ],
    [
      'too many collectors',
      'groups: {web: {count: 99999999999, version: 1.2-3}}',
      's.yaml:1:23: groups.web.count: 99999999999 is not valid; use a whole number from 0 to 1000000',
    ],
    [
      'a share above 1',
      'faults: {a: {kind: reset, probability: 2}}',
      's.yaml:1:40: faults.a.probability: 2 is not valid; use a number from 0 to 1',
    ],
    [
      'a fault of kind status without a status',
      'faults: {a: {kind: status}}',
      'faults.a.status: is missing; set it to an HTTP status from 200 to 599',
    ],
    [
      'a redirect without a target',
      'faults: {a: {kind: redirect}}',
      'faults.a.to: is missing; set it to a path, such as /eu/api',
    ],
    [
      'a lag without a duration',
      'faults: {a: {kind: lag}}',
      'faults.a.lag: is missing; set it to a duration, such as 90s',
    ],
    ['a missing state', 'faults: {a: {kind: unknownState}}', 'faults.a.state: is missing; set it to a string'],
    [
      'a rounded id',
      'ids: {firstCollector: 9007199254740993}',
      's.yaml:1:23: ids.firstCollector: is greater than 2^53, so it was rounded; put it in quotes',
    ],
    [
      'a group without a version',
      'groups:\n  web: {count: 1}',
      's.yaml:2:8: groups.web: has no version; set one, such as version: 19.400-1, or set collectorType: Hosted',
    ],
    [
      'a collector of no group without a version',
      'collectors: {db: {running: false}}',
      'collectors.db: belongs to no group and has no version',
    ],
    [
      'one name in two groups',
      'groups:\n  a: {count: 1, name: x-#, version: 1.2-3}\n  b: {count: 1, name: x-#, version: 1.2-3}',
      's.yaml:3:6: groups.b: x-1 is also in group a; set another name, such as b-####',
    ],
    [
      'shares with a sum above 1',
      'upgrade: {outcomes: [{share: 0.7, end: fail}, {share: 0.7, end: hang}]}',
      'upgrade.outcomes: the shares add up to 1.4; set shares that add up to at most 1',
    ],
    [
      'shares for one build with a sum above 1',
      'upgrade: {outcomes: [{share: 0.7, end: fail}, {share: 0.7, end: hang, toVersion: 19.5-1}]}',
      'upgrade.outcomes: the shares add up to 1.4; set shares that add up to at most 1',
    ],
    [
      'a range the wrong way round',
      'latency: [2s, 1s]',
      's.yaml:1:10: latency: 2s is longer than 1s; put the shorter duration first',
    ],
    [
      'a range of keepAlive the wrong way round',
      'search: {keepAlive: [30s, 20s]}',
      's.yaml:1:21: search.keepAlive: 30s is longer than 20s; put the shorter duration first',
    ],
    ['an access id with a colon', 'users: {a: {keys: {"k:1": s}}}', 'is empty or contains a colon'],
    [
      'an access id of two users',
      'users: {a: {keys: {k: s}}, b: {keys: {k: t}}}',
      'users.b.keys.k: already belongs to user a; use another access ID',
    ],
    [
      'an organisation that does not exist',
      'users: {a: {keys: {k: s}, organisation: nowhere}}\norganisations: {big: {}}',
      's.yaml:1:41: users.a.organisation: there is no organisation nowhere; use one of big',
    ],
    ['a group that is none', 'users: {a: {keys: {k: s}, groups: [web]}}', 'users.a.groups.0: there is no group web'],
    [
      'an event without collectors',
      'events: {a: {setVersion: 1.2-3}}',
      "events.a: selects no collectors; to select all of them, set collectors: ['*']",
    ],
    [
      'a patch with a wrong type',
      'events: {a: {patch: {seed: x}}}',
      's.yaml:1:28: events.a.patch.seed: "x" is not valid; use a whole number',
    ],
    ['no YAML', 'seed: 1: 2', 's.yaml:1:7: '],
  ];
  test.each(cases)('%s', (_, text, problem) => {
    const found = problems(text);
    expect(found.filter((line) => line.includes(problem))).toHaveLength(1);
  });

  test('each of several mistakes', () => {
    expect(problems('seed: x\nlatency: y')).toHaveLength(2);
  });
});

describe('a fault that can never apply is refused, for example', () => {
  const cases: readonly [string, string, string][] = [
    [
      'with operations to which its kind never applies',
      'faults: {a: {kind: shortPage, operations: [getJob]}}',
      's.yaml:1:44: faults.a.operations.0: shortPage never applies to getJob; use one of listMessages, listRecords',
    ],
    [
      'with one such operation among several',
      'faults: {a: {kind: lag, lag: 5s, operations: [getJob, createTask], times: 1}}',
      's.yaml:1:55: faults.a.operations.1: lag never applies to createTask; use one of listCollectors, getJob, ',
    ],
    [
      'with an end before its start',
      'faults: {a: {kind: reset, from: 10s, until: 5s}}',
      's.yaml:1:45: faults.a.until: 5s is not later than from (10s); set a later time',
    ],
    [
      'with an end at its start',
      'faults: {a: {kind: reset, until: 0s}}',
      'faults.a.until: 0s is not later than from (0s); set',
    ],
    [
      'with a user that does not exist',
      'users: {ann: {keys: {k: s}}}\nfaults: {a: {kind: reset, users: [nobody]}}',
      's.yaml:2:35: faults.a.users.0: there is no user nobody; use one of ann',
    ],
    [
      'with a user in a scenario without users',
      'faults: {a: {kind: reset, users: [nobody]}}',
      'faults.a.users.0: there is no user nobody; use one of simulator',
    ],
    [
      'with an empty list of users',
      'faults: {a: {kind: reset, users: []}}',
      'faults.a.users: is empty; list at least one, or remove it',
    ],
    [
      'with an empty list of operations',
      'faults: {a: {kind: reset, operations: []}}',
      'faults.a.operations: is empty; list at least one, or',
    ],
    [
      'with an empty list of positions',
      'faults: {a: {kind: reset, nth: []}}',
      'faults.a.nth: is empty; list at least one, or remove it',
    ],
    [
      'with collectors for operations without one',
      'faults: {a: {kind: reset, operations: [listCollectors, getJob], collectors: [web-*]}}',
      'faults.a.collectors: only requests for upgrade tasks have a collector; use operations from getTask, createTask',
    ],
    [
      'with collectors for a kind that applies to jobs',
      'faults: {a: {kind: cancelJob, collectors: [web-*]}}',
      'faults.a.collectors: only requests for upgrade tasks have a collector, and cancelJob never applies to these requests; remove it',
    ],
    [
      'with queries for operations without one',
      "faults: {a: {kind: reset, operations: [listBuilds], queries: ['*']}}",
      'faults.a.queries: only requests for search jobs have a query; use operations from createJob, getJob, ',
    ],
    [
      'with both queries and collectors',
      "faults: {a: {kind: reset, collectors: [web-*], queries: ['*']}}",
      'faults.a.queries: no request has both a collector and a query; remove one of the two',
    ],
    [
      'with a redirect to the base path of the service',
      'faults: {a: {kind: redirect, to: /api}}',
      "faults.a.to: is the service's only base path; set another path, or add one to basePaths",
    ],
  ];
  test.each(cases)('%s', (_, text, problem) => {
    const found = problems(text);
    expect(found.filter((line) => line.includes(problem))).toHaveLength(1);
    expect(found).toHaveLength(1);
  });

  test('with a patch through the control address', () => {
    const service = new SimulatedService({});
    const fault = { kind: 'lag', lag: '5s', operations: ['createTask'] };
    expect(() => service.patch({ faults: { a: fault } })).toThrow('faults.a.operations.0: lag never applies to');
  });

  test.each([
    'faults: {a: {kind: reset, from: 5s, until: 6s, users: [simulator], operations: [getJob], times: 0}}',
    "users: {ann: {keys: {k: s}}}\nfaults: {a: {kind: cancelJob, users: [ann], queries: ['*'], probability: 0}}",
    'faults: {a: {kind: stall, collectors: [web-*], operations: [listCollectors, getTask]}}',
    'basePaths: [/api, /eu/api]\nfaults: {a: {kind: redirect, to: /api}}',
  ])('but not others: %s', (text) => {
    expect(problems(text)).toEqual([]);
  });
});

describe('valid scenarios', () => {
  test('can be empty', () => {
    expect(problems('')).toEqual([]);
    expect(problems('# only a comment')).toEqual([]);
  });

  test('can have overlapping shares of first attempts', () => {
    expect(problems('upgrade: {outcomes: [{end: fail, attempts: 1}, {share: 0.5, end: hang}]}')).toEqual([]);
  });

  test('can have shares with a sum above 1 for several builds together', () => {
    const outcomes = '[{end: fail, toVersion: 19.5-1}, {share: 0.5, end: hang, toVersion: 19.6-1}]';
    expect(problems(`upgrade: {outcomes: ${outcomes}}`)).toEqual([]);
  });

  const folder = new URL('../../examples/scenarios/', import.meta.url);
  test.each(readdirSync(folder))('examples/scenarios/%s', (name) => {
    const scenario = parseScenario(readFileSync(new URL(name, folder), 'utf8'), name);
    expect(new SimulatedService(scenario).state().collectors.length).toBeGreaterThan(0);
  });
});

test('an empty scenario has the limits of the specification (section 8)', () => {
  const settings = settingsOf({});
  expect(settings.limits).toMatchObject({ requestsPerSecond: 4, concurrentRequests: 10, activeJobs: 200 });
  expect(settings.upgrade.timeoutMs).toBe(30 * 60_000);
  expect(settings.search).toMatchObject({
    keepAlive: { minMs: 20_000, maxMs: 30_000 },
    timeoutMs: 8 * 3_600_000,
    messageLimit: 100_000,
    pages: { maxMessages: 10_000, maxRecords: 10_000, maxBytes: 100_000_000 },
  });
});

test("a group's upgrade settings keep all other settings of the scenario", () => {
  const upgrade = {
    duration: '1m',
    increments: 2,
    notStartedFor: '3s',
    pendingFor: '4s',
    timeout: '5m',
    lockDelay: '6s',
    lockUntil: 'timeout',
    toRunningVersion: 'refuse',
    withoutVersion: 'refuse',
    progressingStatus: 4,
    outcomes: [{ end: 'hang', share: 0.5 }],
  } as const satisfies Required<UpgradeScenario>;
  const common = settingsOf({ upgrade }).upgrade;
  expect(upgradeSettings({}, common)).toEqual(common);
});

describe('docs/simulator.md', () => {
  const page = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text as string);

  test('has examples', () => {
    expect(examples.length).toBeGreaterThan(5);
  });

  test.each(examples)('shows a valid scenario: %#', (text) => {
    expect(problems(text)).toEqual([]);
  });

  test('names every member and every kind of fault', () => {
    const members = (schema: object): string[] =>
      Object.entries(schema).flatMap(([name, value]) => {
        if (typeof value !== 'object' || value === null) return [];
        return [...(name === 'properties' ? Object.keys(value) : []), ...members(value)];
      });
    const names = new Set([...members(scenarioSchema), ...faultKinds]);
    expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the mixed fleet', () => {
  test.each([0, 1, 9, 10, 120, 1_000])('has %i collectors', (size) => {
    expect(new SimulatedService(checkScenario(mixedFleet(size))).state().collectors).toHaveLength(size);
  });

  test('has five old versions and the target, several systems, offline and hosted collectors, and some failures', () => {
    const scenario = mixedFleet(120);
    const service = new SimulatedService(scenario);
    const { collectors } = service.call('GET', 'collectors?limit=1000&toVersion=19.253-26').json;
    const distinct = (member: string) =>
      new Set(collectors.map((collector: Record<string, unknown>) => collector[member]));
    expect(distinct('collectorVersion').size).toBe(6);
    expect(distinct('osName').size).toBeGreaterThanOrEqual(4);
    expect(distinct('timeZone').size).toBeGreaterThanOrEqual(6);
    expect(distinct('alive')).toEqual(new Set([true, false]));
    expect(distinct('collectorType')).toEqual(new Set(['Installable', 'Hosted']));
    const old = service.call('GET', 'collectors?limit=1000').json.collectors;
    for (const { id, collectorType, alive } of old)
      if (alive && collectorType !== 'Hosted') service.accepted(id, '19.500-1');
    service.elapsedMs = 600_000;
    expect(new Set(service.state().tasks.map(({ status }) => status))).toEqual(new Set([2, 3]));
  });

  test('is equal for equal seeds', () => {
    expect(mixedFleet(50, 3)).toEqual(mixedFleet(50, 3));
  });
});

describe('merge patches (RFC 7396, appendix A)', () => {
  const cases: readonly [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  test.each(cases)('%j + %j = %j', (target, patch, merged) => {
    expect(mergePatch(target, patch)).toEqual(merged);
  });
});
