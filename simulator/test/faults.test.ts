/** Tests the faults in a scenario: which requests they select, and what the client receives. */
import { describe, expect, test } from 'vitest';
import { type FaultKind, type FaultScenario, faultKinds, type Scenario } from '../scenario/scenario.ts';
import { first, minute, oldVersion, root, SimulatedService, target, threeCollectors } from './simulated-service.ts';

const withFault = (fault: FaultScenario): Scenario => ({ ...threeCollectors, faults: { trouble: fault } });

/** Returns a valid fault of the given kind. */
function sample(kind: FaultKind): FaultScenario {
  switch (kind) {
    case 'status':
      return { kind, status: 503 };
    case 'redirect':
      return { kind, to: 'https://elsewhere.example/api' };
    case 'lag':
      return { kind, lag: '1m' };
    case 'unknownState':
      return { kind, state: 'PONDERING' };
    default:
      return { kind };
  }
}

describe('a request with a fault', () => {
  const lost: readonly FaultKind[] = ['reset', 'stall', 'status', 'redirect'];
  /** Kinds of fault that cannot apply to the requests in these tests. */
  const aboutOthers: readonly FaultKind[] = [
    'lag',
    'pendingError',
    'pendingWarning',
    'unknownState',
    'shortPage',
    'cancelJob',
  ];
  const kinds = faultKinds.filter((kind) => !aboutOthers.includes(kind));
  test.each(kinds)('takes effect with the fault %s by default, or as the fault specifies', (kind) => {
    const tasksAfter = (effect?: boolean) => {
      const service = new SimulatedService(withFault({ ...sample(kind), ...(effect === undefined ? {} : { effect }) }));
      service.create(first, target);
      return service.state().tasks.length;
    };
    expect(tasksAfter()).toBe(lost.includes(kind) ? 0 : 1);
    expect(tasksAfter(true)).toBe(1);
    expect(tasksAfter(false)).toBe(0);
  });

  test.each(aboutOthers)('for an upgrade task never has the fault %s', (kind) => {
    const service = new SimulatedService(withFault({ ...sample(kind), effect: false }));
    expect(service.create(first, target).status).toBe(202);
    expect(service.journal[0]).toMatchObject({ fault: null });
  });

  test('has created its task although the response is lost, and the journal contains the task id', () => {
    const service = new SimulatedService(withFault({ kind: 'reset', effect: true }));
    const response = service.hold('POST', root, { body: { collectorId: first, toVersion: target } });
    expect(response.delivery).toEqual({ kind: 'reset' });
    service.release(response, false);
    expect(service.journal[0]).toMatchObject({
      status: 0,
      fault: 'trouble',
      collectorId: String(first),
      taskId: '200001',
    });
    service.elapsedMs = 3 * minute;
    expect(service.version('web-0001')).toBe(target);
  });

  test('is counted with or without effect', () => {
    const service = new SimulatedService(withFault({ kind: 'reset' }));
    service.create(first, target);
    expect(service.state().counters).toMatchObject({ createTaskRequests: 1, tasksAccepted: 0 });
    expect(service.state().collectors[0]).toMatchObject({ createTaskRequests: 1, tasksAccepted: 0 });
  });
});

describe('a fault', () => {
  const get = (fault: FaultScenario, path = 'collectors') => new SimulatedService(withFault(fault)).call('GET', path);

  test.each(['reset', 'stall', 'truncate'] as const)('can %s the response', (kind) => {
    expect(get({ kind }).response.delivery).toEqual({ kind });
  });

  test('can send the response slowly in small pieces', () => {
    expect(get({ kind: 'drip', bytesPerSecond: 3 }).response.delivery).toEqual({ kind: 'drip', bytesPerSecond: 3 });
  });

  test('can delay the response', () => {
    const { response, status } = get({ kind: 'delay', delay: '7s' });
    expect([status, response.delayMs, response.delivery.kind]).toEqual([200, 7_000, 'whole']);
  });

  test('can delay the response by a time within a range, for every kind', () => {
    const { response, status } = get({ kind: 'status', status: 500, delay: ['1s', '2s'] });
    expect(status).toBe(500);
    expect(response.delayMs).toBeGreaterThanOrEqual(1_000);
    expect(response.delayMs).toBeLessThanOrEqual(2_000);
  });

  const statuses: readonly [number, string][] = [
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'notfound'],
    [405, 'method.unsupported'],
    [415, 'contenttype.invalid'],
    [429, 'rate.limit.exceeded'],
    [500, 'internal.error'],
    [503, 'service.unavailable'],
    [502, 'generic'],
  ];
  test.each(statuses)('can return status %i with its code from 7.1', (status, code) => {
    expect(get({ kind: 'status', status }).json).toMatchObject({ status, code });
  });

  test('can return its own code, message and Retry-After', () => {
    const reply = get({ kind: 'status', status: 429, code: 'slow.down', message: 'later', retryAfter: 30 });
    expect(reply.json).toMatchObject({ code: 'slow.down', message: 'later' });
    expect(reply.headers).toMatchObject({ 'retry-after': '30' });
  });

  test("can return a proxy's page, or no body", () => {
    expect(get({ kind: 'status', status: 502, body: 'html' }).text).toContain('<html>');
    expect(get({ kind: 'status', status: 502, body: 'empty' })).toMatchObject({ status: 502, text: '' });
    const headers = { 'retry-after': '30' };
    expect(get({ kind: 'status', status: 503, body: 'html', retryAfter: 30 })).toMatchObject({ headers });
    expect(get({ kind: 'status', status: 503, body: 'empty', retryAfter: 30 })).toMatchObject({ headers });
  });

  test('with status 429 is not counted as an exceeded limit', () => {
    const service = new SimulatedService(withFault({ kind: 'status', status: 429 }));
    service.call('GET', 'targets');
    expect(service.state().counters.rejected429).toBe(0);
  });

  test('can return HTML with status 200', () => {
    expect(get({ kind: 'html' })).toMatchObject({ status: 200, text: expect.stringContaining('<html>') });
  });

  test('can return an empty body', () => {
    expect(get({ kind: 'empty' })).toMatchObject({ status: 200, text: '' });
  });

  test('can change the types of values, but not members and lists', () => {
    const { collectors } = get({ kind: 'wrongTypes' }).json;
    expect(collectors).toHaveLength(3);
    expect(collectors[0]).toMatchObject({ id: [String(first)], name: { text: 'web-0001' }, alive: 'maybe' });
  });

  test('can show an outdated list once', () => {
    const service = new SimulatedService(
      withFault({ kind: 'lag', lag: '10m', operations: ['listCollectors'], nth: [1] }),
    );
    service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    expect(service.names()).toContain('web-0001');
    expect(service.names()).not.toContain('web-0001');
  });
});

describe('a redirect', () => {
  const request = { headers: { host: 'logs.example:8443' } };
  test('to another host keeps path and query', () => {
    const service = new SimulatedService(withFault({ kind: 'redirect', to: 'https://eu.example/api/' }));
    const { status, json, headers } = service.call('GET', 'collectors?limit=5', request);
    expect([status, json.code]).toEqual([301, 'moved']);
    expect(headers['location']).toBe('https://eu.example/api/v1/collectors/upgrades/collectors?limit=5');
  });

  test('to the same host leads to another base path', () => {
    const service = new SimulatedService({
      ...withFault({ kind: 'redirect', to: '/eu/api' }),
      basePaths: ['/api', '/eu/api'],
    });
    const { location } = service.call('GET', 'targets', request).headers;
    expect(location).toBe('https://logs.example:8443/eu/api/v1/collectors/upgrades/targets');
    expect(service.call('GET', new URL(location as string).pathname, request).status).toBe(200);
  });
});

describe('a fault selects requests', () => {
  const struck = (fault: Omit<FaultScenario, 'kind'>, requests: readonly [string, number][]) => {
    const service = new SimulatedService({
      ...threeCollectors,
      users: { simulator: { keys: { simulator: 'simulator-key' } }, other: { keys: { other: 'key' } } },
      faults: { trouble: { kind: 'status', status: 500, ...fault } },
    });
    return requests.map(([what, elapsedMs]) => {
      service.elapsedMs = elapsedMs;
      const reply = what.startsWith('create ')
        ? service.create(Number(what.slice(7)), target)
        : service.call('GET', what.replace('@', ''), what.endsWith('@') ? { credentials: 'other:key' } : {});
      return reply.status === 500;
    });
  };
  const cases: readonly [string, Omit<FaultScenario, 'kind'>, readonly [string, number][], readonly boolean[]][] = [
    [
      'of every kind by default',
      {},
      [
        ['targets', 0],
        ['collectors', 0],
      ],
      [true, true],
    ],
    [
      'by operation',
      { operations: ['listBuilds'] },
      [
        ['targets', 0],
        ['collectors', 0],
      ],
      [true, false],
    ],
    [
      'by user',
      { users: ['other'] },
      [
        ['targets', 0],
        ['targets@', 0],
      ],
      [false, true],
    ],
    [
      'by id of the collector',
      { collectors: [String(first)] },
      [
        [`create ${first}`, 0],
        [`create ${first + 1}`, 0],
        ['targets', 0],
      ],
      [true, false, false],
    ],
    [
      'by name of the collector',
      { collectors: ['*2'] },
      [
        [`create ${first}`, 0],
        [`create ${first + 1}`, 0],
      ],
      [false, true],
    ],
    [
      'by task of the collector',
      { collectors: ['web-0001'], operations: ['getTask'] },
      [
        [`create ${first}`, 0],
        ['200001', 0],
        ['200002', 0],
      ],
      [false, true, false],
    ],
    [
      'by their position: the second and third',
      { nth: [2, 3] },
      [
        ['targets', 0],
        ['targets', 0],
        ['collectors', 0],
        ['targets', 0],
      ],
      [false, true, true, false],
    ],
    [
      'by their position among the requests that match otherwise',
      { nth: [2], operations: ['listBuilds'] },
      [
        ['targets', 0],
        ['collectors', 0],
        ['targets', 0],
      ],
      [false, false, true],
    ],
    [
      'a limited number of times',
      { times: 2 },
      [
        ['targets', 0],
        ['targets', 0],
        ['targets', 0],
      ],
      [true, true, false],
    ],
    [
      'in a period, including its start and excluding its end',
      { from: '1s', until: '2s' },
      [
        ['targets', 999],
        ['targets', 1_000],
        ['targets', 1_999],
        ['targets', 2_000],
      ],
      [false, true, true, false],
    ],
    ['never with probability 0', { probability: 0 }, [['targets', 0]], [false]],
    ['always with probability 1', { probability: 1 }, [['targets', 0]], [true]],
  ];
  test.each(cases)('%s', (_, fault, requests, expected) => {
    expect(struck(fault, requests)).toEqual(expected);
  });

  test('at random, depending on the seed', () => {
    const outcome = (seed: number) => {
      const service = new SimulatedService({ ...withFault({ kind: 'status', status: 500, probability: 0.3 }), seed });
      return Array.from({ length: 300 }, () => service.call('GET', 'targets').status);
    };
    const failures = outcome(1).filter((status) => status === 500).length;
    expect(failures).toBeGreaterThan(60);
    expect(failures).toBeLessThan(120);
    expect(outcome(1)).toEqual(outcome(1));
    expect(outcome(2)).not.toEqual(outcome(1));
  });

  test('only if no earlier fault selects the request', () => {
    const service = new SimulatedService({
      ...threeCollectors,
      faults: { one: { kind: 'status', status: 500, times: 1 }, two: { kind: 'status', status: 503 } },
    });
    expect(['targets', 'targets'].map((path) => service.call('GET', path).status)).toEqual([500, 503]);
    expect(service.journal.map(({ fault }) => fault)).toEqual(['one', 'two']);
  });

  test('only with valid credentials, within the limits, and with a known path', () => {
    const service = new SimulatedService({ ...withFault({ kind: 'reset' }), limits: { requestsPerSecond: 1 } });
    expect(service.call('GET', 'targets', { credentials: 'x:y' }).status).toBe(401);
    expect(service.call('GET', '/nowhere').status).toBe(404);
    expect(service.call('GET', 'targets').status).toBe(429);
  });
});

test('changing a fault restarts its counter, but not the counters of other faults', () => {
  const service = new SimulatedService(withFault({ kind: 'status', status: 500, times: 1 }));
  const status = () => service.call('GET', 'targets').status;
  expect([status(), status()]).toEqual([500, 200]);
  service.patch({ faults: { other: { kind: 'delay', delay: '1s' } } });
  expect(status()).toBe(200);
  service.patch({ faults: { trouble: { status: 503 } } });
  expect([status(), status()]).toEqual([503, 200]);
  service.patch({ faults: { trouble: null } });
  expect(status()).toBe(200);
  expect(service.version('web-0001')).toBe(oldVersion);
});
