/** Tests that apply to all operations: credentials, generic errors and the format of errors. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../scenario/scenario.ts';
import { first, type RequestOptions, root, SimulatedService, target, threeCollectors } from './simulated-service.ts';

const scenario: Scenario = {
  ...threeCollectors,
  users: {
    ann: { keys: { a1: 'secret', a2: 'se:cret' } },
    bob: { keys: { b1: 'secret' }, forbidden: true },
    cid: { keys: { c1: 'secret' }, forbidden: ['createTask'] },
    dee: { keys: { d1: 'secret' }, groups: ['none'] },
  },
  groups: { ...threeCollectors.groups, none: { count: 0, version: target } },
};

describe('credentials (5)', () => {
  const cases: readonly [string, RequestOptions, number][] = [
    ['with the right key get 200', { credentials: 'a1:secret' }, 200],
    ['with a colon in the key get 200', { credentials: 'a2:se:cret' }, 200],
    ['with a wrong key get 401', { credentials: 'a1:wrong' }, 401],
    ['with the key of another id get 401', { credentials: 'a2:secret' }, 401],
    ['with an unknown id get 401', { credentials: 'zz:secret' }, 401],
    ['without a colon get 401', { credentials: 'a1' }, 401],
    ['of another scheme get 401', { headers: { authorization: 'Bearer a1' } }, 401],
    ['that are missing get 401', { headers: { authorization: '' } }, 401],
    ['of a forbidden account get 403 (5.4)', { credentials: 'b1:secret' }, 403],
    ['of an account with another forbidden operation get 200', { credentials: 'c1:secret' }, 200],
  ];
  test.each(cases)('%s', (_, options, status) => {
    expect(new SimulatedService(scenario).call('GET', 'targets', options).status).toBe(status);
  });

  test('get 403 only for forbidden operations', () => {
    const reply = new SimulatedService(scenario).call('POST', root, {
      credentials: 'c1:secret',
      body: { collectorId: first, toVersion: target },
    });
    expect(reply.json).toMatchObject({ status: 403, code: 'forbidden' });
  });

  test("show only the collectors in the user's groups, and their tasks (7.5)", () => {
    const service = new SimulatedService(scenario);
    const credentials = 'd1:secret';
    expect(service.call('GET', 'collectors', { credentials: 'a1:secret' }).json.collectors).toHaveLength(3);
    expect(service.call('GET', 'collectors', { credentials }).json.collectors).toEqual([]);
    const body = { collectorId: first, toVersion: target };
    const { id } = service.call('POST', root, { credentials: 'a1:secret', body }).json;
    expect(service.call('GET', id, { credentials }).json).toMatchObject({ status: 404, code: 'notfound' });
    const task = service.call('POST', root, { credentials, body });
    expect(task.json.code).toBe('collector.invalid');
  });
});

describe('a request is refused with a generic error (7.1)', () => {
  const json = { collectorId: first, toVersion: target };
  const cases: readonly [string, string, string, RequestOptions, number, string][] = [
    ['for an unknown path', 'GET', '/api/v1/nowhere', {}, 404, 'notfound'],
    ['for another version of the API (9.1)', 'GET', '/api/v2/collectors/upgrades/targets', {}, 404, 'notfound'],
    ['without the base path', 'GET', '/v1/collectors/upgrades/targets', {}, 404, 'notfound'],
    ['for a path that is too long', 'GET', 'targets/1', {}, 404, 'notfound'],
    ['for a path with a slash at its end', 'GET', `${root}/`, {}, 404, 'notfound'],
    ['for GET on the path that creates tasks', 'GET', root, {}, 405, 'method.unsupported'],
    ['for DELETE on a task', 'DELETE', '200001', {}, 405, 'method.unsupported'],
    ['for POST on the list of collectors', 'POST', 'collectors', { body: {} }, 405, 'method.unsupported'],
    ['for POST on the list of builds', 'POST', 'targets', { body: {} }, 405, 'method.unsupported'],
    [
      'for an Accept header without JSON',
      'GET',
      'targets',
      { headers: { accept: 'text/html' } },
      415,
      'contenttype.invalid',
    ],
    [
      'for another Content-Type than JSON',
      'POST',
      root,
      { body: json, headers: { 'content-type': 'text/plain' } },
      415,
      'contenttype.invalid',
    ],
    [
      'without a Content-Type',
      'POST',
      root,
      { body: json, headers: { 'content-type': '' } },
      415,
      'contenttype.invalid',
    ],
    ['for a body that is not JSON', 'POST', root, { body: '{"collectorId":' }, 400, 'body.invalid'],
    ['for a body that is not an object', 'POST', root, { body: '[]' }, 400, 'body.invalid'],
  ];
  test.each(cases)('%s', (_, method, path, options, status, code) => {
    const reply = new SimulatedService(threeCollectors).call(method, path, options);
    expect(reply.status).toBe(status);
    expect(reply.json).toMatchObject({ status, code, id: expect.stringMatching(/^[A-Z0-9]{5}(-[A-Z0-9]{5}){2}$/) });
  });

  const accepted: readonly [string, string | undefined][] = [
    ['JSON', 'application/json'],
    ['anything', '*/*'],
    ['a list that includes JSON', 'text/html, application/json;q=0.5'],
    ['any application type', 'application/*'],
    ['JSON in capitals', 'Application/JSON'],
  ];
  test.each(accepted)('not for an Accept header with %s', (_, accept) => {
    const headers = accept === undefined ? {} : { accept };
    expect(new SimulatedService(threeCollectors).call('GET', 'targets', { headers }).status).toBe(200);
  });

  test('except with a charset in the Content-Type', () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect(new SimulatedService(threeCollectors).call('POST', root, { body: json, headers }).status).toBe(202);
  });

  test('with status 405 and the allowed method in its headers', () => {
    expect(new SimulatedService(threeCollectors).call('PUT', 'targets').headers).toMatchObject({ allow: 'GET' });
  });
});

describe('an error', () => {
  const id = expect.any(String);
  test('can be a list', () => {
    const service = new SimulatedService({ ...threeCollectors, errors: { shape: 'list', codePrefix: 'upgrade.' } });
    const { json, response } = service.call('GET', '1');
    expect(json).toEqual({ id, errors: [{ code: 'upgrade.notfound', message: expect.any(String) }] });
    expect(response.code).toBe('upgrade.notfound');
  });

  test("can be a proxy's page", () => {
    const reply = new SimulatedService({ ...threeCollectors, errors: { shape: 'html' } }).call('GET', '1');
    expect(reply).toMatchObject({ status: 404, headers: { 'content-type': expect.stringContaining('text/html') } });
    expect(reply.text).toContain('<html>');
  });

  test('can have an empty body', () => {
    const reply = new SimulatedService({ ...threeCollectors, errors: { shape: 'empty' } }).call('GET', '1');
    expect(reply).toMatchObject({ status: 404, text: '' });
  });

  test('has its own id', () => {
    const service = new SimulatedService(threeCollectors);
    const ids = Array.from({ length: 500 }, () => service.call('GET', '1').json.id);
    expect(new Set(ids).size).toBe(500);
  });
});
