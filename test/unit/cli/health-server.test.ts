import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ListenAddress } from '../../../src/base/flag-values.ts';
import type { HttpServer } from '../../../src/cli/command/http-server.ts';
import { startHealthServer } from '../../../src/cli/run/health-server.ts';

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(
  options: { listen?: ListenAddress; unhealthy?: string[]; unready?: string[]; render?: () => Promise<string> } = {},
) {
  const server = await startHealthServer({
    listen: options.listen ?? { host: '127.0.0.1', port: 0 },
    unhealthy: () => options.unhealthy ?? [],
    unready: () => options.unready ?? [],
    metrics: { contentType: 'text/plain; version=0.0.4', render: options.render ?? (async () => 'up 1\n') },
  });
  servers.push(server);
  return server;
}

function ask({ port }: HttpServer, path: string, method = 'GET') {
  return new Promise<{ status: number | undefined; body: string; type: string | undefined }>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, body, type: response.headers['content-type'] }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

describe('the health server', () => {
  test('says that the process is alive and ready', async () => {
    const server = await start();
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(server, '/readyz?verbose')).toMatchObject({ status: 200, body: 'ok\n' });
  });

  test('reports what is not ready', async () => {
    const unready = ['the policies have not been listed yet'];
    const server = await start({ unready });
    expect(await ask(server, '/readyz')).toMatchObject({ status: 503, body: `not ready: ${unready[0]}\n` });
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200 });
    unready.pop();
    expect(await ask(server, '/readyz')).toMatchObject({ status: 200 });
  });

  test('responds even if other clients keep many connections open', async () => {
    const server = await start();
    const idle = Array.from({ length: 150 }, () => connect(server.port, '127.0.0.1').on('error', () => {}));
    const oldestClosed = idle.slice(0, 50).map((socket) => once(socket, 'close'));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200 });
    await Promise.all(oldestClosed);
    for (const socket of idle) socket.destroy();
  });

  test('a loop without progress makes the process unhealthy, but not unready', async () => {
    const server = await start({ unhealthy: ['a loop has not moved'] });
    expect(await ask(server, '/healthz')).toMatchObject({ status: 503, body: 'not healthy: a loop has not moved\n' });
    expect(await ask(server, '/readyz')).toMatchObject({ status: 200 });
  });

  test('exposes the metrics', async () => {
    const server = await start();
    expect(await ask(server, '/metrics')).toEqual({ status: 200, body: 'up 1\n', type: 'text/plain; version=0.0.4' });
    expect(await ask(server, '/metrics', 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  test('a failure of the metrics fails only that request', async () => {
    const server = await start({
      render: async () => {
        throw new Error('broken');
      },
    });
    expect(await ask(server, '/metrics')).toMatchObject({ status: 500 });
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200 });
  });

  test('refuses other paths and methods', async () => {
    const server = await start();
    expect(await ask(server, '/secrets')).toMatchObject({ status: 404 });
    expect(await ask(server, '/healthz', 'POST')).toMatchObject({ status: 405 });
  });

  test('reports a port in use', async () => {
    const { port } = await start();
    await expect(start({ listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
      code: 'cli.listen',
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
  });

  test('listens on an IPv6 address and on all interfaces', async () => {
    expect((await start({ listen: { host: '0.0.0.0', port: 0 } })).port).toBeGreaterThan(0);
    expect((await start({ listen: { host: '::', port: 0 } })).host).toBe('::');
  });
});
