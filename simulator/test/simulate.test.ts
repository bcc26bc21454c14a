import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { HttpsClient } from '../../test/contract/https-client.ts';
import { type RecordingContext, recordingContext } from '../../test/support/recording-context.ts';
import type { SimulateOptions } from '../options.ts';
import { type SimulatorAddress, simulate } from '../simulate.ts';

const cwd = mkdtempSync(path.join(tmpdir(), 'logfleet-simulate-test-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const defaults: SimulateOptions = { listen: { host: '127.0.0.1', port: 0 }, timeScale: 1 };

/** Runs `logfleet simulate` while `use` is running. */
async function withSimulator(
  options: Partial<SimulateOptions>,
  use: (ready: SimulatorAddress, client: HttpsClient) => Promise<void>,
) {
  const context: RecordingContext = { ...recordingContext(), cwd };
  const ended = simulate({ ...defaults, ...options }, context);
  await Promise.race([ended, expect.poll(() => context.stdout.text, { interval: 1 }).toContain('\n')]);
  const ready = JSON.parse(context.stdout.text) as SimulatorAddress;
  const credentials = `${ready.accessId}:${ready.accessKey}`;
  const client = new HttpsClient({ baseURL: ready.baseURL, ca: readFileSync(ready.caFile, 'utf8'), credentials });
  try {
    await use(ready, client);
  } finally {
    client.close();
    context.stop('SIGTERM');
  }
  await ended;
  return ready;
}

const state = async ({ controlURL }: SimulatorAddress, client: HttpsClient) =>
  (await client.send('GET', '/state', { baseURL: controlURL })).json;

test('prints its addresses and credentials in one line, and ends cleanly', async () => {
  const ready = await withSimulator({}, async (answered, client) => {
    expect(Object.keys(answered)).toEqual(['baseURL', 'caFile', 'accessId', 'accessKey', 'controlURL']);
    expect((await client.send('GET', '/v1/collectors/upgrades/targets')).status).toBe(200);
  });
  expect(existsSync(ready.caFile)).toBe(false);
});

test('--tls-dir keeps the certificates', async () => {
  const { caFile } = await withSimulator({ tlsDir: 'tls' }, async () => {});
  expect(caFile).toBe(path.join(cwd, 'tls', 'ca.crt'));
  const made = readFileSync(caFile, 'utf8');
  await withSimulator({ tlsDir: 'tls' }, async () => {});
  expect(readFileSync(caFile, 'utf8')).toBe(made);
});

test.each([
  ['/proc/none', 'cannot create or read certificates in /proc/none: '],
  ['file/below', `cannot create or read certificates in ${path.join(cwd, 'file/below')}: `],
])('a folder %s that cannot be created is refused as wrong usage', async (tlsDir, message) => {
  writeFileSync(path.join(cwd, 'file'), '');
  const command = simulate({ ...defaults, tlsDir }, { ...recordingContext(), cwd });
  await expect(command).rejects.toMatchObject({
    code: 'simulator.flag',
    message: expect.stringMatching(`${message}.*; set another folder with --tls-dir$`),
  });
});

test('more collectors than the maximum are refused as wrong usage', async () => {
  const command = simulate({ ...defaults, collectors: 99_999_999_999 }, { ...recordingContext(), cwd });
  await expect(command).rejects.toMatchObject({
    code: 'simulator.flag',
    message: '--collectors is 99999999999; set at most 1000000',
  });
});

test('--collectors, --seed and --time-scale define the fleet', async () => {
  await withSimulator({ collectors: 12, seed: 3, timeScale: 60 }, async (ready, client) => {
    expect((await state(ready, client)).collectors).toHaveLength(12);
    const scenario = await client.send('PATCH', '/state', { baseURL: ready.controlURL, body: '{}' });
    expect(scenario.json).toMatchObject({ seed: 3, timeScale: 60 });
  });
});

test('--access-id and --access-key are accepted', async () => {
  await withSimulator({ accessId: 'me', accessKey: 'mine' }, async (ready, client) => {
    expect(ready).toMatchObject({ accessId: 'me', accessKey: 'mine' });
    const reply = await client.send('GET', '/v1/collectors/upgrades/targets', {
      credentials: 'simulator:simulator-key',
    });
    expect(reply.status).toBe(401);
  });
});

describe('messages to search', () => {
  const count = async (options: Partial<SimulateOptions>) => {
    let found: unknown;
    await withSimulator({ timeScale: 1_000, ...options }, async (ready, client) => {
      // The test sends no requests for the job, and a busy machine can need minutes for the search.
      const patch = { baseURL: ready.controlURL, body: '{"search":{"keepAlive":"1h"}}' };
      expect((await client.send('PATCH', '/state', patch)).status).toBe(200);
      const order = { query: '* | count', from: 0, to: Date.UTC(2200, 0), timeZone: 'UTC' };
      expect((await client.send('POST', '/v1/search/jobs', { body: JSON.stringify(order) })).status).toBe(202);
      const job = async () => (await state(ready, client)).jobs[0];
      await expect.poll(job, { interval: 1 }).toMatchObject({ state: 'DONE GATHERING RESULTS' });
      found = (await job()).messageCount;
    });
    return found;
  };
  const day = { from: '2026-10-01', to: '2026-10-02' };

  test('are 100,000 generated messages by default', async () => {
    expect(await count({})).toBe(100_000);
  });

  test('are generated by --messages, --from and --to', async () => {
    expect(await count({ messages: 7, ...day })).toBe(7);
  });

  test('are generated by --messages before the scenario', async () => {
    writeFileSync(path.join(cwd, 'logs.yaml'), 'logs: {perSecond: 5, from: 2026-10-01, to: 2026-10-02}');
    expect(await count({ scenario: 'logs.yaml' })).toBe(5 * 86_400);
    expect(await count({ scenario: 'logs.yaml', messages: 12 })).toBe(12);
    expect(await count({ scenario: 'logs.yaml', from: '2026-10-01T23:59:00' })).toBe(300);
  });

  const lines = (...raws: readonly string[]) =>
    raws.map((raw, index) => `${JSON.stringify({ _messagetime: 1_700_000_000_000 + index, _raw: raw })}\n`).join('');

  test('are read from files by --log-data', async () => {
    writeFileSync(path.join(cwd, 'one.ndjson'), lines('a', 'b'));
    writeFileSync(path.join(cwd, 'two.ndjson'), lines('c'));
    expect(await count({ logData: ['one.ndjson', 'two.ndjson'] })).toBe(3);
    mkdirSync(path.join(cwd, 'elsewhere'));
    writeFileSync(path.join(cwd, 'elsewhere', 'seed.yaml'), 'seed: 1');
    expect(await count({ scenario: 'elsewhere/seed.yaml', logData: ['one.ndjson'] })).toBe(2);
  });

  test('are read from files relative to the scenario', async () => {
    mkdirSync(path.join(cwd, 'deep'), { recursive: true });
    writeFileSync(path.join(cwd, 'deep', 'three.ndjson'), lines('a', 'b', 'c'));
    writeFileSync(path.join(cwd, 'deep', 's.yaml'), 'logs: {files: [three.ndjson]}');
    expect(await count({ scenario: 'deep/s.yaml' })).toBe(3);
  });

  const refused: readonly [string, Partial<SimulateOptions>, string][] = [
    ['no time', { from: 'yesterday' }, "--from is 'yesterday'; set a time"],
    ['an empty range', { from: '-1h', to: '-2h' }, '--to is not later than the start of the range'],
    ['more than fits', { messages: 900_000_000, from: '-100ms' }, '--messages is too large for the range'],
    [
      'no such file',
      { logData: ['none.ndjson'] },
      `cannot read the messages in none.ndjson: there is no such file in ${cwd}; set the path of an NDJSON file`,
    ],
    [
      'a folder for a file',
      { logData: ['.'] },
      'cannot read the messages in .: EISDIR: illegal operation on a directory, read; set the path of an NDJSON file',
    ],
    ['a line that is not a message', { logData: ['bad.ndjson'] }, 'bad.ndjson:2:1: the line is not JSON'],
  ];
  test.each(refused)('%s is refused as wrong usage', async (_, options, message) => {
    writeFileSync(path.join(cwd, 'bad.ndjson'), `${lines('a')}b\n`);
    const command = simulate({ ...defaults, ...options }, { ...recordingContext(), cwd });
    await expect(command).rejects.toMatchObject({ code: 'simulator.flag', message: expect.stringContaining(message) });
  });
});

test('--journal empties the file, and writes a line for each request', async () => {
  writeFileSync(path.join(cwd, 'journal.ndjson'), 'from an earlier run');
  await withSimulator({ journal: 'journal.ndjson' }, async (_, client) => {
    await client.send('GET', '/v1/collectors/upgrades/targets');
  });
  expect(JSON.parse(readFileSync(path.join(cwd, 'journal.ndjson'), 'utf8'))).toMatchObject({
    method: 'GET',
    status: 200,
  });
});

test('a journal that cannot be written is refused as wrong usage', async () => {
  const command = simulate({ ...defaults, journal: 'no/such/folder' }, { ...recordingContext(), cwd });
  await expect(command).rejects.toMatchObject({ code: 'simulator.flag' });
});

test('a disk that becomes full ends the simulator with an error that names the journal', async () => {
  const command = withSimulator({ journal: '/dev/full' }, async (_, client) => {
    // The simulator may end before it has sent the response.
    await client.send('GET', '/v1/collectors/upgrades/targets').catch(() => {});
  });
  await expect(command).rejects.toMatchObject({
    code: 'simulator.flag',
    message: expect.stringMatching('^cannot write the journal /dev/full: ENOSPC.*; free space, or set another file'),
  });
});

describe('--scenario', () => {
  const write = (text: string) => writeFileSync(path.join(cwd, 'scenario.yaml'), text);

  test('defines the fleet, the users and everything else', async () => {
    write(
      'users: {ann: {keys: {a1: secret}}}\nbuilds: [1.2-3]\ngroups: {web: {count: 2, version: 1.1-1}}\ntimeScale: 3',
    );
    await withSimulator({ scenario: 'scenario.yaml', timeScale: 2 }, async (ready, client) => {
      expect(ready).toMatchObject({ accessId: 'a1', accessKey: 'secret' });
      expect((await state(ready, client)).collectors).toHaveLength(2);
      const scenario = await client.send('PATCH', '/state', { baseURL: ready.controlURL, body: '{}' });
      expect(scenario.json.timeScale).toBe(6);
    });
  });

  test('can have users other than the one set by flags, which is printed', async () => {
    write('users: {ann: {keys: {a1: secret}}}');
    await withSimulator({ scenario: 'scenario.yaml', accessId: 'me', accessKey: 'mine' }, async (ready, client) => {
      expect(ready.accessId).toBe('me');
      expect((await client.send('GET', '/v1/collectors/upgrades/targets', { credentials: 'a1:secret' })).status).toBe(
        200,
      );
    });
  });

  test('can have a user whose name is the access ID set by flags', async () => {
    write('users: {me: {keys: {other: secret}}}');
    await withSimulator({ scenario: 'scenario.yaml', accessId: 'me', accessKey: 'mine' }, async (_, client) => {
      const status = async (credentials: string) =>
        (await client.send('GET', '/v1/collectors/upgrades/targets', { credentials })).status;
      expect([await status('me:mine'), await status('other:secret')]).toEqual([200, 200]);
    });
  });

  test('can have a user with the credentials set by flags or variables', async () => {
    write('users: {op: {keys: {other: s, me: mine}}}');
    await withSimulator({ scenario: 'scenario.yaml', accessId: 'me', accessKey: 'mine' }, async (ready) => {
      expect(ready).toMatchObject({ accessId: 'me', accessKey: 'mine' });
    });
  });

  test('is refused if it has the same access ID as a variable but another key, and the message names the variable', async () => {
    write('users: {op: {keys: {me: s}}}');
    const context = { ...recordingContext(), cwd, env: { LOGFLEET_ACCESS_ID: 'me' } };
    const command = simulate({ ...defaults, scenario: 'scenario.yaml', accessId: 'me' }, context);
    await expect(command).rejects.toThrow(
      'already has the access ID me, with another key; unset LOGFLEET_ACCESS_ID, which set this ID, or',
    );
  });

  const refused: readonly [string, string | undefined, Partial<SimulateOptions>, string][] = [
    ['a mistake', 'seed: x', {}, 'scenario.yaml:1:7: seed: "x" is not valid; use a whole number'],
    ['no file', undefined, { scenario: 'none.yaml' }, 'cannot read the scenario none.yaml'],
    [
      'an access ID twice',
      'users: {a: {keys: {me: s}}}',
      { accessId: 'me' },
      'the scenario already has the access ID me',
    ],
    ['an unusable access ID', '{}', { accessId: 'me:too' }, '--access-id is empty or contains a colon'],
  ];
  test.each(refused)('with %s is refused as wrong usage', async (_, text, options, message) => {
    if (text !== undefined) write(text);
    const command = simulate({ ...defaults, scenario: 'scenario.yaml', ...options }, { ...recordingContext(), cwd });
    await expect(command).rejects.toMatchObject({ code: 'simulator.flag', message: expect.stringContaining(message) });
  });
});

test('an occupied address is reported with a remedy', async () => {
  await withSimulator({}, async ({ baseURL }) => {
    const listen = { host: '127.0.0.1', port: Number(new URL(baseURL).port) };
    const second = simulate({ ...defaults, listen }, { ...recordingContext(), cwd });
    await expect(second).rejects.toMatchObject({
      code: 'simulator.listen',
      message: expect.stringContaining('--listen'),
    });
  });
});
