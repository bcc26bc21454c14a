import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { GetOptions } from '../../../src/cli/command/options.ts';
import { getCommand } from '../../../src/cli/get/get.ts';
import { MemoryReader } from '../../support/memory-reader.ts';
import { recordingContext, shownOn, type Terminal } from '../../support/recording-context.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';
import { sampleExport } from './sample-export.ts';
import { nowMs, rollingStatus, samplePolicy, stagedStatus } from './sample-policy.ts';

const production = samplePolicy();
const staging = samplePolicy({ metadata: { name: 'staging' }, status: undefined });
const elsewhere = samplePolicy({ metadata: { namespace: 'team-a' } });

interface Arguments {
  readonly kind?: string;
  readonly name?: string;
  readonly options?: Partial<GetOptions>;
  readonly terminal?: Terminal;
}

function start(reader: MemoryReader, { kind, name, options, terminal }: Arguments) {
  const context = recordingContext(terminal);
  const clock = new VirtualClock(nowMs);
  const done = getCommand(kind, name, { output: 'table', ...options }, context, { open: async () => reader, clock });
  return { context, clock, done };
}

async function run(reader: MemoryReader, given: Arguments) {
  const { context, done } = start(reader, given);
  const status = await done;
  expect(reader.closed).toBe(true);
  return { status, stdout: context.stdout.text, stderr: context.stderr.text };
}

describe('get', () => {
  it('shows the table of the context’s namespace, in the columns of the CRD', async () => {
    const { status, stdout } = await run(new MemoryReader([staging, elsewhere, production]), { kind: 'cvp' });
    expect(stdout).toBe(
      [
        'NAME         TARGET     UPDATED   IN PROGRESS   FAILED   STATE        AGE',
        'production   19.500-1   180/197   6             2        RollingOut   125m',
        'staging                                                               125m',
        '',
      ].join('\n'),
    );
    expect(status).toBe(0);
  });

  it('shows every kind when none is named', async () => {
    const { stdout } = await run(new MemoryReader([production]), {});
    expect(stdout.split('\n')[1]).toMatch(/^production /);
  });

  it('shows all namespaces with their names for -A', async () => {
    const { stdout } = await run(new MemoryReader([elsewhere, production]), {
      kind: 'cvp',
      options: { allNamespaces: true },
    });
    expect(stdout.split('\n').map((line) => line.split(/ {3,}/).slice(0, 2))).toEqual([
      ['NAMESPACE', 'NAME'],
      ['logging', 'production'],
      ['team-a', 'production'],
      [''],
    ]);
  });

  it.each(['CollectorVersionPolicy', 'collectorversionpolicies', 'collectorversionpolicies.logfleet.dev', 'CVP'])(
    'accepts the kind %s',
    async (kind) => {
      const { stdout } = await run(new MemoryReader([production]), { kind });
      expect(stdout).toContain('production');
    },
  );

  it('reports that no process is running on the directory, unless nothing is left to do, and not for documents', async () => {
    const reported = async (shown: MemoryReader, given: Arguments) => {
      shown.isDirectory = true;
      shown.idleNote = async () => 'Nobody works on this directory: logfleet run .';
      return (await run(shown, given)).stderr;
    };
    expect(await reported(new MemoryReader([production]), { kind: 'cvp' })).toBe(
      'Nobody works on this directory: logfleet run .\n',
    );
    expect(await reported(new MemoryReader([production]), { kind: 'cvp', options: { output: 'json' } })).toBe('');
    const status = {
      conditions: [{ type: 'Complete', status: 'True', reason: 'Exported', message: '', lastTransitionTime: '' }],
    };
    const complete = sampleExport({ status } as Parameters<typeof sampleExport>[0]);
    expect(await reported(new MemoryReader([complete]), { kind: 'sx' })).toBe('');
    const ready = { type: 'Ready', status: 'True', reason: 'AllUpdated', message: '', lastTransitionTime: '' } as const;
    const updated = samplePolicy({ status: { observedGeneration: 3, conditions: [ready] } });
    expect(await reported(new MemoryReader([updated]), { kind: 'cvp' })).toBe('');
    const changed = samplePolicy({ metadata: { generation: 4 }, status: updated.status });
    expect(await reported(new MemoryReader([changed]), { kind: 'cvp' })).toContain('Nobody works on this directory');
    const unseen = sampleExport({ status: undefined });
    expect(await reported(new MemoryReader([unseen]), { kind: 'sx' })).toContain('logfleet verify FOLDER');
  });

  it('names the place searched and ends with 0 if there are no resources', async () => {
    const { status, stdout, stderr } = await run(new MemoryReader([elsewhere]), { kind: 'cvp' });
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: '',
      stderr: 'No collectorversionpolicies in namespace logging of the test. To look in all namespaces, add -A.\n',
    });
  });

  describe('retained resources', () => {
    const staging = {
      kind: 'CollectorVersionPolicy',
      key: { namespace: 'logging', name: 'staging' },
      file: 'policies/b.yaml',
      sinceMs: Date.parse('2026-11-01T10:00:00Z'),
      untilMs: Date.parse('2026-12-01T10:00:00Z'),
    } as const;
    const reader = (...resources: ConstructorParameters<typeof MemoryReader>[0]) => {
      const shown = new MemoryReader(resources, { everyNamespace: true });
      shown.retained = () => [staging];
      return shown;
    };
    const options = { dir: 'policies' };

    it('are below the table, with their retention and the command that discards them', async () => {
      const { stdout } = await run(reader(production), { kind: 'cvp', options });
      expect(stdout.split('\n').slice(3)).toEqual([
        'Retained resources: the manifest is missing, but the state is kept',
        'NAMESPACE   RESOURCE      MANIFEST          MISSING SINCE          KEPT UNTIL',
        'logging     cvp/staging   policies/b.yaml   2026-11-01 10:00 UTC   2026-12-01 10:00 UTC',
        'To continue, restore the manifest. To discard the state: logfleet forget KIND/NAME -n NAMESPACE --dir policies',
        '',
      ]);
    });

    it('are shown without any other resource', async () => {
      expect((await run(reader(), { options })).stdout).toMatch(/^Retained resources: .*\n.*\nlogging +cvp\/staging /);
    });

    it.each([
      { kind: 'sx', options },
      { kind: 'cvp', options: { ...options, namespace: 'elsewhere' } },
      { kind: 'cvp', options: { ...options, output: 'json' } },
    ] as const)('are left out for other requests: %j', async (given) => {
      expect((await run(reader(production), given)).stdout).not.toContain('staging');
    });

    it('are named when a command looks for them', async () => {
      const found = run(reader(production), { kind: 'cvp', name: 'staging', options });
      await expect(found).rejects.toMatchObject({
        code: 'cli.notFound',
        message: expect.stringContaining('logfleet forget cvp/staging --dir policies -n logging'),
      });
    });
  });

  it('shows the details of a named resource', async () => {
    for (const given of [{ kind: 'cvp', name: 'production' }, { kind: 'cvp/production' }]) {
      const { stdout } = await run(new MemoryReader([production, staging]), given);
      expect(stdout).toMatch(/^logging\/production → /);
      expect(stdout).toContain('disk full');
      expect(stdout).not.toContain('staging');
    }
  });

  it('shows a message only once if several conditions have it', async () => {
    const shared = { reason: 'CollectorsFailed', message: 'Two collectors failed.', lastTransitionTime: '' };
    const ready = { type: 'Ready', status: 'True', ...shared } as const;
    const conditions = [ready, { ...ready, type: 'Stalled' }, { ...ready, type: 'Outage', message: 'No response.' }];
    const { stdout } = await run(new MemoryReader([samplePolicy({ status: { conditions } })]), {
      kind: 'cvp/production',
    });
    const lines = stdout.split('\n').filter((line) => /=True|Two|No response/.test(line));
    expect(lines.map((line) => line.trim().replace(/ for .*/, ''))).toEqual([
      'Ready=True',
      'Two collectors failed.',
      'Stalled=True',
      'Outage=True',
      'No response.',
    ]);
  });

  it('shows the command that retries an aborted rollout', async () => {
    const message = 'Aborted by a person. No more upgrades will start.';
    const rollout = {
      id: 'r',
      startTime: '',
      stopped: { reason: 'Aborted' as const, time: '', message: 'Aborted by alice.' },
    };
    const ready = { type: 'Ready', status: 'False', reason: 'Aborted', message, lastTransitionTime: '' } as const;
    const aborted = samplePolicy({ status: { conditions: [ready], rollout } });
    const { stdout } = await run(new MemoryReader([aborted]), {
      kind: 'cvp/production',
      options: { dir: 'manifests' },
    });
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'Aborted by alice. Set another target, or run: logfleet retry cvp/production --dir manifests',
    );
  });

  it('adds the message of Ready for -o wide, even for one resource', async () => {
    for (const name of [undefined, 'production']) {
      const given = { kind: 'cvp', ...(name === undefined ? {} : { name }), options: { output: 'wide' as const } };
      const { stdout } = await run(new MemoryReader([production]), given);
      expect(stdout.split('\n')).toEqual([
        'NAME         TARGET     UPDATED   IN PROGRESS   FAILED   STATE        AGE    STAGE   MESSAGE',
        'production   19.500-1   180/197   6             2        RollingOut   125m           9 collectors are still to be upgraded.',
        '',
      ]);
    }
  });

  it('finds a name in any namespace of a directory', async () => {
    const { stdout } = await run(new MemoryReader([elsewhere, staging], { everyNamespace: true }), {
      kind: 'cvp',
      name: 'production',
    });
    expect(stdout).toMatch(/^team-a\/production → /);
  });

  it('writes one resource as JSON, and several as a List', async () => {
    const one = await run(new MemoryReader([production]), {
      kind: 'cvp',
      name: 'production',
      options: { output: 'json' },
    });
    expect(JSON.parse(one.stdout)).toEqual(production);
    const all = await run(new MemoryReader([production, staging]), { kind: 'cvp', options: { output: 'json' } });
    expect(JSON.parse(all.stdout)).toEqual({ apiVersion: 'v1', kind: 'List', items: [production, staging] });
    const none = await run(new MemoryReader([]), { kind: 'cvp', options: { output: 'json' } });
    expect(JSON.parse(none.stdout)).toEqual({ apiVersion: 'v1', kind: 'List', items: [] });
  });

  it('writes YAML', async () => {
    const { stdout } = await run(new MemoryReader([production]), {
      kind: 'cvp',
      name: 'production',
      options: { output: 'yaml' },
    });
    expect(parse(stdout)).toEqual(production);
  });
});

describe('get sx', () => {
  it('shows exports in the columns of their CRD, below the policies if no kind is named', async () => {
    const reader = new MemoryReader([production, sampleExport()]);
    expect((await run(reader, { kind: 'sx' })).stdout.split('\n').map((line) => line.trim())).toEqual([
      'NAME     STATE       ROWS   PROGRESS   AGE',
      'errors   Exporting   1.2M   42%        5m',
      '',
    ]);
    const all = await run(new MemoryReader([production, sampleExport()]), {});
    expect(all.stdout).toMatch(/^production .*\n\nNAME .*\nerrors /m);
  });

  it('shows the details of an export, also as a document', async () => {
    const { stdout } = await run(new MemoryReader([sampleExport()]), { kind: 'sx', name: 'errors' });
    expect(stdout).toContain('\n1,234,567 rows, 300 MiB of files, in 17 of 40 intervals; 3 duplicates dropped\n');
    const options = { output: 'json' } as const;
    const document = await run(new MemoryReader([sampleExport()]), { kind: 'sx', name: 'errors', options });
    expect(JSON.parse(document.stdout)).toEqual(sampleExport());
  });

  it('--watch shows the live view on a terminal, and lines elsewhere', async () => {
    const reader = new MemoryReader([sampleExport()]);
    const given = { kind: 'sx', name: 'errors', options: { watch: true } };
    const live = start(reader, { ...given, terminal: { columns: 100, rows: 40 } });
    const lines = start(reader, given);
    await settle();
    reader.replace([sampleExport({ status: { summary: { state: 'Exported', rows: '3M', progress: '100%' } } })]);
    await settle();
    for (const { context, done } of [live, lines]) {
      context.stop('SIGINT');
      await done;
    }
    expect(shownOn(live.context.stdout.text)[0]).toMatch(/^logging\/errors {3}Exported +3M rows$/);
    expect(lines.context.stdout.text.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ['NAME', 'STATE', 'ROWS'],
      ['errors', 'Exporting', '1.2M'],
      ['errors', 'Exported', '3M'],
      [''],
    ]);
  });
});

describe('get refuses', () => {
  const refused = (given: Arguments, reader = new MemoryReader([production])) =>
    expect(start(reader, given).done).rejects;

  it('an unknown kind, and lists the kinds', async () => {
    await refused({ kind: 'pod' }).toMatchObject({
      code: 'cli.usage',
      message:
        "unknown kind 'pod'; write cvp (CollectorVersionPolicy) or sx (SearchExport) or sxs (SearchExportSchedule)",
    });
  });

  it('an unknown name', async () => {
    await refused({ kind: 'cvp', name: 'nobody' }).toMatchObject({
      code: 'cli.notFound',
      message: expect.stringMatching(/^cvp\/nobody does not exist in namespace logging of the test\. /),
    });
  });

  it('a name that several namespaces of a directory have', async () => {
    await refused(
      { kind: 'cvp', name: 'production' },
      new MemoryReader([production, elsewhere], { everyNamespace: true }),
    ).toMatchObject({
      code: 'cli.usage',
      message: 'production is in the namespaces logging and team-a; select one of them with -n NAMESPACE',
    });
  });

  it('a name together with -A', async () => {
    await refused({ kind: 'cvp', name: 'production', options: { allNamespaces: true } }).toMatchObject({
      code: 'cli.usage',
    });
  });

  it('two names', async () => {
    await refused({ kind: 'cvp/production', name: 'staging' }).toMatchObject({ code: 'cli.usage' });
    await refused({ kind: 'cvp/production/staging' }).toMatchObject({ code: 'cli.usage' });
  });
});

describe('get --watch', () => {
  const changed = samplePolicy({ status: { ...rollingStatus, summary: { updated: '181/197', state: 'RollingOut' } } });
  const watch: Partial<GetOptions> = { watch: true };

  it('writes a line for each change of a row, and for each deletion', async () => {
    const reader = new MemoryReader([production, staging]);
    const { context, clock, done } = start(reader, { kind: 'cvp', options: watch });
    await settle();
    await clock.advance(60_000);
    reader.replace([changed, staging]);
    reader.replace([{ ...changed, metadata: { ...changed.metadata, resourceVersion: '9' } }, staging]);
    reader.replace([staging]);
    context.stop('SIGINT');
    expect(await done).toBe(0);
    expect(context.stdout.text.split('\n')).toEqual([
      'NAME         TARGET     UPDATED   IN PROGRESS   FAILED   STATE        AGE',
      'production   19.500-1   180/197   6             2        RollingOut   125m',
      'staging                                                               125m',
      'production   19.500-1   181/197   6             2        RollingOut   126m',
      'production   19.500-1   181/197   6             2        RollingOut   126m   deleted',
      '',
    ]);
    expect(reader.closed).toBe(true);
  });

  it('writes the headings of each kind, and the kind before each name, if no kind is named', async () => {
    const finished = sampleExport({ metadata: { name: 'finished' }, status: undefined });
    const reader = new MemoryReader([production, sampleExport()]);
    const { context, done } = start(reader, { options: watch });
    await settle();
    reader.replace([production, sampleExport(), finished]);
    reader.replace([changed, finished]);
    context.stop('SIGINT');
    await done;
    const cells = context.stdout.text.split('\n').map((line) => line.split(/ {3,}/));
    expect(cells.map(([first, second, third]) => [first, second, third])).toEqual([
      ['NAME', 'TARGET', 'UPDATED'],
      ['cvp/production', '19.500-1', '180/197'],
      ['NAME', 'STATE', 'ROWS'],
      ['sx/errors', 'Exporting', '1.2M'],
      ['sx/finished', '5m', undefined],
      ['cvp/production', '19.500-1', '181/197'],
      ['sx/errors', 'Exporting', '1.2M'],
      ['', undefined, undefined],
    ]);
    expect(cells.at(-2)?.at(-1)).toBe('deleted');
  });

  it('writes a document for each change with -o json', async () => {
    const reader = new MemoryReader([production]);
    const { context, done } = start(reader, { kind: 'cvp', options: { ...watch, output: 'json' } });
    await settle();
    reader.replace([production]);
    reader.replace([changed]);
    context.stop('SIGINT');
    await done;
    expect(
      context.stdout.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([production, changed]);
  });

  it('redraws the table on a terminal, even when only time passes', async () => {
    const reader = new MemoryReader([production, staging]);
    const { context, clock, done } = start(reader, { kind: 'cvp', options: watch, terminal: { columns: 100 } });
    await settle();
    reader.replace([changed]);
    expect(shownOn(context.stdout.text)).toEqual([
      'NAME         TARGET     UPDATED   IN PROGRESS   FAILED   STATE        AGE',
      'production   19.500-1   181/197   6             2        RollingOut   125m',
    ]);
    await clock.advance(60_000);
    expect(shownOn(context.stdout.text)[1]).toMatch(/ 126m$/);
    context.stop('SIGINT');
    await done;
    expect(clock.next()).toBeUndefined();
    expect(context.stdout.text.endsWith('\u001b[?25h')).toBe(true);
  });

  it('shows the live view of one resource on a terminal', async () => {
    const reader = new MemoryReader([production, staging]);
    const { context, clock, done } = start(reader, {
      kind: 'cvp',
      name: 'production',
      options: { ...watch, dir: 'manifests' },
      terminal: { columns: 100, rows: 60 },
    });
    await settle();
    await clock.advance(10_000);
    const [canary, linux, ...rest] = stagedStatus.stages!;
    const stages = [canary!, { ...linux!, state: 'AwaitingApproval' as const }, ...rest];
    const collectors = { ...stagedStatus.collectors!, updated: 183 };
    reader.replace([
      samplePolicy({ metadata: { generation: 4 }, status: { ...stagedStatus, stages, collectors } }),
      staging,
    ]);
    const shown = shownOn(context.stdout.text);
    expect(shown[0]).toMatch(/^logging\/production → 19\.500-1 {3}RollingOut +180\/197 updated$/);
    expect(shown.join('\n')).toContain('generation 4');
    expect(shown).toContain('18 upgrades a minute');
    expect(shown).toContain('    to approve: logfleet approve cvp/production --dir manifests --stage linux');
    expect(shown.join('\n')).not.toContain('staging');
    context.stop('SIGINT');
    await done;
  });

  it('offers no approval without a rollout', async () => {
    const stages = [{ name: 'rest', members: 29, updated: 29, failed: 0, state: 'AwaitingApproval' as const }];
    const waiting = { ...stagedStatus, stages };
    const { rollout: _, ...over } = waiting;
    const shownWith = async (status: typeof stagedStatus) => {
      const given = { kind: 'cvp', name: 'production', options: watch, terminal: { columns: 100, rows: 60 } };
      const { context, done } = start(new MemoryReader([samplePolicy({ status })]), given);
      await settle();
      context.stop('SIGINT');
      await done;
      return context.stdout.text;
    };
    expect(await shownWith(waiting)).toContain('logfleet approve');
    expect(await shownWith(over)).not.toContain('logfleet approve');
  });

  it('shows a policy without status on a terminal', async () => {
    const reader = new MemoryReader([samplePolicy({ status: undefined })]);
    const terminal = { columns: 100, rows: 60 };
    const { context, done } = start(reader, { kind: 'cvp', name: 'production', options: watch, terminal });
    await settle();
    expect(shownOn(context.stdout.text).join('\n')).toContain('Check that an operator is running');
    context.stop('SIGINT');
    await done;
  });

  it('names a deleted resource', async () => {
    const reader = new MemoryReader([production]);
    const terminal = { columns: 100, rows: 60 };
    const { context, done } = start(reader, { kind: 'cvp', name: 'production', options: watch, terminal });
    await settle();
    reader.replace([]);
    expect(shownOn(context.stdout.text)).toContain('cvp/production does not exist. Waiting until it is created.');
    context.stop('SIGINT');
    await done;
  });

  it.each([undefined, { columns: 100, rows: 60 }])(
    'reports immediately why changes cannot be followed, and for how long',
    async (terminal) => {
      const reader = new MemoryReader([production]);
      const given = { kind: 'cvp', name: 'production', options: watch, ...(terminal && { terminal }) };
      const { context, clock, done } = start(reader, given);
      await settle();
      reader.trouble('the API server does not answer');
      const reported = () => (terminal ? shownOn(context.stdout.text).join('\n') : context.stderr.text);
      expect(reported()).toContain('the API server does not answer');
      await clock.advance(40_000);
      reader.trouble('the API server does not answer');
      expect(reported()).toContain(terminal ? '40s' : 'This has lasted since 2026-');
      reader.trouble(undefined);
      expect(reported()).toContain(terminal ? 'RollingOut' : 'works again');
      if (terminal) expect(reported()).not.toContain('does not answer');
      context.stop('SIGINT');
      await done;
    },
  );

  it('reports that changes of the last of several kinds cannot be followed', async () => {
    const reader = new MemoryReader([production]);
    const { context, done } = start(reader, { options: watch });
    await settle();
    // The last follower of the reader is the one for the last kind.
    reader.trouble('the API server does not answer');
    expect(context.stderr.text).toContain('the API server does not answer');
    context.stop('SIGINT');
    await done;
  });

  it.each([undefined, { columns: 100, rows: 60 }])(
    'reports when no process is running on the shown resources any more',
    async (terminal) => {
      const reader = new MemoryReader([production]);
      let note: string | undefined;
      reader.isDirectory = true;
      reader.idleNote = async () => note;
      const { context, clock, done } = start(reader, { kind: 'cvp', options: watch, ...(terminal && { terminal }) });
      await settle();
      note = 'No process works on it.';
      await clock.advance(5_000);
      const reported = terminal ? shownOn(context.stdout.text).join('\n') : context.stderr.text;
      expect(reported).toContain(note);
      context.stop('SIGINT');
      await done;
    },
  );

  it('ends with the error with which following fails', async () => {
    const reader = new MemoryReader([production]);
    reader.failure = new Error('no more');
    await expect(start(reader, { kind: 'cvp', options: watch }).done).rejects.toThrow('no more');
    expect(reader.closed).toBe(true);
  });
});
