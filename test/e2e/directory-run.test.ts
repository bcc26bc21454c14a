/** Tests `logfleet run DIR` with policies: signals, a second process, and user errors. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { test } from './support/end-to-end.ts';
import { policyManifest } from './support/manifest-directory.ts';
import { expectPromiseKept } from './support/oracles.ts';
import { nameInHints, runToEnd } from './support/program.ts';
import { newestVersion, olderVersion, oldVersion, targetVersion } from './support/simulator.ts';

vi.setConfig({ maxConcurrency: 20 });

const quick = { duration: '2s' };
const once = { retryLimit: 2 };

describe.concurrent('a rollout', () => {
  test('runs from the manifests to completion', async ({ tenant, manifests, start }) => {
    await tenant.equip({
      groups: {
        web: { count: 4, versions: [oldVersion, olderVersion], upgrade: quick },
        cloud: { count: 1, collectorType: 'Hosted' },
      },
    });
    const metadata = { name: 'log-service', namespace: 'logging' };
    await manifests.write(
      'secret.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: tenant.secret }),
    );
    await manifests.policy('production');
    const { status, stdout } = await (await start(['run', manifests.path, '--grace', '1s'])).ended;
    expect(stdout).toBe(`logging/production: AllUpdated: 4 of 4 collectors run ${targetVersion}.\n`);
    expect(status).toBe(0);
    expect((await tenant.collectors()).map(({ version }) => version)).toEqual([...Array(4).fill(targetVersion), '']);
    await expectPromiseKept(tenant, once);
  });

  test.for([['SIGINT'], ['SIGTERM']] as const)(
    'continues after %s at the next start',
    async ([signal], { tenant, manifests, run }) => {
      const web = { count: 8, version: oldVersion };
      // The upgrades take long, so that some of them are still running when the signal arrives.
      await tenant.equip({ groups: { web: { ...web, upgrade: { duration: '20s' } } } });
      await manifests.policy('production', { strategy: { maxInProgress: 3 } });
      const first = await run();
      await tenant.posted(2);
      first.signal(signal);
      const interrupted = await first.ended;
      expect(interrupted).toMatchObject({ status: 130, signal: null, stdout: '' });
      expect(interrupted.stderr).toMatch(
        new RegExp(`^logfleet run: interrupted; .* the next ${nameInHints} run `, 'm'),
      );
      await tenant.equip({ groups: { web: { ...web, upgrade: quick } } });
      const { status, stdout } = await (await run()).ended;
      expect(stdout).toBe(`logging/production: AllUpdated: 8 of 8 collectors run ${targetVersion}.\n`);
      expect(status).toBe(0);
      await expectPromiseKept(tenant, once);
    },
  );

  test('with failed collectors ends with status 1 and names the collectors', async ({ tenant, manifests, run }) => {
    const upgrade = { ...quick, outcomes: [{ end: 'fail', message: 'No space left.' }] } as const;
    await tenant.equip({
      groups: {
        web: { count: 2, version: oldVersion, upgrade: quick },
        full: { count: 1, version: oldVersion, upgrade },
      },
    });
    await manifests.policy('production', { retryPolicy: { limit: 0 } });
    const { status, stdout } = await (await run()).ended;
    expect(stdout).toMatch(/^logging\/production: CollectorsFailed: .*19\.500-1/);
    expect(status).toBe(1);
    const { status: found } = await manifests.status('production');
    expect(found?.failureReasons).toEqual([expect.objectContaining({ count: 1, examples: [`${tenant.user}-full-1`] })]);
    expect(JSON.stringify(found?.failureReasons)).toContain('No space left.');
    await expectPromiseKept(tenant, { retryLimit: 0, failures: true });
  });

  test('does not start in a directory that is in use by another process', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    const first = await run(['--watch']);
    await first.line(/AllUpdated/);
    const { status, stdout, stderr } = await (await run()).ended;
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`process ${first.pid} .*is using this directory .*stop that process or wait`));
    expect(first.signal('SIGINT')).toBe(undefined);
    expect((await first.ended).status).toBe(130);
  });

  test.for([
    [[], 130],
    [['--watch'], 0],
  ] as const)(
    'ends on SIGTERM while it waits for a process on another machine: %j',
    async ([flags, status], { tenant, manifests, run }) => {
      await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
      await manifests.policy('production');
      const other = { pid: 1, processStart: '', hostname: 'elsewhere', scope: 'elsewhere', since: '', token: 'other' };
      const lock = JSON.stringify(other);
      await mkdir(join(manifests.path, '.logfleet'));
      await manifests.write('.logfleet/lock', lock);
      const first = await run(flags);
      await first.line(/waiting up to 30 s, because process 1 on host elsewhere/);
      first.signal('SIGTERM');
      expect(await first.ended).toMatchObject({ status, stdout: '' });
      expect(await readFile(join(manifests.path, '.logfleet/lock'), 'utf8')).toBe(lock);
    },
  );

  test('ends with status 1 when another process has taken over the directory', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    const first = await run(['--watch']);
    await first.line(/AllUpdated/);
    const other = { pid: 1, processStart: '', hostname: 'standby', scope: 'standby', since: '', token: 'other' };
    await manifests.write('.logfleet/lock', JSON.stringify(other));
    const { status, stderr } = await first.ended;
    expect(stderr).toMatch(/^logfleet run: process 1 on host standby.* has taken over this directory/m);
    expect(status).toBe(1);
  });
});

describe.concurrent('invalid manifests', () => {
  test('are reported with position and remedy, and end the run with status 2', async ({ manifests, run }) => {
    await manifests.write(
      'typing.yaml',
      'apiVersion: logfleet.dev/v1alpha1\nkind: CollectorVersionPolicy\nmetadata: {name: a}\nspce: {}\n',
    );
    const { status, stderr } = await (await run()).ended;
    expect(stderr).toMatch(/typing\.yaml:4:1: spce: .*\bspec\b/);
    expect(status).toBe(2);
  });

  test('in the first run stop all policies until they are corrected (D1)', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    await manifests.policy('broken', { target: { version: 'newest' } });
    const { status, stdout, stderr } = await (await run()).ended;
    expect(stdout).toMatch(/^logging\/production: ManifestUnusable: .*broken\.yaml/);
    expect(stderr).toMatch(/broken\.yaml:\d+:\d+: spec\.target\.version: /);
    expect(status).toBe(2);
    expect(await tenant.tasks()).toEqual([]);
    await manifests.delete('broken.yaml');
    const { stdout: after, status: end } = await (await run()).ended;
    expect(after).toBe(`logging/production: AllUpdated: 1 of 1 collectors run ${targetVersion}.\n`);
    expect(end).toBe(0);
  });
});

describe.concurrent('while --watch runs', () => {
  test('a new target starts a rollout, a broken manifest changes nothing, and a deleted manifest ends it', async ({
    tenant,
    manifests,
    run,
  }) => {
    await tenant.equip({ groups: { web: { count: 3, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    const program = await run(['--watch']);
    await program.line(/AllUpdated; target 19\.500-1/);
    await manifests.write('production.yaml', 'spec: [never\n');
    await program.line(/production\.yaml:\d+:\d+: /);
    await manifests.policy('production', { target: { version: newestVersion } });
    await program.line(/AllUpdated; target 19\.501-7/);
    const tasks = await tenant.tasks();
    expect(tasks.map(({ toVersion }) => toVersion)).toEqual([
      ...Array(3).fill(targetVersion),
      ...Array(3).fill(newestVersion),
    ]);
    await manifests.delete('production.yaml');
    await program.line(/^logging\/production: deleted$/);
    const { status, stdout } = await runToEnd(['get', 'cvp', '--dir', manifests.path]);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^Retained resources: .*cvp\/production /s),
    });
  });

  test('a target that changes during a rollout waits for tasks in flight', async ({ tenant, manifests, run }) => {
    // The upgrades to the first target take long, so that the first rollout is still running when the target changes.
    const outcomes = [{ end: 'succeed', duration: '12s', toVersion: targetVersion }] as const;
    await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: { ...quick, outcomes } } } });
    await manifests.policy('production', { strategy: { maxInProgress: 2 } });
    const program = await run(['--watch']);
    await tenant.posted(2);
    await manifests.policy('production', { target: { version: newestVersion } });
    await program.line(/AllUpdated; target 19\.501-7/);
    const collectors = await tenant.collectors();
    expect(collectors.map(({ version }) => version)).toEqual(Array(6).fill(newestVersion));
    const history = (await manifests.status('production')).status?.history?.map(({ outcome }) => outcome);
    expect(history).toEqual(['Completed', 'Superseded']);
    await expectPromiseKept(tenant, { retryLimit: 2, failures: true });
  });
});

describe.concurrent('user actions', () => {
  test('after a pause, no upgrade starts, a resume continues the rollout, and neither changes the manifest', async ({
    tenant,
    manifests,
    run,
  }) => {
    // The upgrades run one after another, so some have not started when `pause` takes effect.
    await tenant.equip({ groups: { web: { count: 20, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production', { strategy: { maxInProgress: 1 } });
    const program = await run(['--watch']);
    await tenant.posted(2);
    const paused = await runToEnd(['pause', 'cvp/production', '--dir', manifests.path]);
    expect(paused.stdout).toMatch(/^cvp\/production in namespace logging: paused[;.]/);
    await program.line(/production: Paused; .*in progress 0/);
    const atPause = (await tenant.tasks()).length;
    expect(atPause).toBeLessThan(20);
    // Waits until the operator has read the list of builds again. By then, an operator that ignored the pause would
    // have started another upgrade.
    const reads = tenant.journal().filter(({ operation }) => operation === 'listBuilds').length;
    await tenant.journalUntil(
      (journal) => journal.filter(({ operation }) => operation === 'listBuilds').length > reads,
    );
    expect((await tenant.tasks()).length).toBe(atPause);
    const shown = await runToEnd(['get', 'cvp', '--dir', manifests.path]);
    expect(shown.stdout).toMatch(/^NAMESPACE +NAME +TARGET +UPDATED +IN PROGRESS +FAILED +STATE +AGE\n/);
    expect(shown.stdout).toMatch(
      new RegExp(`\nlogging +production +${targetVersion} +\\d+/20 +0 +0 +Paused +[\\dms]+\n$`),
    );
    // All other upgrades run at the same time.
    const spec = { strategy: { maxInProgress: 100 } };
    await manifests.policy('production', spec);
    const resumed = await runToEnd(['resume', 'cvp/production', '--dir', manifests.path]);
    expect(resumed.stdout).toBe('cvp/production in namespace logging: resumed.\n');
    await program.line(/AllUpdated/);
    const json = await runToEnd(['get', 'cvp', 'production', '-o', 'json', '--dir', manifests.path]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...policyManifest('production', spec),
      status: { summary: { updated: '20/20', state: 'AllUpdated' } },
    });
    await expectPromiseKept(tenant, once);
  });

  test('a paused run ends, and shows how to resume it', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production', { paused: true });
    const { status, stdout } = await (await run()).ended;
    expect(stdout).toMatch(/^logging\/production: Paused: .* remove 'paused: true' .*\n$/);
    expect(status).toBe(0);
    expect(await tenant.tasks()).toEqual([]);
    const resume = `${nameInHints} resume cvp/production --dir ${manifests.path}`;
    await manifests.policy('production');
    await runToEnd(['pause', 'cvp/production', '--dir', manifests.path]);
    expect((await (await run()).ended).stdout).toMatch(
      new RegExp(`^logging/production: Paused: .* To resume: ${resume}\n$`),
    );
    const shown = await runToEnd(['get', 'cvp', 'production', '--dir', manifests.path]);
    expect(shown.stdout).toMatch(new RegExp(`To resume: ${resume}$`, 'm'));
  });

  test('a run of a paused directory shows how to resume everything', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    await runToEnd(['pause', '--all', '--dir', manifests.path]);
    const { status, stdout } = await (await run()).ended;
    expect(status).toBe(0);
    const resume = /^logging\/production: Paused: .* To resume: (.*)\n$/.exec(stdout)?.[1];
    expect(resume).toBe(`${nameInHints} resume --all --dir ${manifests.path}`);
  });

  test('a run does not show the state of an earlier run, and --watch ends with 0 after SIGTERM', async ({
    tenant,
    manifests,
    run,
  }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    expect((await (await run()).ended).status).toBe(0);
    await tenant.equip({ groups: { web: { count: 2, version: targetVersion } } });
    const program = await run(['--watch']);
    await program.line(/AllUpdated/);
    program.signal('SIGTERM');
    const { status, stderr } = await program.ended;
    expect(status).toBe(0);
    const states = stderr.split('\n').filter((line) => line.startsWith('logging/production: '));
    expect(states).toEqual([
      'logging/production: AllUpdated; target 19.500-1, updated 2/2, in progress 0, pending 0, failed 0',
    ]);
    expect(stderr).toMatch(/^logfleet run: interrupted; no upgrade is in flight/m);
  });
});

describe.concurrent('invalid credentials end the run with status 1 and a remedy:', () => {
  test.for([
    [
      'a key that the service refuses',
      { LOGFLEET_ACCESS_KEY: 'none' },
      /Unauthorized: .*401.* check LOGFLEET_ACCESS_ID and LOGFLEET_ACCESS_KEY/,
    ],
    ['no key at all', { LOGFLEET_ACCESS_KEY: '' }, /SecretIncomplete: LOGFLEET_ACCESS_KEY is not set/],
    [
      'no credentials at all',
      { LOGFLEET_BASE_URL: '', LOGFLEET_ACCESS_ID: '', LOGFLEET_ACCESS_KEY: '' },
      /SecretNotFound: .*Secret logging\/log-service/,
    ],
    [
      'an address without TLS',
      { LOGFLEET_BASE_URL: 'http://127.0.0.1/api' },
      /AddressInvalid: LOGFLEET_BASE_URL starts with http:\/\//,
    ],
    [
      'an authority that is not known',
      { LOGFLEET_CA_FILE: '' },
      /CertificateNotTrusted: .* set LOGFLEET_CA_FILE to the name of the file/,
    ],
  ] as const)('%s', async ([, env, story], { tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await manifests.policy('production');
    const { status, stdout } = await (await run([], { env })).ended;
    expect(stdout).toMatch(story);
    expect(status).toBe(1);
    expect(await tenant.tasks()).toEqual([]);
  });
});
