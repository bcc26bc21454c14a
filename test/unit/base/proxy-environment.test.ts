/** Tests which proxy is chosen for an origin, and which proxy variables are passed to other processes. */
import { expect, test } from 'vitest';
import { proxyFor, proxyVariables } from '../../../src/base/proxy-environment.ts';

const HTTPS_PROXY = 'http://proxy:3128';

test.each([
  ['https://api.example.com', '', true],
  ['https://api.example.com', '*', false],
  ['https://api.example.com', 'other.org, example.com', false],
  ['https://api.example.com', '.example.com', false],
  ['https://example.com', '.example.com', false],
  ['https://example.com', '*.example.com', true],
  ['https://api.example.com', '*.example.com', false],
  ['https://notexample.com', 'example.com', true],
  ['https://API.Example.com', 'api.EXAMPLE.com', false],
  ['https://api.example.com', 'api.example.com:443', false],
  ['https://api.example.com:8443', 'api.example.com:443', true],
  ['https://10.1.2.3', '10.0.0.0/8', false],
  ['https://11.1.2.3', '10.0.0.0/8', true],
  ['https://api.example.com', '10.0.0.0/8', true],
  ['https://10.1.2.3', '10.0.0.0/99', true],
  ['https://[2001:db8::1]', '2001:db8::/32', false],
  ['https://[2001:db8::1]:8443', '[2001:db8::1]:8443', false],
  ['https://127.0.0.1:8443', '', false],
  ['https://localhost', '', false],
  ['https://[::1]', '', false],
])('%s with NO_PROXY=%s uses the proxy: %s', (origin, NO_PROXY, through) => {
  expect(proxyFor(new URL(origin), { HTTPS_PROXY, NO_PROXY })?.origin).toBe(through ? HTTPS_PROXY : undefined);
});

test('lower-case variables take precedence, and the scheme is optional', () => {
  const environment = { HTTPS_PROXY: 'http://capital:1', https_proxy: 'small:3128' };
  expect(proxyFor(new URL('https://a.test'), environment)?.href).toBe('http://small:3128/');
});

test('without a proxy the connection is direct', () => {
  expect(proxyFor(new URL('https://a.test'), { NO_PROXY: 'b.test' })).toBeUndefined();
});

test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
  ['the proxy and its exceptions', { HTTPS_PROXY, NO_PROXY: '10.0.0.0/8' }, { HTTPS_PROXY, NO_PROXY: '10.0.0.0/8' }],
  ['lower case first', { https_proxy: 'small:3128', HTTPS_PROXY }, { HTTPS_PROXY: 'small:3128' }],
  ['nothing without a proxy', { NO_PROXY: '*' }, {}],
  ['no credentials', { HTTPS_PROXY: 'http://user:secret@proxy:3128', NO_PROXY: '10.0.0.0/8' }, {}],
])('another process gets %s', (_, environment, expected) => {
  expect(Object.fromEntries(proxyVariables(environment).map(({ name, value }) => [name, value]))).toEqual(expected);
});
