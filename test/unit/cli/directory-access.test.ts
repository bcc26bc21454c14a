import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { AnyResource } from '../../../src/api/kinds.ts';
import { getCommand } from '../../../src/cli/get/get.ts';
import { pauseAllCommand, pauseCommand, resumeCommand } from '../../../src/cli/person/pause.ts';
import { openDirectory } from '../../../src/cli/resources/directory-access.ts';
import { recordFiles } from '../../../src/host/directory/resource-records.ts';
import { readUserRequests } from '../../../src/host/directory/user-requests.ts';
import { recordingContext, type Terminal } from '../../support/recording-context.ts';
import { settleFiles, VirtualClock } from '../../support/virtual-clock.ts';
import { sampleExport } from './sample-export.ts';
import { rollingStatus, samplePolicy } from './sample-policy.ts';
import { sampleSchedule } from './sample-schedule.ts';

const kind = 'CollectorVersionPolicy';
const uid = '3f0c8e52-7f1c-4a3e-9d6b-0a1b2c3d4e5f';

const manifest = (name: string) => `apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: ${name}, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: 19.500-1}
  selector: {}
`;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'logfleet-'));
  await writeFile(join(directory, 'production.yaml'), manifest('production'));
  await mkdir(join(directory, '.logfleet'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function open(context = recordingContext()) {
  const clock = new VirtualClock(undefined, settleFiles);
  const reader = await openDirectory(directory, context, { clock, user: () => 'alice' });
  reader.warnOfErrors?.();
  return { reader, clock, context };
}

async function writeStatus(status = rollingStatus): Promise<void> {
  const resource = samplePolicy({ status, metadata: { uid } });
  await recordFiles.save({ directory, manifest: 'production.yaml', resource });
}

describe('a directory', () => {
  it('is read although its manifests have no status', async () => {
    const { reader } = await open();
    const [policy, ...others] = await reader.list(kind, undefined);
    expect(others).toEqual([]);
    expect(policy?.metadata).toMatchObject({ namespace: 'logging', name: 'production' });
    expect(policy?.status).toBeUndefined();
    expect(await reader.list(kind, 'elsewhere')).toEqual([]);
    expect(await reader.get(kind, { namespace: 'elsewhere', name: 'production' })).toBeUndefined();
  });

  it('without a running process causes a note', async () => {
    const { reader } = await open();
    expect(await reader.idleNote?.()).toContain(`logfleet run ${directory}`);
  });

  it('without a running process names the volumes of its exports and schedules', async () => {
    const write = (file: string, { apiVersion, kind: of, spec, metadata }: AnyResource) => {
      const { name, namespace } = metadata;
      return writeFile(
        join(directory, file),
        JSON.stringify({ apiVersion, kind: of, spec, metadata: { name, namespace } }),
      );
    };
    await write('export.json', sampleExport());
    const { spec } = sampleSchedule;
    const template = { spec: { ...spec.template.spec, destination: { volume: { name: 'archive' } } } };
    await write('schedule.json', { ...sampleSchedule, spec: { ...spec, template } });
    await write('same-volume.json', sampleExport({ metadata: { name: 'again' } }));
    const { reader } = await open();
    expect(await reader.idleNote?.()).toMatch(/logfleet run \S+ --volume archive=DIR --volume exports=DIR$/);
  });

  it('names its retained resources, with file and times', async () => {
    const resource = samplePolicy({ status: rollingStatus, metadata: { uid, name: 'staging' } });
    const { reader, clock } = await open();
    expect(reader.retained?.()).toEqual([]);
    const retainedSince = new Date(clock.now()).toISOString();
    await recordFiles.save({ directory, manifest: 'b.yaml', resource, retainedSince });
    expect((await open()).reader.retained?.()).toEqual([
      {
        kind,
        key: { namespace: 'logging', name: 'staging' },
        file: join(directory, 'b.yaml'),
        sinceMs: Date.parse(retainedSince),
        untilMs: Date.parse(retainedSince) + 30 * 24 * 3_600_000,
      },
    ]);
  });

  it('is read with the status that an operator wrote', async () => {
    await writeStatus();
    const { reader } = await open();
    const policy = await reader.get(kind, { namespace: 'logging', name: 'production' });
    expect(policy?.status).toEqual(rollingStatus);
    expect(policy?.metadata.uid).toBe(uid);
  });

  it('reports manifests that cannot be used', async () => {
    await writeFile(join(directory, 'bad.yaml'), manifest('bad').replace('19.500-1', 'newest'));
    const { reader, context } = await open();
    expect(await reader.list(kind, undefined)).toHaveLength(1);
    expect(context.stderr.text).toMatch(/bad\.yaml:6:\d+: spec\.target\.version: /);
    expect(context.stderr.text.match(/\n/g)).toHaveLength(1);
  });

  it('reports the first of several errors, and the number of others', async () => {
    for (const name of ['bad', 'worse', 'worst'])
      await writeFile(join(directory, `${name}.yaml`), manifest(name).replace('19.500-1', 'newest'));
    const { context } = await open();
    expect(context.stderr.text).toMatch(
      /^.*bad\.yaml:6:\d+: .*\n2 more errors in the manifests of \S+\. To list all errors: logfleet validate \S+\n$/,
    );
  });

  it('that does not exist is wrong usage', async () => {
    const missing = join(directory, 'missing');
    await expect(openDirectory(missing, recordingContext())).rejects.toMatchObject({
      code: 'cli.usage',
      message: `--dir ${missing} is not a directory; use the directory of the manifests, such as --dir ./policies`,
    });
  });

  it('is followed until the signal', async () => {
    const { reader, clock } = await open();
    const stop = new AbortController();
    const seen: (readonly AnyResource[])[] = [];
    const heard = { wake: () => {} };
    const next = () => new Promise<void>((resolve) => (heard.wake = resolve));
    const first = next();
    const done = reader.follow(
      kind,
      undefined,
      (resources) => {
        seen.push(resources);
        heard.wake();
      },
      stop.signal,
    );
    await first;
    expect(seen[0]?.[0]?.status).toBeUndefined();
    await writeStatus();
    const second = next();
    const looking = (async () => {
      while (seen.length < 2) await clock.advance(100);
    })();
    await second;
    expect(seen[1]?.[0]?.status).toEqual(rollingStatus);
    stop.abort();
    await Promise.all([done, looking]);
  });

  it('reports an error in a changed manifest while it is followed', async () => {
    const { reader, clock } = await open();
    const stop = new AbortController();
    const troubles: (string | undefined)[] = [];
    const onTrouble = (message: string | undefined) => troubles.push(message);
    const done = reader.follow(kind, undefined, () => {}, stop.signal, onTrouble);
    const troubleWith = async (version: string) => {
      await writeFile(join(directory, 'production.yaml'), manifest('production').replace('19.500-1', version));
      await clock.advance(2_000);
      return troubles.at(-1);
    };
    // Waits for the first read. Otherwise, the file could be read while it is being written, which could cause another
    // error.
    await clock.advance(0);
    expect(await troubleWith('newest')).toMatch(/production\.yaml:6:\d+: spec\.target\.version: .*newest/);
    expect(await troubleWith('oldest')).toMatch(/production\.yaml:6:\d+: spec\.target\.version: .*oldest/);
    // The error is reported after each read, although `logfleet get --watch` prints it only at increasing intervals.
    expect(troubles.filter((message) => message?.includes('oldest')).length).toBeGreaterThan(1);
    expect(await troubleWith('19.500-1')).toBeUndefined();
    stop.abort();
    await done;
  });

  it('takes pause and resume as requests, without a change to the manifest', async () => {
    const run = async (command: typeof pauseCommand) => {
      const context = recordingContext();
      expect(await command('cvp/production', { dir: directory }, context)).toBe(0);
      const { reader } = await open();
      const policy = await reader.get(kind, { namespace: 'logging', name: 'production' });
      return { text: context.stdout.text, paused: policy?.metadata.annotations[annotations.paused] };
    };
    expect(await run(pauseCommand)).toMatchObject({ paused: 'true', text: expect.stringContaining(': paused') });
    expect(await run(pauseCommand)).toMatchObject({
      paused: 'true',
      text: expect.stringContaining('was already paused'),
    });
    expect(await run(resumeCommand)).toMatchObject({ paused: undefined, text: expect.stringContaining(': resumed.') });
  });

  it('stores author and time of a request only for the operator', async () => {
    const { reader, clock } = await open();
    const key = { namespace: 'logging', name: 'production' };
    await reader.annotate(kind, key, { name: annotations.approve, value: '3-19.500-1/canary' });
    const { requests } = await readUserRequests(directory);
    expect(requests).toMatchObject([{ writers: { [annotations.approve]: { by: 'alice', atMs: clock.now() } } }]);
    const { reader: second } = await open();
    const read = [await second.get(kind, key), ...(await second.list(kind, undefined))];
    expect(read.map((policy) => policy?.metadata.annotations)).toEqual(
      Array(2).fill({ [annotations.approve]: '3-19.500-1/canary' }),
    );
    for (const policy of read) expect(policy?.metadata).not.toHaveProperty('annotationWriters');
  });

  it('is paused by a request, and resumed unless a manifest pauses it', async () => {
    const options = { all: true, dir: directory };
    const say = async (paused: boolean, status = 0) => {
      const context = recordingContext();
      expect(await pauseAllCommand(paused, options, context)).toBe(status);
      return context.stdout.text.replaceAll(directory, 'DIR');
    };
    expect(await say(false)).toBe('everything in DIR: was not paused.\n');
    expect(await say(true)).toMatch(/^everything in DIR: paused; .*\. To resume: logfleet resume --all --dir DIR\n$/);
    expect((await readUserRequests(directory)).settings).toMatchObject({
      paused: true,
      writer: { by: expect.any(String), atMs: expect.any(Number) },
    });
    expect(await say(true)).toMatch(/^everything in DIR: was already paused by .* \(logfleet pause --all\); upgrades/);
    expect(await say(false)).toBe('everything in DIR: resumed.\n');
    const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logfleet-settings}\ndata: {paused: "true"}\n';
    await writeFile(join(directory, 'settings.yaml'), configMap);
    expect(await say(false, 1)).toBe(
      'everything in DIR: still paused by the ConfigMap logfleet-settings in DIR/settings.yaml. To resume, change the manifest.\n',
    );
  });

  describe('with an error in a manifest', () => {
    beforeEach(() => writeFile(join(directory, 'bad.yaml'), manifest('bad').replace('19.500-1', 'newest')));

    it.each([undefined, { columns: 200, rows: 40 }])('is watched by get, with a single report', async (terminal) => {
      const { done, context } = watch(undefined, terminal);
      await done;
      const shown = `${context.stdout.text}${context.stderr.text}`;
      expect(shown.match(/bad\.yaml:6:\d+: spec\.target\.version: /g)).toHaveLength(1);
    });

    it('is watched by get, with the number of other errors', async () => {
      await writeFile(join(directory, 'worse.yaml'), manifest('worse').replace('19.500-1', 'newest'));
      const { done, context } = watch();
      await done;
      expect(context.stderr.text).toMatch(
        /bad\.yaml:6:.*\. 1 more error in the manifests of .*\. To list all errors: logfleet validate \S+\n/,
      );
    });

    it('is not watched if the named resource is missing, but the error is reported', async () => {
      const { done, context } = watch('bad');
      await expect(done).rejects.toMatchObject({ code: 'cli.notFound' });
      expect(context.stderr.text.match(/bad\.yaml:6:\d+: spec\.target\.version: /g)).toHaveLength(1);
    });

    /** Starts `logfleet get cvp --watch`. Stops the command when it has shown the resource `production`. */
    function watch(name?: string, terminal?: Terminal) {
      const context = recordingContext(terminal);
      const write = context.stdout.write;
      context.stdout.write = (text) => {
        write.call(context.stdout, text);
        if (text.includes('production')) context.stop('SIGINT');
      };
      const done = getCommand('cvp', name, { output: 'table', watch: true, dir: directory }, context);
      return { done, context };
    }
  });

  it('is shown by get, with namespaces', async () => {
    await writeStatus();
    const context = recordingContext();
    expect(await getCommand('cvp', undefined, { output: 'table', dir: directory }, context)).toBe(0);
    const [headings, row] = context.stdout.text.split('\n');
    expect(headings).toMatch(/^NAMESPACE {3}NAME {9}TARGET/);
    expect(row).toMatch(/^logging {5}production {3}19\.500-1 {3}180\/197/);
  });
});
