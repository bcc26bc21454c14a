import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { SimulateOptions } from '../../../src/cli/options.ts';
import { simulateCommand } from '../../../src/cli/simulate.ts';
import { HttpsClient } from '../../contract/https-client.ts';
import { type RecordingContext, recordingContext } from './recording-context.ts';

const cwd = mkdtempSync(path.join(tmpdir(), 'logfleet-simulate-test-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const defaults: SimulateOptions = { listen: { host: '127.0.0.1', port: 0 }, timeScale: 1 };

interface Ready {
  readonly baseURL: string;
  readonly caFile: string;
  readonly accessId: string;
  readonly accessKey: string;
  readonly controlURL: string;
}

/** Runs the command for as long as `use` needs it. */
async function simulate(options: Partial<SimulateOptions>, use: (ready: Ready, client: HttpsClient) => Promise<void>) {
  const context: RecordingContext = { ...recordingContext(), cwd };
  const ended = simulateCommand({ ...defaults, ...options }, context);
  await Promise.race([ended, expect.poll(() => context.stdout.text, { interval: 1 }).toContain('\n')]);
  const ready = JSON.parse(context.stdout.text) as Ready;
  const credentials = `${ready.accessId}:${ready.accessKey}`;
  const client = new HttpsClient({ baseURL: ready.baseURL, ca: readFileSync(ready.caFile, 'utf8'), credentials });
  try {
    await use(ready, client);
  } finally {
    client.close();
    context.stop('SIGTERM');
  }
  expect(await ended).toBe(0);
  return ready;
}

const state = async ({ controlURL }: Ready, client: HttpsClient) =>
  (await client.send('GET', '/state', { baseURL: controlURL })).json;

test('says in one line where it is and how to get in, and ends cleanly', async () => {
  const ready = await simulate({}, async (answered, client) => {
    expect(Object.keys(answered)).toEqual(['baseURL', 'caFile', 'accessId', 'accessKey', 'controlURL']);
    expect((await client.send('GET', '/v1/collectors/upgrades/targets')).status).toBe(200);
  });
  expect(existsSync(ready.caFile)).toBe(false);
});

test('--tls-dir keeps what was made', async () => {
  const { caFile } = await simulate({ tlsDir: 'tls' }, async () => {});
  expect(caFile).toBe(path.join(cwd, 'tls', 'ca.crt'));
  const made = readFileSync(caFile, 'utf8');
  await simulate({ tlsDir: 'tls' }, async () => {});
  expect(readFileSync(caFile, 'utf8')).toBe(made);
});

test('--collectors, --seed and --time-scale make the fleet', async () => {
  await simulate({ collectors: 12, seed: 3, timeScale: 60 }, async (ready, client) => {
    expect((await state(ready, client)).collectors).toHaveLength(12);
    const scenario = await client.send('PATCH', '/state', { baseURL: ready.controlURL, body: '{}' });
    expect(scenario.json).toMatchObject({ seed: 3, timeScale: 60 });
  });
});

test('--access-id and --access-key are what it accepts', async () => {
  await simulate({ accessId: 'me', accessKey: 'mine' }, async (ready, client) => {
    expect(ready).toMatchObject({ accessId: 'me', accessKey: 'mine' });
    const reply = await client.send('GET', '/v1/collectors/upgrades/targets', {
      credentials: 'simulator:simulator-key',
    });
    expect(reply.status).toBe(401);
  });
});

test('--journal gets a line for each request', async () => {
  await simulate({ journal: 'journal.ndjson' }, async (_, client) => {
    await client.send('GET', '/v1/collectors/upgrades/targets');
  });
  expect(JSON.parse(readFileSync(path.join(cwd, 'journal.ndjson'), 'utf8'))).toMatchObject({
    method: 'GET',
    status: 200,
  });
});

test('a journal that cannot be written is refused as wrong usage', async () => {
  const command = simulateCommand({ ...defaults, journal: 'no/such/folder' }, { ...recordingContext(), cwd });
  await expect(command).rejects.toMatchObject({ code: 'cli.usage' });
});

describe('--scenario', () => {
  const write = (text: string) => writeFileSync(path.join(cwd, 'scenario.yaml'), text);

  test('is the fleet, the users and all the rest', async () => {
    write(
      'users: {ann: {keys: {a1: secret}}}\nbuilds: [1.2-3]\ngroups: {web: {count: 2, version: 1.1-1}}\ntimeScale: 3',
    );
    await simulate({ scenario: 'scenario.yaml', timeScale: 2 }, async (ready, client) => {
      expect(ready).toMatchObject({ accessId: 'a1', accessKey: 'secret' });
      expect((await state(ready, client)).collectors).toHaveLength(2);
      const scenario = await client.send('PATCH', '/state', { baseURL: ready.controlURL, body: '{}' });
      expect(scenario.json.timeScale).toBe(6);
    });
  });

  test('may have users beside the one of the flags, which goes first', async () => {
    write('users: {ann: {keys: {a1: secret}}}');
    await simulate({ scenario: 'scenario.yaml', accessId: 'me', accessKey: 'mine' }, async (ready, client) => {
      expect(ready.accessId).toBe('me');
      expect((await client.send('GET', '/v1/collectors/upgrades/targets', { credentials: 'a1:secret' })).status).toBe(
        200,
      );
    });
  });

  const refused: readonly [string, string | undefined, Partial<SimulateOptions>, string][] = [
    ['a mistake', 'seed: x', {}, 'scenario.yaml:1:7: seed: "x" does not fit; write a whole number'],
    ['no file', undefined, { scenario: 'none.yaml' }, 'cannot read the scenario none.yaml'],
    [
      'an access ID twice',
      'users: {a: {keys: {me: s}}}',
      { accessId: 'me' },
      'the scenario has the access ID me already',
    ],
  ];
  test.each(refused)('with %s is refused as wrong usage', async (_, text, options, message) => {
    if (text !== undefined) write(text);
    const command = simulateCommand(
      { ...defaults, scenario: 'scenario.yaml', ...options },
      { ...recordingContext(), cwd },
    );
    await expect(command).rejects.toMatchObject({ code: 'cli.usage', message: expect.stringContaining(message) });
  });
});

test('an address that is taken: which, and what to do', async () => {
  await simulate({}, async ({ baseURL }) => {
    const listen = { host: '127.0.0.1', port: Number(new URL(baseURL).port) };
    const second = simulateCommand({ ...defaults, listen }, { ...recordingContext(), cwd });
    await expect(second).rejects.toMatchObject({
      code: 'simulator.listen',
      message: expect.stringContaining('--listen'),
    });
  });
});
