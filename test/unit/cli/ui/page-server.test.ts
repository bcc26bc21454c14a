/** Tests the HTTP server of `logfleet ui`: its responses, its headers, and how it reports changes to the page. */
import { createHash } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../../src/api/kinds.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { runProgram } from '../../../../src/cli/program.ts';
import { PageServer, refusalResponse } from '../../../../src/cli/ui/page-server.ts';
import { ResourceModel } from '../../../../src/cli/ui/resource-model.ts';
import { uiCommand } from '../../../../src/cli/ui/ui.ts';
import { MemoryReader } from '../../../support/memory-reader.ts';
import { type RecordingContext, recordingContext } from '../../../support/recording-context.ts';
import { exampleResources, shownResource } from '../../../support/shown-resources.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

let reader: MemoryReader;
let context: RecordingContext;
let ended: Promise<number>;
let port: number;

/** Minimal page for `logfleet ui`. The real page exists only after a build. */
const html = async () =>
  '<style>p{}</style><script type="application/json" id="start"></script><script type="module">show()</script>';

beforeEach(async () => {
  reader = new MemoryReader(exampleResources(Date.now()));
  context = recordingContext();
  ended = uiCommand({ allNamespaces: true }, context, { open: async () => reader, clock: systemClock, html });
  await expect.poll(() => context.stdout.text).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
  port = Number(new URL(context.stdout.text.trim()).port);
});
afterEach(async () => {
  context.stop('SIGTERM');
  await ended;
});

interface PageServerRequest {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask({ path = '/', method = 'GET', headers = {} }: PageServerRequest) {
  return new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      });
      outgoing.on('error', reject);
      outgoing.end();
    },
  );
}

async function askJson(path: string) {
  return JSON.parse((await ask({ path })).body);
}

describe('a request', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]'])('to the host %s gets a response', async (host) => {
    expect(await ask({ headers: { host: `${host}:${port}` } })).toMatchObject({ status: 200 });
  });

  test.each(['attacker.example', 'attacker.example:80', '127.0.0.1', '127.0.0.1:1', '127.0.0.1.attacker.example'])(
    'to the host %s is refused',
    async (host) => {
      const { status, body } = await ask({ path: '/api/list', headers: { host } });
      expect({ status, isData: body.includes('rows') }).toEqual({ status: 403, isData: false });
    },
  );

  test.each([
    ['127.0.0.1', undefined],
    ['localhost', 'http://localhost'],
    ['[::1]', 'http://[::1]'],
    ['127.0.0.1:80', 'http://127.0.0.1:80'],
  ])('to the host %s from the origin %s gets a response on port 80', (host, origin) => {
    const headers = { host, ...(origin !== undefined && { origin }) };
    expect(refusalResponse({ method: 'GET', headers }, 80)).toBeUndefined();
    expect(refusalResponse({ method: 'GET', headers }, 8080)).toMatchObject({ status: 403 });
  });

  test('of a page from another origin is refused', async () => {
    const of = (origin: string) => ask({ path: '/api/list?limit=1', headers: { origin } });
    expect((await of('https://attacker.example')).status).toBe(403);
    expect((await of('null')).status).toBe(403);
    expect((await of(`http://localhost:${port}`)).status).toBe(200);
  });

  test('that the page of another site sends without an origin, as for an image, is refused', async () => {
    const of = (site: string, mode: string) =>
      ask({ path: '/api/list', headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode } });
    expect((await of('cross-site', 'no-cors')).status).toBe(403);
    expect((await of('same-site', 'no-cors')).status).toBe(403);
    expect((await of('same-origin', 'cors')).status).toBe(200);
    expect((await of('none', 'navigate')).status).toBe(200);
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect((await ask({ headers: link })).status).toBe(200);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('with the method %s is refused', async (method) => {
    expect(await ask({ method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('with the method HEAD gets only the headers', async () => {
    const { body } = await ask({});
    const headers = { 'content-length': String(Buffer.byteLength(body)) };
    expect(await ask({ method: 'HEAD' })).toMatchObject({ status: 200, body: '', headers });
  });

  test('with the method HEAD for the stream of messages ends', async () => {
    expect(await ask({ path: '/api/changes', method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });

  test('for an unknown path gets 404', async () => {
    expect(await ask({ path: '/../../etc/passwd' })).toMatchObject({ status: 404 });
  });

  test('for an invalid path gets 400', async () => {
    expect(await ask({ path: '//' })).toMatchObject({ status: 400 });
  });
});

test('each response forbids connections to other origins, and any scripts or styles that are not on the page', async () => {
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  for (const path of ['/', '/api/list', '/api/resource?id=none', '/nothing']) {
    const { headers } = await ask({ path });
    expect(headers).toMatchObject({
      'content-security-policy': `default-src 'none'; script-src ${hashOf('show()')}; style-src ${hashOf('p{}')}; connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'`,
      ...{ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});

describe('the HTML of the page', () => {
  const startData = async () => {
    const { body } = await ask({});
    const [, data = ''] = /<script type="application\/json" id="start">(.*?)<\/script>/s.exec(body) ?? [];
    expect(body.replace(data, () => '')).toBe(await html());
    return data;
  };

  test('contains the first rows and the place', async () => {
    const { list, place } = JSON.parse(await startData());
    expect(list).toEqual(await askJson('/api/list?limit=40'));
    expect(place).toEqual({ place: 'the test', warnings: [] });
  });

  test('contains no text of a resource as markup', async () => {
    const attack = "</script><script>attack()</script><!--<script>$&$'";
    const status = { summary: { updated: '0/1', state: attack }, conditions: [] };
    reader.replace([shownResource({ kind: 'CollectorVersionPolicy', name: 'attacked', status })]);
    const data = await startData();
    expect(data).not.toContain('<');
    expect(JSON.parse(data).list.rows[0].state).toBe(attack);
  });
});

describe('the data', () => {
  test('has one page of the list that matches the filter', async () => {
    const page = await askJson('/api/list?kind=SearchExport&text=audit&offset=1&limit=1');
    expect(page).toMatchObject({ total: 2, offset: 1, rows: [{ id: 'sx/audit/september-audit', figure: '100%' }] });
  });

  test('never has more than 200 rows at once', async () => {
    expect((await askJson('/api/list?limit=1000000')).rows.length).toBe(10);
    expect((await askJson('/api/list?limit=-5&offset=x')).rows).toEqual([]);
  });

  test('has the details of one resource, and 404 for others', async () => {
    const detail = await askJson('/api/resource?id=cvp/network/edge');
    expect(detail).toMatchObject({
      state: 'AwaitingApproval',
      tone: 'waiting',
      resource: { metadata: { name: 'edge' } },
    });
    expect((await ask({ path: '/api/resource?id=cvp/network/none' })).status).toBe(404);
    expect((await ask({ path: '/api/resource' })).status).toBe(404);
  });
});

function openStream(): readonly { readonly event: string; readonly data: Readonly<Record<string, unknown>> }[] {
  const messages: { event: string; data: Readonly<Record<string, unknown>> }[] = [];
  const outgoing = request({ host: '127.0.0.1', port, path: '/api/changes', agent: false }, (response) => {
    let event = '';
    const lines = createInterface({ input: response });
    lines.on('line', (line) => {
      if (line.startsWith('event: ')) event = line.slice('event: '.length);
      if (line.startsWith('data: ')) messages.push({ event, data: JSON.parse(line.slice('data: '.length)) });
    });
    lines.on('error', () => {});
    response.on('error', () => {});
  });
  // Ignores the error that occurs when the server closes the connection at the end of the test.
  outgoing.on('error', () => {});
  outgoing.end();
  return messages;
}

/** Waits for the first two messages. On a busy machine, the message of every 15 s may already have followed them. */
async function hasBegun(messages: ReturnType<typeof openStream>): Promise<void> {
  await expect.poll(() => messages.length).toBeGreaterThanOrEqual(2);
}

describe('the stream of messages', () => {
  test('begins with the place of the resources, and names those that change', async () => {
    const messages = openStream();
    await hasBegun(messages);
    expect(messages[0]).toEqual({ event: 'place', data: { place: 'the test', warnings: [] } });
    reader.replace(exampleResources(Date.now()).filter(({ metadata }) => metadata.name !== 'edge') as AnyResource[]);
    const lastChange = () => messages.findLast(({ event }) => event === 'change');
    await expect.poll(() => lastChange()?.data['changed']).toContain('cvp/network/edge');
  });

  test('has a message every 15 s, so that the page notices a broken connection', async () => {
    const clock = new VirtualClock();
    const place = { place: 'the test', warnings: [] };
    const server = new PageServer({ port: 0, html: '', model: new ResourceModel(), flags: {}, clock }, place);
    port = Number(new URL(await server.listen()).port);
    const messages = openStream();
    await expect.poll(() => messages.length).toBe(2);
    await clock.advance(30_000);
    await expect.poll(() => messages.map(({ event }) => event)).toEqual(['place', 'change', 'alive', 'alive']);
    await server.close();
  });

  test('combines changes in quick succession into one message', async () => {
    const messages = openStream();
    await hasBegun(messages);
    const [first, ...others] = exampleResources(Date.now());
    for (let count = 0; count < 50; count++) reader.replace(others.slice(count % 2));
    reader.replace([first, ...others].filter((each) => each !== undefined));
    const changes = () => messages.filter(({ event }) => event === 'change').length;
    await expect.poll(changes).toBeGreaterThan(1);
    expect(changes()).toBeLessThanOrEqual(3);
  });

  test('warns while changes cannot be read', async () => {
    const messages = openStream();
    await hasBegun(messages);
    reader.trouble('the API server does not answer');
    const warnings = () => messages.findLast(({ event }) => event === 'place')?.data['warnings'];
    await expect.poll(warnings).toHaveLength(1);
    reader.trouble(undefined);
    await expect.poll(warnings).toEqual([]);
  });

  test('is closed when a browser reads no messages, so that they do not fill the memory', async () => {
    const opened = Promise.withResolvers<IncomingMessage>();
    const outgoing = request({ host: '127.0.0.1', port, path: '/api/changes', agent: false }, opened.resolve);
    outgoing.on('error', () => {});
    outgoing.end();
    const response = await opened.promise;
    for (let count = 0; count < 10; count++) reader.trouble(`${count}`.repeat(4_000_000));
    await expect(text(response)).rejects.toThrow('aborted');
  });
});

describe('the command', () => {
  test('ends with 0 after SIGTERM, and closes streams and the reader', async () => {
    openStream();
    context.stop('SIGTERM');
    expect(await ended).toBe(0);
    expect(reader.closed).toBe(true);
  });

  test('fails with a remedy when the port is in use', async () => {
    const second = uiCommand({ port }, recordingContext(), { open: async () => reader, clock: systemClock, html });
    await expect(second).rejects.toMatchObject({ code: 'cli.listen' });
  });

  test('fails when the resources cannot be listed', async () => {
    reader.failure = new Error('forbidden');
    const failing = uiCommand({}, recordingContext(), { open: async () => reader, clock: systemClock, html });
    await expect(failing).rejects.toThrow('forbidden');
  });

  test('refuses an invalid port', async () => {
    const wrong = recordingContext();
    expect(await runProgram(['ui', '--port', '80x'], wrong)).toBe(2);
    expect(wrong.stderr.text).toContain('Write a port such as 8080.');
  });
});
