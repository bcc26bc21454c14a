import { generate } from 'selfsigned';
import { describe, expect, test } from 'vitest';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { renderExplanation } from '../../../src/api/finding.ts';
import { renderPath } from '../../../src/api/json-path.ts';

const { cert } = await generate([{ name: 'commonName', value: 'test' }], { algorithm: 'sha256' });
const whole = { baseURL: 'https://api.example.com/api', accessId: 'suABC', accessKey: 'canary-key' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

const say = (secret: object) =>
  checkCredentialsSecret(secret).map(
    (finding) => `${finding.severity} ${renderPath(finding.path)}: ${renderExplanation(finding)}`,
  );

describe('a valid Secret', () => {
  test.each([
    ['as text', { stringData: whole }],
    [
      'in base64',
      { data: Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, base64(`${value}\n`)])) },
    ],
    ['in both, where the text takes precedence', { data: { baseURL: base64('http://old') }, stringData: whole }],
    [
      'with all allowed keys',
      {
        stringData: {
          ...whole,
          'ca.crt': cert,
          allowedHosts: 'api.eu.example.com, api.us.example.com:8443',
          user: 'robot',
          requestsPerSecond: '0.5',
          maxConcurrentRequests: '10',
        },
      },
    ],
    ['with optional keys left empty', { stringData: { ...whole, user: '', 'ca.crt': '\n' } }],
  ])('%s has no findings', (_, secret) => {
    expect(say(secret)).toEqual([]);
  });
});

describe('a Secret that is invalid', () => {
  test.each<[string, object, ...string[]]>([
    [
      'an empty one',
      {},
      'error data.baseURL: is missing',
      'error data.accessId: is missing',
      'error data.accessKey: is missing',
    ],
    [
      'a misspelt key',
      { ...whole, accesskey: 'x' },
      'warning stringData.accesskey: logfleet has no such key; did you mean accessKey?',
    ],
    [
      'a key that logfleet does not use',
      { ...whole, kubeconfig: 'x' },
      'warning stringData.kubeconfig: logfleet has no such key; the known keys are baseURL',
    ],
    [
      'plain HTTP',
      { ...whole, baseURL: 'http://api.example.com/api' },
      'error stringData.baseURL: starts with http://, but',
    ],
    ['no address', { ...whole, baseURL: 'api.example.com' }, 'error stringData.baseURL: is not an address'],
    [
      'credentials in the address',
      { ...whole, baseURL: 'https://a:canary-key@h/api' },
      'error stringData.baseURL: contains a user name or password; put the user name and password in accessId and accessKey',
    ],
    [
      'a query in the address',
      { ...whole, baseURL: 'https://h/api?x=1' },
      'error stringData.baseURL: has a query or a fragment',
    ],
    [
      'a version in the address',
      { ...whole, baseURL: 'https://h/api/v1' },
      'error stringData.baseURL: continues after its /api prefix',
    ],
    ['a colon in the ID', { ...whole, accessId: 'a:b' }, 'error stringData.accessId: contains a colon'],
    ['an empty key', { ...whole, accessKey: ' ' }, 'error stringData.accessKey: is empty'],
    ['a number instead of a string', { ...whole, accessId: 7 }, 'error stringData.accessId: must be a string'],
    ['no certificate', { ...whole, 'ca.crt': 'canary-key' }, 'error stringData[ca.crt]: contains no certificate'],
    [
      'a broken certificate',
      { ...whole, 'ca.crt': '-----BEGIN CERTIFICATE-----\ncanary-key\n-----END CERTIFICATE-----' },
      'error stringData[ca.crt]: contains an invalid certificate',
    ],
    [
      'many certificates that have no end marker',
      { ...whole, 'ca.crt': '-----BEGIN CERTIFICATE-----'.repeat(30_000) },
      'error stringData[ca.crt]: contains an invalid certificate',
    ],
    [
      'many slashes in the address',
      { ...whole, baseURL: `https://h${'/'.repeat(800_000)}v1` },
      'error stringData.baseURL: continues after its /api prefix',
    ],
    [
      'no host',
      { ...whole, allowedHosts: 'a.example.com http://b' },
      'error stringData.allowedHosts: has an entry that is not a host',
    ],
    ['no share', { ...whole, requestsPerSecond: '0' }, 'error stringData.requestsPerSecond: is not a number above 0'],
    [
      'half a request',
      { ...whole, maxConcurrentRequests: '1.5' },
      'error stringData.maxConcurrentRequests: is not a whole number of requests from 2 to 10',
    ],
    [
      'a single request, which a slow page could block for polls',
      { ...whole, maxConcurrentRequests: '1' },
      'error stringData.maxConcurrentRequests: is not a whole number of requests from 2 to 10',
    ],
    ['two requests', { ...whole, maxConcurrentRequests: '2' }],
    [
      'a share that is too large',
      { ...whole, requestsPerSecond: '5' },
      "warning stringData.requestsPerSecond: requestsPerSecond exceeds the service's limit",
    ],
  ])('%s', (_, members: object, ...expected: string[]) => {
    const said = say(Object.keys(members).length === 0 ? {} : { stringData: members });
    expect(said).toEqual(expected.map((text) => expect.stringContaining(text)));
    expect(said.join()).not.toContain('canary-key');
  });

  // The base64 text `YWJjZA` lacks the padding `==`.
  test.each(['canary-key!', 'YWJjZA'])('invalid base64: %s', (accessKey) => {
    const data = {
      ...Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, base64(value)])),
      accessKey,
    };
    expect(say({ data })).toEqual([expect.stringContaining('error data.accessKey: is not base64')]);
  });
});
