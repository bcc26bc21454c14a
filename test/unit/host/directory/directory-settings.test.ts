/** Tests pausing all policies and exports in a directory. */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { deletionDelayMs } from '../../../../src/host/directory/directory-contents.ts';
import type { DirectoryHost } from '../../../../src/host/directory/directory-host.ts';
import { writeSettingsRequest, writeUserRequest } from '../../../../src/host/directory/user-requests.ts';
import { find, policy, Workplace } from '../../../support/workplace.ts';

const file = 'settings.yaml';
const configMap = (data: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logfleet-settings}\n${data}\n`;
const asked = { by: 'alice', atMs: Date.UTC(2026, 10, 21, 10) };
const running = {};

async function opened(text: string): Promise<{ readonly place: Workplace; readonly host: DirectoryHost }> {
  const place = new Workplace();
  place.write(file, text);
  return { place, host: await place.open() };
}

describe('a ConfigMap among the manifests', () => {
  test.each([
    ['data: {paused: "true"}', ''],
    ['data: {paused: "on"}', ', whose paused is "on"'],
    ['data: {paused: true}', ''],
    ['data: {paused: [1]}', ', whose paused is "1"'],
  ])('%s pauses', async (data, odd) => {
    const { place, host } = await opened(configMap(data));
    const pausedBy = `the ConfigMap logfleet-settings in ${place.path(file)}${odd}`;
    expect(host.settings()).toEqual({ pausedBy });
  });

  test.each(['data: {paused: "false"}', 'data: {paused: ""}', 'data: {}', ''])('%j does not', async (data) => {
    const { host } = await opened(configMap(data));
    expect(host.settings()).toEqual(running);
    expect(host.problems()).toEqual([]);
  });

  test('a ConfigMap of another name has no effect', async () => {
    const { host } = await opened(configMap('data: {paused: "true"}').replace('logfleet-settings', 'settings'));
    expect(host.settings()).toEqual(running);
  });

  test.each([
    ['data: {paused: true}', { severity: 'error', path: 'data.paused', reason: 'WrongType' }],
    ['data: {paused: "on"}', { severity: 'warning', path: 'data.paused', reason: 'Risky' }],
    ['data: {pasued: "true"}', { severity: 'warning', path: 'data.pasued', reason: 'Unknown' }],
  ])('%s is a problem', async (data, expected) => {
    const { place, host } = await opened(configMap(data));
    expect(host.problems()).toEqual([expect.objectContaining({ ...expected, file: place.path(file), line: 4 })]);
  });
});

describe('changes', () => {
  test('changes call the listeners immediately, and once each', async () => {
    const { place, host } = await opened(configMap('data: {paused: "true"}'));
    const heard: boolean[] = [];
    const unsubscribe = host.subscribeSettings(() => heard.push(host.settings().pausedBy !== undefined));
    await host.refresh();
    place.write(file, configMap('data: {paused: "false"}'));
    await host.refresh();
    place.write(file, configMap('data: {paused: "true"}'));
    await host.refresh();
    expect(heard).toEqual([false, true]);
    unsubscribe();
    place.write(file, configMap('data: {paused: "false"}'));
    await host.refresh();
    expect(heard).toHaveLength(2);
    expect(host.settings()).toEqual(running);
  });

  test('a request is noticed without a call to refresh', async () => {
    const place = new Workplace();
    const host = await place.open({ clock: systemClock });
    const heard = new Promise<void>((resolve) => host.subscribeSettings(resolve));
    await writeSettingsRequest(place.directory, true, asked);
    await heard;
    expect(host.settings()).toEqual({ pausedBy: 'alice (logfleet pause --all)' });
  });

  test('a file that is being replaced still pauses, and a deleted file does not', async () => {
    const { place, host } = await opened(configMap('data: {paused: "true"}'));
    place.remove(file);
    await host.refresh();
    await place.clock.advance(deletionDelayMs / 2);
    place.write(file, configMap('data: {paused: "true"}'));
    await host.refresh();
    expect(host.settings().pausedBy).toBeDefined();
    place.remove(file);
    await host.refresh();
    expect(host.settings().pausedBy).toBeDefined();
    const heard = new Promise<void>((resolve) => host.subscribeSettings(resolve));
    await place.clock.during(heard);
    expect(host.settings()).toEqual(running);
  });

  test('a file that became unreadable still pauses', async () => {
    const { place, host } = await opened(configMap('data: {paused: "true"}'));
    place.write(file, 'apiVersion: [');
    await host.refresh();
    await place.clock.advance(2 * deletionDelayMs);
    await host.refresh();
    expect(host.settings().pausedBy).toBeDefined();
  });

  test('a pause that was removed while no process was running ends immediately', async () => {
    const { place, host } = await opened(configMap('data: {paused: "true"}'));
    await host.close();
    place.remove(file);
    expect((await place.open()).settings()).toEqual(running);
  });
});

describe('a request', () => {
  test('survives a restart, until another request replaces it', async () => {
    const place = new Workplace();
    await writeSettingsRequest(place.directory, true, asked);
    const first = await place.open();
    expect(first.settings().pausedBy).toBeDefined();
    expect(first.problems()).toEqual([]);
    await first.close();
    const second = await place.open();
    expect(second.settings().pausedBy).toBeDefined();
    await writeSettingsRequest(place.directory, false, asked);
    await second.refresh();
    expect(second.settings()).toEqual(running);
  });

  test('a resume by command does not end a pause in a manifest, and both causes are named', async () => {
    const { place, host } = await opened(configMap('data: {paused: "true"}'));
    const manifest = `the ConfigMap logfleet-settings in ${place.path(file)}`;
    await writeSettingsRequest(place.directory, false, asked);
    await host.refresh();
    expect(host.settings()).toEqual({ pausedBy: manifest });
    await writeSettingsRequest(place.directory, true, { by: undefined, atMs: undefined });
    await host.refresh();
    expect(host.settings().pausedBy).toBe(`${manifest} and a person (logfleet pause --all)`);
    const { directory } = place;
    expect(host.pausing()).toEqual([
      expect.objectContaining({ directory, manifest: file, source: 'manifest' }),
      expect.objectContaining({ directory, source: 'request' }),
    ]);
    place.write(file, configMap('data: {paused: "false"}'));
    await host.refresh();
    expect(host.pausing().map(({ source }) => source)).toEqual(['request']);
  });

  test.each(['no json', '[]', '{}', '{"paused":"false"}'])('that cannot be read pauses: %s', async (text) => {
    const place = new Workplace();
    place.write('.logfleet/requests/settings.json', text);
    const host = await place.open();
    expect(host.settings().pausedBy).toBeDefined();
    expect(host.problems()).toMatchObject([{ file: place.path('.logfleet/requests/settings.json') }]);
  });
});

test('a pause in one of several directories is enough', async () => {
  const place = new Workplace();
  mkdirSync(place.path('one'));
  place.write('two/settings.yaml', configMap('data: {paused: "true"}'));
  const host = await place.open({ directories: [place.path('one'), place.path('two')] });
  expect(host.settings().pausedBy).toBeDefined();
});

test('requests are in files that an operator of another user can read', async () => {
  const place = new Workplace();
  const key = { namespace: 'logging', name: 'web' };
  await writeUserRequest(place.directory, 'CollectorVersionPolicy', key, { 'logfleet.dev/paused': 'true' });
  await writeSettingsRequest(place.directory, true, asked);
  const files = readdirSync(place.path('.logfleet/requests'));
  const modes = files.map((name) => statSync(place.path('.logfleet/requests', name)).mode & 0o777);
  expect(modes).toEqual([0o644, 0o644]);
});

describe('author and time of a requested annotation', () => {
  const key = { namespace: 'logging', name: 'web' };
  const kind = 'CollectorVersionPolicy';
  const paused = 'logfleet.dev/paused';
  const approve = 'logfleet.dev/approve';

  test('are recorded for each annotation, even for a removed one', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    await writeUserRequest(place.directory, kind, key, { [paused]: 'true' }, { by: 'bob', atMs: 1_000 });
    await writeUserRequest(place.directory, kind, key, { [approve]: '1-19.500-1/canary' }, asked);
    await host.refresh();
    const first = find(host, 'web')?.metadata;
    expect(first?.annotationWriters).toEqual({ [paused]: { by: 'bob', atMs: 1_000 }, [approve]: asked });
    await writeUserRequest(place.directory, kind, key, { [paused]: null }, asked);
    await host.refresh();
    const second = find(host, 'web')?.metadata;
    expect(second?.annotations).toEqual({ [approve]: '1-19.500-1/canary' });
    expect(second?.annotationWriters).toEqual({ [paused]: asked, [approve]: asked });
    expect(second?.generation).toBe(1);
  });

  test('are unknown for a file written by hand', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const writers = { [paused]: { by: 7, time: 'noon' } };
    const request = { kind, ...key, annotations: { [paused]: 'true' }, writers };
    place.write('.logfleet/requests/x.json', JSON.stringify(request));
    const host = await place.open();
    expect(find(host, 'web')?.metadata).not.toHaveProperty('annotationWriters');
    expect(find(host, 'web')?.metadata.annotations).toEqual({ [paused]: 'true' });
  });
});
