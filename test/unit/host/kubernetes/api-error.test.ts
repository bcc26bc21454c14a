/** Tests which Kubernetes API errors the operator retries, and which it reports. */
import { expect, test } from 'vitest';
import { apiErrorOf } from '../../../../src/host/kubernetes/api-error.ts';
import { resourceOfPath } from '../../../../src/host/kubernetes/api-paths.ts';
import { readLines } from '../../../../src/host/kubernetes/api-transport.ts';

test.each([
  [400, 'host.invalid', { kind: 'bug' }],
  [401, 'host.unauthorized', { kind: 'stall' }],
  [403, 'host.forbidden', { kind: 'stall' }],
  [404, 'host.gone', { kind: 'wait' }],
  [409, 'host.conflict', { kind: 'backoff' }],
  [410, 'host.expired', { kind: 'backoff' }],
  [422, 'host.invalid', { kind: 'bug' }],
  [429, 'host.throttled', { kind: 'backoff' }],
  [500, 'host.unavailable', { kind: 'backoff' }],
  [504, 'host.unavailable', { kind: 'backoff' }],
] as const)('%i is %s', (status, code, handling) => {
  const body = { kind: 'Status', message: 'no' };
  expect(apiErrorOf({ status, headers: {}, body }, 'GET /x')).toMatchObject({ code, handling });
});

test.each([
  [302, '<html>log in</html>'],
  [400, 'Client sent an HTTP request to an HTTPS server.\n'],
])('%i with a body that is no Status object is not a response of an API server', (status, body) => {
  const error = apiErrorOf({ status, headers: {}, body }, 'GET /x');
  expect(error).toMatchObject({ code: 'host.misconfigured', handling: { kind: 'backoff' } });
  expect(error.message).toContain('check `server` in the kubeconfig');
});

test.each([401, 403, 409, 410, 429, 503])(
  'the message about %i does not mention the operator, because users of commands also see it',
  (status) => {
    expect(apiErrorOf({ status, headers: {}, body: '' }, 'GET /x').message).not.toMatch(/operator|logfleet/);
  },
);

test.each([
  ['3', { kind: 'retryAfter', delayMs: 3_000 }],
  ['86400', { kind: 'retryAfter', delayMs: 30_000 }],
  ['Wed, 21 Oct 2026 07:28:00 GMT', { kind: 'backoff' }],
] as const)('Retry-After: %s is %o', (value, handling) => {
  expect(apiErrorOf({ status: 429, headers: { 'retry-after': value }, body: '' }, 'GET /x').handling).toEqual(handling);
});

test.each([
  ['Wed, 21 Oct 2026 07:28:00 GMT', { kind: 'retryAfter', delayMs: 5_000 }],
  ['-1', { kind: 'backoff' }],
] as const)('Retry-After: %s, in a response with a Date header, is %o', (value, handling) => {
  const headers = { date: 'Wed, 21 Oct 2026 07:27:55 GMT', 'retry-after': value };
  expect(apiErrorOf({ status: 503, headers, body: '' }, 'GET /x').handling).toEqual(handling);
});

test.each([
  ['jobs.batch is forbidden: User "system:serviceaccount:a:b" cannot create resource "jobs"', 'host.forbidden'],
  ['jobs.batch "x" is forbidden: User "u" cannot delete resource "jobs"', 'host.forbidden'],
  ['', 'host.forbidden'],
  ['jobs.batch "x" is forbidden: exceeded quota: full, requested: count/jobs.batch=1', 'host.denied'],
  ['jobs.batch "x" is forbidden: unable to create new content in namespace a', 'host.denied'],
  ["jobs.batch \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", 'host.denied'],
  ['admission webhook "w.example.com" denied the request: no', 'host.denied'],
])('403 with %j is %s', (message, code) => {
  expect(apiErrorOf({ status: 403, headers: {}, body: { kind: 'Status', message } }, 'POST /x')).toMatchObject({
    code,
    handling: { kind: 'stall' },
  });
});

test('a message names the request and a bounded part of the response', () => {
  const body = { kind: 'Status', message: `leases is forbidden ${'x'.repeat(5_000)}` };
  const { message } = apiErrorOf({ status: 403, headers: {}, body }, 'GET /apis/x');
  expect(message).toContain('GET /apis/x');
  expect(message).toContain('leases is forbidden');
  expect(message.length).toBeLessThan(700);
});

test.each([
  ['/api/v1/namespaces/logging/secrets/log-service', 'secrets'],
  ['/apis/logfleet.dev/v1alpha1/collectorversionpolicies', 'collectorversionpolicies'],
  ['/apis/logfleet.dev/v1alpha1/namespaces/a/collectorversionpolicies/b/status', 'collectorversionpolicies/status'],
  ['/apis/coordination.k8s.io/v1/namespaces/a/leases/b', 'leases'],
])('%s concerns %s', (path, resource) => {
  expect(resourceOfPath(path)).toBe(resource);
});

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function collect<T>(lines: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const line of lines) collected.push(line);
  return collected;
}

test('joins lines of a watch that arrive in several pieces', async () => {
  const text = '{"type":"ADDED","object":{"note":"schlüssel €"}}\n\n{"type":"DELETED"}\n';
  for (let size = 1; size <= text.length; size++) {
    const lines = await collect(readLines(chunksOf(text, size)));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: 'ADDED', object: { note: 'schlüssel €' } },
      { type: 'DELETED' },
    ]);
  }
});

test.each(['{"type":"ADDED"}\n{"type":', '{"type":"ADDED"}\nno line feed'])(
  'a watch that ends with %j fails',
  async (text) => {
    await expect(collect(readLines(chunksOf(text, 7)))).rejects.toThrow();
  },
);
