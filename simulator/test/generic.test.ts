/** Behaviour of all operations: credentials (5), generic errors (7.1), the version in the path (9.1), and shapes of errors. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../scenario.ts';
import { type CallOptions, first, root, SimulatedService, target, threeCollectors } from './simulated-service.ts';

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

describe('5 credentials', () => {
  const cases: readonly [string, CallOptions, number][] = [
    ['the right key', { credentials: 'a1:secret' }, 200],
    ['a key with a colon', { credentials: 'a2:se:cret' }, 200],
    ['a wrong key', { credentials: 'a1:wrong' }, 401],
    ['the key of another id', { credentials: 'a2:secret' }, 401],
    ['an unknown id', { credentials: 'zz:secret' }, 401],
    ['no colon', { credentials: 'a1' }, 401],
    ['another scheme', { headers: { authorization: 'Bearer a1' } }, 401],
    ['no credentials', { headers: { authorization: '' } }, 401],
    ['a forbidden account (5.4)', { credentials: 'b1:secret' }, 403],
    ['an account with another operation forbidden', { credentials: 'c1:secret' }, 200],
  ];
  test.each(cases)('%s', (_, options, status) => {
    expect(new SimulatedService(scenario).call('GET', 'targets', options).status).toBe(status);
  });

  test('a forbidden operation is refused', () => {
    const reply = new SimulatedService(scenario).call('POST', root, {
      credentials: 'c1:secret',
      body: { collectorId: first, toVersion: target },
    });
    expect(reply.json).toMatchObject({ status: 403, code: 'forbidden' });
  });

  test('a user sees only the collectors of its groups (7.5)', () => {
    const service = new SimulatedService(scenario);
    const credentials = 'd1:secret';
    expect(service.call('GET', 'collectors', { credentials }).json.collectors).toEqual([]);
    const task = service.call('POST', root, { credentials, body: { collectorId: first, toVersion: target } });
    expect(task.json.code).toBe('collector.invalid');
  });
});

describe('7.1 generic errors', () => {
  const json = { collectorId: first, toVersion: target };
  const cases: readonly [string, string, string, CallOptions, number, string][] = [
    ['an unknown path', 'GET', '/api/v1/nowhere', {}, 404, 'notfound'],
    ['another version (9.1)', 'GET', '/api/v2/collectors/upgrades/targets', {}, 404, 'notfound'],
    ['no base path', 'GET', '/v1/collectors/upgrades/targets', {}, 404, 'notfound'],
    ['a longer path', 'GET', 'targets/1', {}, 404, 'notfound'],
    ['a slash at the end', 'GET', `${root}/`, {}, 404, 'notfound'],
    ['reading where one creates', 'GET', root, {}, 405, 'method.unsupported'],
    ['deleting a task', 'DELETE', '200001', {}, 405, 'method.unsupported'],
    ['posting to a list', 'POST', 'collectors', { body: {} }, 405, 'method.unsupported'],
    ['posting to the builds', 'POST', 'targets', { body: {} }, 405, 'method.unsupported'],
    ['another Accept', 'GET', 'targets', { headers: { accept: 'text/html' } }, 415, 'contenttype.invalid'],
    [
      'another Content-Type',
      'POST',
      root,
      { body: json, headers: { 'content-type': 'text/plain' } },
      415,
      'contenttype.invalid',
    ],
    ['no Content-Type', 'POST', root, { body: json, headers: { 'content-type': '' } }, 415, 'contenttype.invalid'],
    ['a body that is no JSON', 'POST', root, { body: '{"collectorId":' }, 400, 'body.invalid'],
    ['a body that is no object', 'POST', root, { body: '[]' }, 400, 'body.invalid'],
  ];
  test.each(cases)('%s', (_, method, path, options, status, code) => {
    const reply = new SimulatedService(threeCollectors).call(method, path, options);
    expect(reply.status).toBe(status);
    expect(reply.json).toMatchObject({ status, code, id: expect.stringMatching(/^[A-Z0-9]{5}(-[A-Z0-9]{5}){2}$/) });
  });

  const accepted: readonly [string, string | undefined][] = [
    ['JSON', 'application/json'],
    ['anything', '*/*'],
    ['a list with JSON in it', 'text/html, application/json;q=0.5'],
    ['any application type', 'application/*'],
    ['capitals', 'Application/JSON'],
  ];
  test.each(accepted)('Accept may name %s', (_, accept) => {
    const headers = accept === undefined ? {} : { accept };
    expect(new SimulatedService(threeCollectors).call('GET', 'targets', { headers }).status).toBe(200);
  });

  test('Content-Type may have a charset', () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect(new SimulatedService(threeCollectors).call('POST', root, { body: json, headers }).status).toBe(202);
  });

  test('405 names the allowed method', () => {
    expect(new SimulatedService(threeCollectors).call('PUT', 'targets').headers).toMatchObject({ allow: 'GET' });
  });
});

describe('shapes of errors', () => {
  const id = expect.any(String);
  test('a list', () => {
    const service = new SimulatedService({ ...threeCollectors, errors: { shape: 'list', codePrefix: 'upgrade.' } });
    const { json, answer } = service.call('GET', '1');
    expect(json).toEqual({ id, errors: [{ code: 'upgrade.notfound', message: expect.any(String) }] });
    expect(answer.code).toBe('upgrade.notfound');
  });

  test('a page of a proxy', () => {
    const reply = new SimulatedService({ ...threeCollectors, errors: { shape: 'html' } }).call('GET', '1');
    expect(reply).toMatchObject({ status: 404, headers: { 'content-type': expect.stringContaining('text/html') } });
    expect(reply.text).toContain('<html>');
  });

  test('an empty body', () => {
    const reply = new SimulatedService({ ...threeCollectors, errors: { shape: 'empty' } }).call('GET', '1');
    expect(reply).toMatchObject({ status: 404, text: '' });
  });

  test('each error has a different id', () => {
    const service = new SimulatedService(threeCollectors);
    const ids = Array.from({ length: 500 }, () => service.call('GET', '1').json.id);
    expect(new Set(ids).size).toBe(500);
  });
});
