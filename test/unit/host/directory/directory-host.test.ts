import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { renderFinding } from '../../../../src/api/finding.ts';
import type { CollectorVersionPolicy, SearchExport } from '../../../../src/api/kinds.ts';
import type { BoundaryMessage } from '../../../../src/base/boundary.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { SecretText } from '../../../../src/base/secret-text.ts';
import { deletionDelayMs } from '../../../../src/host/directory/directory-contents.ts';
import type { DirectoryHost } from '../../../../src/host/directory/directory-host.ts';
import { DirectoryView } from '../../../../src/host/directory/directory-view.ts';
import { retentionDays } from '../../../../src/host/directory/resource-records.ts';
import { writeForgetRequest, writeUserRequest } from '../../../../src/host/directory/user-requests.ts';
import type { NewResource, ResourceKey } from '../../../../src/host/host.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import { find, get, ownerOf, policy, Workplace } from '../../../support/workplace.ts';

const statusFile = '.logfleet/status/CollectorVersionPolicy/logging/web.json';

function status(targetVersion: string): NonNullable<CollectorVersionPolicy['status']> {
  return { targetVersion } as NonNullable<CollectorVersionPolicy['status']>;
}

function author(index: number) {
  return { by: `user ${index}`, atMs: index };
}

function version(resource: CollectorVersionPolicy | undefined): string | undefined {
  return resource?.spec.target.version;
}

describe('resources', () => {
  test('are read from all manifests of the directory, with defaults, and with an identity', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    place.write('deep/er/two.yml', `${policy('api')}---\n${policy('db')}`);
    place.write('json.json', JSON.stringify({ ...JSON.parse('{}'), apiVersion: 'v1', kind: 'ConfigMap' }));
    place.write('.hidden/web.yaml', policy('hidden'));
    place.write('notes.txt', policy('notes'));
    const host = await place.open();
    const source = host.resources('CollectorVersionPolicy');
    expect(source.synced()).toBe(true);
    expect([...source.list()].map(({ metadata }) => metadata.name).sort()).toEqual(['api', 'db', 'web']);
    expect(host.problems()).toEqual([]);
    const { metadata, spec } = get(host, 'web');
    expect(metadata).toEqual({
      namespace: 'logging',
      name: 'web',
      uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: '2026-11-01T00:00:00Z',
      annotations: {},
    });
    expect(spec).toMatchObject({ paused: false, mode: 'Enforce' });
  });

  test('without a namespace are in `default`', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web').replace('  namespace: logging\n', ''));
    const host = await place.open();
    expect(host.resources('CollectorVersionPolicy').get({ namespace: 'default', name: 'web' })).toBeDefined();
  });

  test('keep identity, status and generation over a restart', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const first = await place.open();
    const written = await first.writeStatus('CollectorVersionPolicy', { ...get(first, 'web'), status: status('1') });
    await first.close();
    const second = await place.open();
    expect(get(second, 'web')).toEqual(written);
    expect(written.status).toEqual({ targetVersion: '1' });
  });

  test('a changed spec is a new generation, even after a change while no process ran', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const first = await place.open();
    const before = get(first, 'web').metadata;
    place.write('web.yaml', policy('web', '19.501-1'));
    await first.refresh();
    expect(get(first, 'web').metadata).toMatchObject({ uid: before.uid, generation: 2, resourceVersion: '2' });
    await first.close();
    place.write('web.yaml', policy('web', '19.502-1'));
    const second = await place.open();
    expect(get(second, 'web').metadata).toMatchObject({ uid: before.uid, generation: 3 });
    expect(version(get(second, 'web'))).toBe('19.502-1');
  });

  test('the same content in another form is no change', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const before = get(host, 'web');
    place.write('web.yaml', `# the web servers\n${policy('web')}  paused: false\n`);
    await host.refresh();
    expect(get(host, 'web')).toBe(before);
  });

  test('listeners are called for additions, changes and deletions', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const heard: ResourceKey[] = [];
    const stop = host.resources('CollectorVersionPolicy').subscribe((key) => heard.push(key));
    place.write('api.yaml', policy('api'));
    await host.refresh();
    place.write('web.yaml', policy('web', '19.501-1'));
    await host.refresh();
    await host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status: status('1') });
    place.remove('api.yaml');
    await host.refresh();
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(heard.map(({ name }) => name)).toEqual(['api', 'web', 'web', 'api']);
    stop();
    place.write('db.yaml', policy('db'));
    await host.refresh();
    expect(heard.length).toBe(4);
  });

  test('a change is noticed immediately without a call to refresh', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open({ clock: systemClock });
    const heard = new Promise((resolve) => host.resources('CollectorVersionPolicy').subscribe(resolve));
    place.write('web.yaml', policy('web', '19.501-1'));
    await heard;
    expect(version(get(host, 'web'))).toBe('19.501-1');
  });

  test('including in a new folder', async () => {
    const place = new Workplace();
    const host = await place.open({ clock: systemClock });
    const heard = () => new Promise((resolve) => host.resources('CollectorVersionPolicy').subscribe(resolve));
    const first = heard();
    place.write('new/web.yaml', policy('web'));
    await first;
    const second = heard();
    place.write('new/web.yaml', policy('web', '19.501-1'));
    await second;
    expect(version(get(host, 'web'))).toBe('19.501-1');
  });

  test('the poll notices changes that no watch reported', async () => {
    const place = new Workplace();
    const host = await place.open();
    const heard = new Promise((resolve) => host.resources('CollectorVersionPolicy').subscribe(resolve));
    place.write('web.yaml', policy('web'));
    await place.clock.advance(10_000);
    await heard;
    expect(find(host, 'web')).toBeDefined();
  });
});

describe('a manifest that is removed', () => {
  async function deleted(place: Workplace, file = 'web.yaml') {
    const host = await place.open();
    const before = get(host, 'web');
    await host.ledgers.write(ownerOf(before), 'attempts', 'content', undefined);
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', before.metadata, {
      'logfleet.dev/paused': 'true',
    });
    place.remove(file);
    await host.refresh();
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    return { host, before };
  }

  test('retains the resource (D4), which continues unchanged when the manifest is restored', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const { host, before } = await deleted(place);
    expect(find(host, 'web')).toBeUndefined();
    expect(host.notices()).toEqual([expect.stringContaining('CollectorVersionPolicy logging/web')]);
    await expect(host.writeStatus('CollectorVersionPolicy', before)).rejects.toMatchObject({ code: 'host.gone' });
    const late = host.ledgers.write(ownerOf(before), 'attempts', 'late', undefined);
    await expect(late).rejects.toMatchObject({ code: 'host.gone' });
    place.write('web.yaml', policy('web', '19.501-1'));
    await host.refresh();
    const after = get(host, 'web');
    expect(after.metadata).toMatchObject({ uid: before.metadata.uid, generation: 2 });
    expect(after.metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
    expect((await host.ledgers.read(ownerOf(after), 'attempts'))?.content).toBe('content');
    expect(host.notices()).toHaveLength(2);
  });

  test('stays retained over a restart, and continues after it (D4)', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const { host, before } = await deleted(place);
    await host.close();
    const second = await place.open();
    expect([find(second, 'web'), second.notices()]).toEqual([undefined, []]);
    await second.close();
    place.write('other/web.yaml', policy('web'));
    const third = await place.open();
    expect(get(third, 'web').metadata.uid).toBe(before.metadata.uid);
    expect((await third.ledgers.read(ownerOf(before), 'attempts'))?.content).toBe('content');
  });

  test('is discarded by `logfleet forget`, and a manifest of that name is then a new resource (D4)', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const { host, before } = await deleted(place);
    await writeForgetRequest(place.directory, 'CollectorVersionPolicy', before.metadata, { by: 'bob', atMs: 0 });
    await host.refresh();
    expect(existsSync(place.path(statusFile))).toBe(false);
    expect(existsSync(place.path('.logfleet/ledgers/CollectorVersionPolicy/logging/web'))).toBe(false);
    place.write('web.yaml', policy('web'));
    await host.refresh();
    const after = get(host, 'web');
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.metadata.annotations).toEqual({});
    expect(await host.ledgers.read(ownerOf(after), 'attempts')).toBeUndefined();
  });

  test('retains the resource although a user called `logfleet forget` while the manifest existed (D4)', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const { metadata } = get(host, 'web');
    await writeForgetRequest(place.directory, 'CollectorVersionPolicy', metadata, { by: 'bob', atMs: 0 });
    await host.refresh();
    place.remove('web.yaml');
    await host.refresh();
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(host.retained()).toHaveLength(1);
  });

  test('is discarded after the retention time (D4)', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const { host } = await deleted(place);
    place.clock.skewMs += retentionDays * 86_400_000 - 1;
    await host.refresh();
    expect(existsSync(place.path(statusFile))).toBe(true);
    place.clock.skewMs += 1;
    await host.refresh();
    expect(existsSync(place.path(statusFile))).toBe(false);
  });

  test('a deletion while no process ran is noticed and reported by the next start (D3)', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    await (await place.open()).close();
    place.remove('web.yaml');
    const host = await place.openInTime();
    expect(find(host, 'web')).toBeUndefined();
    expect(host.notices()).toHaveLength(1);
    expect(JSON.parse(place.read(statusFile)).retainedSince).toBeDefined();
  });

  test('that moves to another directory keeps its state (D4)', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const before = get(host, 'web');
    await host.ledgers.write(ownerOf(before), 'attempts', 'content', undefined);
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    await host.refresh();
    expect(get(host, 'web')).toEqual({ ...before, metadata: { ...before.metadata, resourceVersion: '2' } });
    expect((await host.ledgers.read(ownerOf(before), 'attempts'))?.content).toBe('content');
    expect(existsSync(place.path('a', statusFile))).toBe(false);
    expect(existsSync(place.path('b', statusFile))).toBe(true);
  });

  test('whose move to another directory was interrupted leaves no state in the former directory (D4)', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const directories = [place.path('a'), place.path('b')];
    const host = await place.open({ directories });
    const owner = ownerOf(get(host, 'web'));
    const version = await host.ledgers.write(owner, 'attempts', 'one', undefined);
    cpSync(place.path('a/.logfleet/status'), place.path('former'), { recursive: true });
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    await host.refresh();
    await host.ledgers.write(owner, 'attempts', 'two', version);
    await host.close();
    // Simulates a process that ended before it could remove the stored status from the former directory.
    cpSync(place.path('former'), place.path('a/.logfleet/status'), { recursive: true });
    const next = await place.open({ directories });
    expect(existsSync(place.path('a', statusFile))).toBe(false);
    expect(await next.ledgers.read(owner, 'attempts')).toMatchObject({ content: 'two' });
  });

  test('keeps its state although another directory has a newer resource of the same name (D4)', async () => {
    const place = new Workplace();
    for (const directory of ['a', 'b']) place.write(`${directory}/web.yaml`, policy('web'));
    await (await place.open({ directories: [place.path('a')] })).close();
    const other = await place.open({ directories: [place.path('b')] });
    const newer = await other.writeStatus('CollectorVersionPolicy', { ...get(other, 'web'), status: status('1') });
    await other.close();
    place.remove('a/web.yaml');
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    expect(get(host, 'web').metadata.uid).toBe(newer.metadata.uid);
    expect(existsSync(place.path('a', statusFile))).toBe(true);
  });

  test('that moves to another directory during writes of the ledger loses no write (U2)', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const owner = ownerOf(get(host, 'web'));
    const first = await host.ledgers.write(owner, 'attempts', '0', undefined);
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    let isMoved = false;
    const moved = host.refresh().then(() => {
      isMoved = true;
    });
    let last = { content: '0', version: first };
    for (let count = 1; !isMoved; count++) {
      const content = String(count);
      last = { content, version: await host.ledgers.write(owner, 'attempts', content, last.version) };
    }
    await moved;
    expect(await host.ledgers.read(owner, 'attempts')).toEqual(last);
    expect(existsSync(place.path('a/.logfleet/ledgers/CollectorVersionPolicy/logging/web'))).toBe(false);
  });

  test('that is missing for a moment, as during saving, does not count as deleted', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const { uid } = get(host, 'web').metadata;
    place.remove('web.yaml');
    await host.refresh();
    place.write('web.yaml', policy('web', '19.501-1'));
    await host.refresh();
    await place.clock.advance(deletionDelayMs * 2);
    await host.refresh();
    expect(get(host, 'web').metadata).toMatchObject({ uid, generation: 2 });
  });

  test('and returns in another file is the same resource', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const before = get(host, 'web');
    place.write('moved/web.yaml', place.read('web.yaml'));
    place.remove('web.yaml');
    await host.refresh();
    expect(get(host, 'web')).toEqual(before);
    expect(host.problems()).toEqual([]);
    expect(JSON.parse(place.read(statusFile)).manifest).toBe('moved/web.yaml');
  });
});

describe('an unusable manifest', () => {
  const bad: [string, string][] = [
    ['a spec that the schema refuses', policy('web').replace('selector: {}', 'selector: 7')],
    ['broken YAML', '{{{'],
    ['an empty spec', policy('web').replace(/spec:.*/s, 'spec: {}\n')],
  ];
  test.each(bad)('%s', async (_, text) => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const first = await place.open();
    const before = await first.writeStatus('CollectorVersionPolicy', { ...get(first, 'web'), status: status('1') });
    place.write('web.yaml', text);
    await first.refresh();
    await place.clock.advance(deletionDelayMs);
    await first.refresh();
    expect(get(first, 'web')).toEqual(before);
    expect(first.problems()[0]).toMatchObject({ severity: 'error', file: place.path('web.yaml') });
    await first.close();
    const second = await place.open();
    expect(get(second, 'web')).toEqual(before);
    place.write('web.yaml', policy('web', '19.501-1'));
    await second.refresh();
    expect(second.problems()).toEqual([]);
    expect(get(second, 'web').metadata).toMatchObject({ uid: before.metadata.uid, generation: 2 });
  });

  test('a problem names file, line, column and member, and is logged once', async () => {
    const place = new Workplace();
    const log = new RecordingLogger();
    const host = await place.open({ log });
    place.write('bad.yaml', policy('web').replace('selector: {}', 'selector: 7'));
    await host.refresh();
    await host.refresh();
    expect(log.warnings().filter((message) => message.includes('spec.selector'))).toHaveLength(2);
    expect(renderFinding(host.problems()[0] as never)).toMatch(/bad\.yaml:9:13: spec\.selector: /);
    place.remove('bad.yaml');
    await host.refresh();
    expect(host.problems()).toEqual([]);
  });

  test('an unknown kind of logfleet, and a manifest without a name, are problems; other kinds are ignored', async () => {
    const place = new Workplace();
    place.write('a.yaml', 'apiVersion: logfleet.dev/v1alpha1\nkind: CollectorPolicy\nmetadata: {name: a}\n');
    place.write('b.yaml', policy('web').replace('  name: web', '  generateName: web-'));
    place.write('c.yaml', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\njust text\n---\n- 1\n');
    place.write('d.yaml', policy('web').replace('logfleet.dev', 'logfleet.io'));
    const host = await place.open();
    expect(host.problems().map(({ file, line }) => [file, line])).toEqual([
      [place.path('a.yaml'), 2],
      [place.path('b.yaml'), 4],
      [place.path('c.yaml'), 5],
      [place.path('c.yaml'), 7],
      [place.path('d.yaml'), 1],
    ]);
  });

  test('a valid document beside an invalid one is used', async () => {
    const place = new Workplace();
    place.write('all.yaml', `${policy('web').replace('selector: {}', 'selector: 7')}---\n${policy('api')}`);
    const host = await place.open();
    expect(find(host, 'web')).toBeUndefined();
    expect(find(host, 'api')).toBeDefined();
  });

  test('resources of a file that cannot be opened do not change', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    place.remove('web.yaml');
    symlinkSync('web.yaml', place.path('web.yaml'));
    await host.refresh();
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(version(find(host, 'web'))).toBe('19.500-1');
    expect(host.problems()).toMatchObject([{ file: place.path('web.yaml'), line: 1, column: 1 }]);
  });

  test('resources of a directory that cannot be listed for a while do not change', async () => {
    const outer = new Workplace();
    outer.write('a/web.yaml', policy('web'));
    outer.write('b/api.yaml', policy('api'));
    const host = await outer.open({ directories: [outer.path('a'), outer.path('b')] });
    outer.remove('a');
    await host.refresh();
    await outer.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(find(host, 'web')).toBeDefined();
    expect(host.problems()).toMatchObject([{ file: outer.path('a') }]);
  });

  test('of two resources with one name, neither counts; a former version stays (D5)', async () => {
    const place = new Workplace();
    place.write('b.yaml', policy('web'));
    const host = await place.open();
    place.write('a.yaml', policy('web', '19.501-1'));
    place.write('c.yaml', `${policy('api')}---\n${policy('api', '19.501-1')}`);
    await host.refresh();
    expect(version(find(host, 'web'))).toBe('19.500-1');
    expect(find(host, 'api')).toBeUndefined();
    expect(host.settings().upgradesBlocked).toContain(place.path('c.yaml'));
    expect(host.problems().map(({ file }) => file)).toEqual([place.path('b.yaml'), place.path('c.yaml')]);
    expect(host.problems().map(({ reason }) => reason)).toEqual(['Duplicate', 'Duplicate']);
    expect(host.problems()[0]?.problem).toContain(`${place.path('a.yaml')}:1`);
    place.write('c.yaml', policy('api'));
    place.remove('b.yaml');
    await host.refresh();
    expect([host.problems(), host.settings().upgradesBlocked]).toEqual([[], undefined]);
    expect([version(find(host, 'web')), version(find(host, 'api'))]).toEqual(['19.501-1', '19.500-1']);
  });

  test('names are unique across directories, each of which has its own state', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    expect(host.problems()).toMatchObject([{ file: place.path('b/web.yaml') }]);
    expect(find(host, 'web')).toBeUndefined();
    expect(existsSync(place.path('b', statusFile.replace('web', 'api')))).toBe(true);
    const other = ownerOf(get(host, 'api'));
    await host.ledgers.write(other, 'attempts', 'x', undefined);
    expect(existsSync(place.path('b/.logfleet/ledgers/CollectorVersionPolicy/logging/api', other.uid))).toBe(true);
  });

  test('names with a path out of the directory are refused', async () => {
    const place = new Workplace();
    place.write('a.yaml', policy('"../../../../evil"'));
    place.write('b.yaml', policy('web').replace('namespace: logging', 'namespace: ..'));
    const host = await place.open();
    expect([...host.resources('CollectorVersionPolicy').list()]).toEqual([]);
    expect(host.problems().length).toBe(2);
  });

  test('a missing directory is reported and not created', async () => {
    const place = new Workplace();
    const missing = place.path('missing');
    await expect(place.open({ directories: [missing] })).rejects.toMatchObject({
      code: 'host.directory',
      message: expect.stringContaining(missing),
    });
    expect(existsSync(missing)).toBe(false);
  });

  test('a directory that is given twice counts once', async () => {
    const place = new Workplace();
    place.write('m/web.yaml', policy('web'));
    symlinkSync(place.path('m'), place.path('link'));
    const host = await place.open({ directories: [place.path('m'), place.path('link'), `${place.path('m')}/`] });
    expect(host.problems()).toEqual([]);
  });
});

describe('a directory that is moved away during a write', () => {
  /** Moves the directory away just before the host writes a file. `name` selects the write, such as `ledger.write`. */
  function moveAwayBefore(place: Workplace, name: string) {
    const away = `${place.directory}-away`;
    onTestFinished(() => rmSync(away, { recursive: true, force: true }));
    const onMessage = (message: unknown) => {
      const boundary = message as BoundaryMessage;
      if (boundary.name !== name || boundary.phase !== 'before') return;
      unsubscribe('logfleet:boundary', onMessage);
      renameSync(place.directory, away);
    };
    subscribe('logfleet:boundary', onMessage);
    onTestFinished(() => void unsubscribe('logfleet:boundary', onMessage));
    return { moveBack: () => renameSync(away, place.directory) };
  }

  async function opened() {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const before = await host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status: status('1') });
    const version = await host.ledgers.write(ownerOf(before), 'head', 'one', undefined);
    return { place, host, before, owner: ownerOf(before), version };
  }

  /**
   * Waits for the time after which a missing manifest counts as deleted. While the directory is unreadable, nothing may
   * be deleted (D3).
   */
  async function outlast({ clock }: Workplace, host: DirectoryHost): Promise<void> {
    await host.refresh();
    await clock.advance(deletionDelayMs);
    await host.refresh();
  }

  test.each(['status.write', 'ledger.write', 'resource.create'])(
    'is not created again, and its resources stay as they were until it is back (D2): %s',
    async (name) => {
      const { place, host, before, owner, version } = await opened();
      const write = () => {
        if (name === 'status.write')
          return host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status: status('2') });
        if (name === 'ledger.write') return host.ledgers.write(owner, 'head', 'two', version);
        const metadata = { namespace: 'logging', name: 'run', annotations: {} };
        return host.create({
          kind: 'SearchExport',
          metadata,
          spec: {},
          owner,
        } as unknown as NewResource<'SearchExport'>);
      };
      const { moveBack } = moveAwayBefore(place, name);
      await expect(write()).rejects.toMatchObject({ code: 'host.disk', handling: { kind: 'backoff' } });
      await expect(host.ledgers.read(owner, 'head')).rejects.toMatchObject({ code: 'host.disk' });
      await outlast(place, host);
      expect(existsSync(place.directory)).toBe(false);
      expect(get(host, 'web')).toBe(before);
      expect(host.notices()).toEqual([]);
      expect(host.problems()).toMatchObject([{ file: place.directory, reason: 'Unreadable' }]);
      moveBack();
      await outlast(place, host);
      expect(host.problems()).toEqual([]);
      expect(get(host, 'web')).toBe(before);
      await write();
      expect(await host.ledgers.read(owner, 'head')).toMatchObject({
        content: name === 'ledger.write' ? 'two' : 'one',
      });
    },
  );

  test('stays unavailable although a command creates its state folder again (D2)', async () => {
    const { place, host, before, owner } = await opened();
    renameSync(place.directory, `${place.directory}-away`);
    onTestFinished(() => rmSync(`${place.directory}-away`, { recursive: true, force: true }));
    mkdirSync(`${place.directory}/.logfleet/requests`, { recursive: true });
    await outlast(place, host);
    expect(get(host, 'web')).toBe(before);
    expect(host.problems()).toMatchObject([{ file: place.directory, reason: 'Unreadable' }]);
    await expect(host.ledgers.read(owner, 'head')).rejects.toMatchObject({ code: 'host.disk' });
    await expect(host.ledgers.write(owner, 'head', 'lost', undefined)).rejects.toMatchObject({ code: 'host.disk' });
    const metadata = { namespace: 'logging', name: 'run', annotations: {} };
    const run = { kind: 'SearchExport', metadata, spec: {}, owner } as unknown as NewResource<'SearchExport'>;
    await expect(host.create(run)).rejects.toMatchObject({ code: 'host.disk' });
    const changed = { ...before, status: status('2') };
    await expect(host.writeStatus('CollectorVersionPolicy', changed)).rejects.toMatchObject({ code: 'host.disk' });
  });

  test('stays unavailable if only its state folder was deleted, but a restart begins without state (D2)', async () => {
    const { place, host, before, owner, version } = await opened();
    rmSync(place.path('.logfleet'), { recursive: true });
    await outlast(place, host);
    expect(get(host, 'web')).toBe(before);
    await expect(host.ledgers.write(owner, 'head', 'lost', version)).rejects.toMatchObject({
      message: expect.stringContaining('restart logfleet, which then begins without the stored state'),
    });
    await host.close();
    const next = get(await place.open(), 'web');
    expect(next.metadata.uid).not.toBe(before.metadata.uid);
    expect(next.status).toBeUndefined();
  });

  test('is reported immediately, then at growing intervals with the start of the outage, until it is back (H2)', async () => {
    const place = new Workplace();
    place.write('m/web.yaml', policy('web'));
    const log = new RecordingLogger();
    const host = await place.open({ directories: [place.path('m')], log });
    renameSync(place.path('m'), place.path('away'));
    await host.refresh();
    const startedAt = place.clock.now();
    const reportedAfter = log.warnings().map(() => 0);
    for (let seconds = 10; seconds <= 100; seconds += 10) {
      await place.clock.advance(10_000);
      await host.refresh();
      if (log.warnings().length > reportedAfter.length) reportedAfter.push(seconds);
    }
    expect(reportedAfter).toEqual([0, 10, 30, 70]);
    const since = new Date(startedAt).toISOString().replace('.000Z', 'Z');
    const reported = /\/m: trying again: cannot be read \(ENOENT.*; mount the directory again .* restart logfleet/;
    for (const line of log.warnings()) expect(line).toMatch(reported);
    for (const line of log.warnings().slice(1)) expect(line).toContain(` ${since}.`);
    renameSync(place.path('away'), place.path('m'));
    await host.refresh();
    expect(log.warnings().at(-1)).toMatch(/^.*\/m: works again .* 1m40s$/);
  });

  test('keeps the stored state of a resource whose manifest was copied to another directory', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const owner = ownerOf(get(host, 'web'));
    await host.ledgers.write(owner, 'head', 'one', undefined);
    renameSync(place.path('a'), place.path('away'));
    place.write('b/web.yaml', policy('web'));
    await host.refresh();
    expect(existsSync(place.path('b', statusFile))).toBe(false);
    renameSync(place.path('away'), place.path('a'));
    place.remove('a/web.yaml');
    await host.refresh();
    expect(await host.ledgers.read(owner, 'head')).toMatchObject({ content: 'one' });
    expect(existsSync(place.path('b', statusFile))).toBe(true);
  });
});

describe('status', () => {
  test('is written under optimistic lock', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const stale = get(host, 'web');
    const fresh = await host.writeStatus('CollectorVersionPolicy', { ...stale, status: status('1') });
    expect(fresh.metadata.resourceVersion).not.toBe(stale.metadata.resourceVersion);
    const late = host.writeStatus('CollectorVersionPolicy', { ...stale, status: status('2') });
    await expect(late).rejects.toMatchObject({ code: 'host.conflict', handling: { kind: 'backoff' } });
    expect(get(host, 'web')).toEqual(fresh);
  });

  test('that is unchanged is not written', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const first = await host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status: status('1') });
    expect(await host.writeStatus('CollectorVersionPolicy', { ...first, status: status('1') })).toBe(first);
  });

  test('does not change the spec', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const before = get(host, 'web');
    const changed = { ...before, spec: { ...before.spec, paused: true }, status: status('1') };
    expect((await host.writeStatus('CollectorVersionPolicy', changed)).spec).toEqual(before.spec);
  });

  test('a half-written file of a dead process is removed and not read', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const first = await place.open();
    const before = await first.writeStatus('CollectorVersionPolicy', { ...get(first, 'web'), status: status('1') });
    await first.close();
    const folder = '.logfleet/status/CollectorVersionPolicy/logging';
    place.write(`${folder}/.web.json.4711.0.tmp`, place.read(statusFile).slice(0, 40));
    const second = await place.open();
    expect(get(second, 'web')).toEqual(before);
    expect(readdirSync(place.path(folder))).toEqual(['web.json']);
  });

  test('a damaged record is reported, and its resource starts with a new status', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    await (await place.open()).close();
    place.write(statusFile, '{');
    const host = await place.open();
    expect(find(host, 'web')).toBeDefined();
    expect(host.problems()).toMatchObject([{ severity: 'warning', file: place.path(statusFile) }]);
  });
});

describe('requests', () => {
  test('override the annotations of the manifest, even after a restart and after a change of the manifest', async () => {
    const place = new Workplace();
    const key = { namespace: 'logging', name: 'web' };
    place.write('web.yaml', policy('web', '19.500-1', '  annotations: {team: web, logfleet.dev/paused: "true"}\n'));
    const first = await place.open();
    expect(get(first, 'web').metadata.annotations).toEqual({ team: 'web', 'logfleet.dev/paused': 'true' });
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', key, { 'logfleet.dev/paused': null });
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', key, { 'logfleet.dev/requestedAt': 'now' });
    await first.refresh();
    const after = { team: 'web', 'logfleet.dev/requestedAt': 'now' };
    expect(get(first, 'web').metadata).toMatchObject({ annotations: after, generation: 1 });
    await first.close();
    place.write('web.yaml', policy('web', '19.501-1', '  annotations: {team: web, logfleet.dev/paused: "true"}\n'));
    const second = await place.open();
    expect(get(second, 'web').metadata).toMatchObject({ annotations: after, generation: 2 });
  });

  test('that two commands write at the same moment both take effect', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const { metadata } = get(host, 'web');
    const wanted = { 'logfleet.dev/paused': 'true', 'logfleet.dev/retry': '1-19.500-1' };
    const commands = Object.entries(wanted).map(([annotation, value], index) =>
      writeUserRequest(place.directory, 'CollectorVersionPolicy', metadata, { [annotation]: value }, author(index)),
    );
    await Promise.all(commands);
    await host.refresh();
    expect(get(host, 'web').metadata).toMatchObject({
      annotations: wanted,
      annotationWriters: { 'logfleet.dev/paused': author(0), 'logfleet.dev/retry': author(1) },
    });
  });

  test('cancel an earlier `logfleet forget`', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const key = { namespace: 'logging', name: 'web' };
    await writeForgetRequest(place.directory, 'CollectorVersionPolicy', key, author(0));
    await writeUserRequest(
      place.directory,
      'CollectorVersionPolicy',
      key,
      { 'logfleet.dev/paused': 'true' },
      author(1),
    );
    const host = await place.open();
    expect(get(host, 'web').metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
  });

  test('replace annotations in a file of an older version, which contains several', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const [paused, approve] = ['logfleet.dev/paused', 'logfleet.dev/approve'];
    const annotations = { [paused]: 'true', [approve]: '1-19.500-1/canary' };
    const key = { namespace: 'logging', name: 'web' };
    const older = JSON.stringify({ kind: 'CollectorVersionPolicy', ...key, annotations });
    place.write('.logfleet/requests/CollectorVersionPolicy_logging_web.json', older);
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', key, { [paused]: null });
    const host = await place.open();
    expect(get(host, 'web').metadata.annotations).toEqual({ [approve]: '1-19.500-1/canary' });
  });

  test('move with their resource to another directory, and only with it', async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('a/web.eu.yaml', policy('web.eu'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const wanted = { 'logfleet.dev/paused': 'true', 'logfleet.dev/requestedAt': 'now' };
    for (const name of ['web', 'web.eu']) {
      await writeUserRequest(place.path('a'), 'CollectorVersionPolicy', get(host, name).metadata, wanted);
    }
    await host.refresh();
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    await host.refresh();
    await host.refresh();
    expect(readdirSync(place.path('b/.logfleet/requests'))).toHaveLength(2);
    for (const name of ['web', 'web.eu']) expect(get(host, name).metadata.annotations).toEqual(wanted);
  });

  test('are noticed immediately', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open({ clock: systemClock });
    const heard = new Promise((resolve) => host.resources('CollectorVersionPolicy').subscribe(resolve));
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', get(host, 'web').metadata, {
      'logfleet.dev/paused': 'true',
    });
    await heard;
    expect(get(host, 'web').metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
  });

  test('requests reach a resource whose manifest is invalid', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    place.write('web.yaml', '{{{');
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', get(host, 'web').metadata, {
      'logfleet.dev/paused': 'true',
    });
    await host.refresh();
    expect(get(host, 'web').metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
  });

  test.each([
    '{',
    '7',
    '{"kind":"constructor","namespace":"a","name":"b","annotations":{}}',
    '{"kind":"CollectorVersionPolicy"}',
  ])('a file that is not a request is a problem: %s', async (text) => {
    const place = new Workplace();
    place.write('.logfleet/requests/x.json', text);
    const host = await place.open();
    expect(host.problems()).toMatchObject([{ file: place.path('.logfleet/requests/x.json') }]);
  });
});

describe('secrets', () => {
  const key = { namespace: 'logging', name: 'log-service' };
  const secret = (members: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: log-service, namespace: logging}\n${members}\n`;

  async function reveal(host: Awaited<ReturnType<Workplace['open']>>) {
    const members = await host.secrets.get(key);
    return members && Object.fromEntries([...members].map(([name, text]) => [name, text.reveal()]));
  }

  test('are read from manifests: base64 under data, text under stringData', async () => {
    const place = new Workplace();
    place.write('secret.yaml', secret('data: {accessId: bXktaWQ=, accessKey: b2xk}\nstringData: {accessKey: new}'));
    const host = await place.open();
    expect(await reveal(host)).toEqual({ accessId: 'my-id', accessKey: 'new' });
  });

  test('without a manifest come from the environment, for every name', async () => {
    const place = new Workplace();
    const host = await place.open({ secretsFromEnvironment: new Map([['accessId', new SecretText('env')]]) });
    expect(await reveal(host)).toEqual({ accessId: 'env' });
    expect(host.secrets.takesVariables?.(key)).toBe(true);
    place.write('secret.yaml', secret('stringData: {accessId: file}'));
    await host.refresh();
    expect(await reveal(host)).toEqual({ accessId: 'file' });
    expect(host.secrets.takesVariables?.(key)).toBe(false);
  });

  test('that do not exist are undefined', async () => {
    expect(await reveal(await new Workplace().open())).toBeUndefined();
  });

  test('Secrets that become invalid stay as they were, and no message shows their values', async () => {
    const place = new Workplace();
    place.write('secret.yaml', secret('stringData: {accessKey: good}'));
    const host = await place.open();
    place.write('secret.yaml', secret('data: {accessKey: canary-4711!}\nstringData: {accessId: 4711}'));
    await host.refresh();
    expect(await reveal(host)).toEqual({ accessKey: 'good' });
    expect(host.problems().map(({ line }) => line)).toEqual([4, 5]);
    expect(JSON.stringify(host.problems())).not.toContain('4711');
    place.remove('secret.yaml');
    await host.refresh();
    expect(await reveal(host)).toEqual({ accessKey: 'good' });
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(await reveal(host)).toBeUndefined();
  });
});

describe('events', () => {
  test('are appended as lines of JSON, and flushed at the end', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const owner = ownerOf(get(host, 'web'));
    host.events.publish(owner, { type: 'Normal', reason: 'RolloutStarted', message: 'one' });
    host.events.publish(owner, { type: 'Warning', reason: 'CollectorsFailed', message: 'two\nlines' });
    await host.close();
    const lines = place.read('.logfleet/events.ndjson').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { time: '2026-11-01T00:00:00.000Z', type: 'Normal', name: 'web', reason: 'RolloutStarted', message: 'one' },
      { type: 'Warning', message: 'two\nlines' },
    ]);
  });

  test('have a maximum size on the disk', async () => {
    const place = new Workplace();
    place.write('.logfleet/events.ndjson', `${'x'.repeat(1024 * 1024)}\n`);
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    host.events.publish(ownerOf(get(host, 'web')), { type: 'Normal', reason: 'A', message: 'new' });
    await host.close();
    expect(place.read('.logfleet/events.ndjson').split('\n').length).toBe(2);
    expect(place.read('.logfleet/events.1.ndjson')).toContain('xxx');
  });
});

describe('an export', () => {
  const key: ResourceKey = { namespace: 'logging', name: 'errors' };
  const manifest = (query: string) => `apiVersion: logfleet.dev/v1alpha1
kind: SearchExport
metadata: {name: errors, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  query: ${query}
  timeRange: {from: "2026-10-01T00:00:00Z", to: "2026-11-01T00:00:00Z"}
  destination: {volume: {name: exports}}
`;

  test('is read beside a policy of the same name, with its defaults, and has a status of its own', async () => {
    const place = new Workplace();
    place.write('all.yaml', `${manifest('error')}---\n${policy('errors')}`);
    const host = await place.open();
    const found = host.resources('SearchExport').get(key);
    expect(found?.spec).toMatchObject({ parallelism: 4, output: { format: 'NDJSON', fields: [] }, limits: {} });
    if (!found) throw new Error('there is no export');
    await host.writeStatus('SearchExport', { ...found, status: { fingerprint: 'abc' } });
    expect(JSON.parse(place.read('.logfleet/status/SearchExport/logging/errors.json')).resource.status).toEqual({
      fingerprint: 'abc',
    });
    expect(get(host, 'errors').status).toBeUndefined();
    await writeUserRequest(place.directory, 'SearchExport', key, { 'logfleet.dev/paused': 'true' });
    await host.refresh();
    expect(host.resources('SearchExport').get(key)?.metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
    expect(get(host, 'errors').metadata.annotations).toEqual({});
  });

  describe('that the operator created', () => {
    async function withRun() {
      const place = new Workplace();
      const directories = [place.path('a'), place.path('b')];
      place.write('b/other.yaml', policy('other'));
      const exported = {
        ...{ credentialsSecretRef: { name: 'log-service' }, query: 'error' },
        destination: { volume: { name: 'exports' } },
      };
      const schedule = {
        ...{ apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExportSchedule' },
        metadata: { namespace: 'logging', name: 'hourly' },
        spec: { schedule: '0 * * * *', template: { spec: exported } },
      };
      place.write('a/schedule.yaml', JSON.stringify(schedule));
      const host = await place.open({ directories });
      const spec = { ...exported, timeRange: { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' } };
      const metadata = { ...key, annotations: {} };
      const found = host.resources('SearchExportSchedule').get(schedule.metadata);
      const owner = { kind: 'SearchExportSchedule', ...schedule.metadata, uid: found?.metadata.uid };
      const create = () =>
        host.create({ kind: 'SearchExport', metadata, spec, owner } as unknown as NewResource<'SearchExport'>);
      await create();
      const run = () => host.resources('SearchExport').get(key);
      return { place, directories, host, run, create, created: run() as SearchExport };
    }

    const openView = ({ clock, random }: Workplace, directories: readonly string[]) =>
      DirectoryView.open({ directories, clock, random });

    test('is not shown by a view after it is deleted', async () => {
      const { place, directories, host, created } = await withRun();
      const view = await openView(place, directories);
      expect(view.resources('SearchExport').get(key)).toEqual(created);
      await host.remove(created);
      await view.refresh();
      expect(view.resources('SearchExport').get(key)).toBeUndefined();
    });

    test('replaces the retained state of a former manifest of the same name', async () => {
      const { place, directories, host, create, created } = await withRun();
      await host.remove(created);
      const { metadata, kind, apiVersion, spec } = created;
      const manifest = { apiVersion, kind, metadata: { namespace: metadata.namespace, name: metadata.name }, spec };
      place.write('a/run.yaml', JSON.stringify(manifest));
      await host.refresh();
      place.remove('a/run.yaml');
      await host.refresh();
      await place.clock.advance(deletionDelayMs);
      await host.refresh();
      expect(host.retained()).toHaveLength(1);
      await create();
      place.clock.skewMs += retentionDays * 86_400_000;
      await host.refresh();
      expect(host.retained()).toEqual([]);
      // The record of the run is still stored.
      const view = await openView(place, directories);
      expect(view.resources('SearchExport').get(key)?.metadata.uid).not.toBe(created.metadata.uid);
      expect(view.resources('SearchExport').get(key)).toBeDefined();
    });

    test('stays if a former export of the same name is deleted again', async () => {
      const { host, run, create, created } = await withRun();
      await host.remove(created);
      await create();
      await host.remove(created);
      expect(run()?.metadata.uid).not.toBe(created.metadata.uid);
      expect(run()).toBeDefined();
    });

    test('is deleted by `logfleet forget`, and can be created again (D4)', async () => {
      const { place, directories, host, run, create, created } = await withRun();
      await writeForgetRequest(directories[0]!, 'SearchExport', key, { by: 'bob', atMs: 0 });
      const view = await openView(place, directories);
      expect(view.resources('SearchExport').get(key)).toBeUndefined();
      await host.refresh();
      expect(run()).toBeUndefined();
      expect(existsSync(place.path('a/.logfleet/status/SearchExport/logging/errors.json'))).toBe(false);
      await create();
      await host.refresh();
      expect(run()?.metadata.uid).not.toBe(created.metadata.uid);
      expect(run()).toBeDefined();
    });

    test('is replaced by a manifest of the same name', async () => {
      const { place, host, run, created } = await withRun();
      place.write('a/errors.yaml', manifest('error'));
      await host.refresh();
      expect(run()?.metadata.owner).toBeUndefined();
      expect(run()?.metadata.uid).not.toBe(created.metadata.uid);
    });

    test('is not shown by a view without its owner, even if the owner was moved to another directory', async () => {
      const { place, directories, host } = await withRun();
      place.write('b/schedule.yaml', place.read('a/schedule.yaml'));
      place.remove('a/schedule.yaml');
      await host.refresh();
      await host.close();
      place.remove('b/schedule.yaml');
      const view = await openView(place, directories);
      expect(view.resources('SearchExport').get(key)).toBeUndefined();
    });
  });

  test('an export does not change if its immutable fields are edited', async () => {
    const place = new Workplace();
    place.write('errors.yaml', manifest('error'));
    const host = await place.open();
    place.write('errors.yaml', manifest('warning'));
    await host.refresh();
    expect(host.resources('SearchExport').get(key)).toMatchObject({
      spec: { query: 'error' },
      metadata: { generation: 1 },
    });
    expect(host.problems().map(renderFinding)).toEqual([
      expect.stringMatching(/errors.yaml:6:10: .*spec.query: cannot be changed.*create another SearchExport/),
    ]);
  });
});
