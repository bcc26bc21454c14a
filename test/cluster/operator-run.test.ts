/** Tests an operator installed from `manifests/`: the status it writes, its recovery, and user actions. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, vi } from 'vitest';
import { packageVersion } from '../../src/cli/command/package-folder.ts';
import { operatorLeaseName } from '../../src/host/kubernetes/api-paths.ts';
import { conditionOf, type Namespace, test } from '../e2e/support/cluster.ts';
import { expectPromiseKept } from '../e2e/support/oracles.ts';
import { nameInHints, runToEnd } from '../e2e/support/program.ts';
import { newestVersion, oldVersion, targetVersion } from '../e2e/support/simulator.ts';
import { controlPlane } from '../support/control-plane.ts';
import { freePorts } from '../support/supervised-program.ts';

vi.setConfig({ maxConcurrency: 20 });

const quick = { duration: '2s' };
const once = { retryLimit: 2 };

test.concurrent('an applied policy completes, and status, Events and commands agree', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 4, version: oldVersion, upgrade: quick } } });
  await operator();
  await namespace.apply(namespace.secretManifest(tenant), namespace.policyManifest('production'));
  const policy = await namespace.policyUntil('production', ({ status }) => status?.summary?.state === 'AllUpdated');
  expect((await tenant.collectors()).map(({ version }) => version)).toEqual(Array(4).fill(targetVersion));
  await expectPromiseKept(tenant, once);

  expect(policy.status).toMatchObject({ observedGeneration: 1, targetVersion, summary: { updated: '4/4' } });
  expect(policy.status?.collectors).toMatchObject({ matched: 4, updated: 4, inProgress: 0, pending: 0, failed: 0 });
  expect(policy.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
    ['Ready', 'True', 'AllUpdated'],
  ]);
  const message = `4 of 4 collectors run ${targetVersion}.`;
  expect(conditionOf(policy, 'Ready')?.message).toBe(message);

  const shown = await namespace.kubectl(['get', 'cvp']);
  expect(columns(shown.stdout)).toEqual([
    ['NAME', 'TARGET', 'UPDATED', 'IN PROGRESS', 'FAILED', 'STATE', 'AGE'],
    ['production', targetVersion, '4/4', '0', '0', 'AllUpdated', expect.stringMatching(/^[\dms]+$/)],
  ]);
  const ours = await runToEnd(['get', 'cvp', '-n', namespace.name, '--kubeconfig', controlPlane().adminKubeconfig]);
  expect(withoutAge(ours.stdout)).toEqual(withoutAge(shown.stdout));
  const wide = await namespace.kubectl(['get', 'cvp', '-o', 'wide']);
  expect(wide.stdout).toContain(message);

  const eventReasons = ['RolloutStarted', 'RollingOut', 'AllUpdated'];
  await namespace.events(policy, eventReasons);
  const { stdout: described } = await namespace.kubectl(['describe', 'cvp', 'production']);
  expect(described).toContain(message);
  for (const reason of eventReasons) expect(described).toMatch(new RegExp(`Normal +${reason} `));
});

test.concurrent('a second operator in the same namespace does nothing, and a condition reports this (L2)', async ({
  tenant,
  namespace,
  operator,
  start,
}) => {
  await tenant.equip({ groups: { web: { count: 2, version: oldVersion, upgrade: quick } } });
  await operator();
  await namespace.apply(namespace.secretManifest(tenant), namespace.policyManifest('production'));
  await namespace.reason('production', 'AllUpdated');
  const where = ['--kubeconfig', controlPlane().adminKubeconfig, '--namespaces', namespace.name];
  await start(['run', ...where, '--operator-namespace', 'default', '--no-leader-election']);
  const policy = await namespace.reason('production', 'OtherOperator', 'OtherOperator');
  expect(policy.status?.operators?.map(({ name }) => name)).toEqual([namespace.name, 'default']);
  expect(conditionOf(policy, 'Ready')).toMatchObject({ status: 'True', reason: 'AllUpdated' });
  await expectPromiseKept(tenant, once);
});

test.concurrent('an annotation pauses a policy, and removing it resumes the policy', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: quick } } });
  await operator();
  await namespace.apply(
    namespace.secretManifest(tenant),
    namespace.policyManifest('production', { strategy: { maxInProgress: 2 } }),
  );
  await tenant.posted(2);
  const where = ['-n', namespace.name, '--kubeconfig', controlPlane().adminKubeconfig];
  const { stdout } = await runToEnd(['pause', 'cvp/production', ...where]);
  expect(stdout).toMatch(/^cvp\/production in namespace .*: paused[;.]/);
  const paused = await namespace.reason('production', 'Paused');
  expect(conditionOf(paused, 'Ready')?.status).toBe('Unknown');
  // Upgrade requests may still be in flight when the status shows the pause.
  await namespace.policyUntil('production', ({ status }) => status?.collectors?.inProgress === 0);
  const atPause = (await tenant.tasks()).length;
  await namespace.kubectl(['annotate', 'cvp', 'production', 'logfleet.dev/requestedAt=now']);
  await namespace.policyUntil('production', ({ status }) => status?.lastHandledReconcileAt === 'now');
  expect((await tenant.tasks()).length).toBe(atPause);
  await namespace.kubectl(['annotate', 'cvp', 'production', 'logfleet.dev/paused-']);
  await namespace.reason('production', 'AllUpdated');
  expect((await tenant.tasks()).length).toBe(6);
  await expectPromiseKept(tenant, once);
});

test.concurrent('logfleet version shows the version that the leader wrote to its lease', async ({
  namespace,
  operator,
}) => {
  await operator();
  await untilLeaderWorks(namespace);
  const flags = ['--operator-namespace', namespace.name, '--kubeconfig', controlPlane().adminKubeconfig];
  // On a busy machine, the leader may renew its lease late. The command then shows no leader, so the test repeats the
  // command.
  const line = `operator ${packageVersion()} in namespace ${namespace.name}\n`;
  const version = async () => {
    const { stdout, stderr } = await runToEnd(['version', ...flags]);
    expect(stderr).toBe('');
    expect(stdout).toContain(line);
  };
  await vi.waitFor(version, { timeout: 300_000 });
});

test.concurrent("the operator's settings pause and resume all policies", async ({ tenant, namespace, operator }) => {
  await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: quick } } });
  await operator();
  await untilLeaderWorks(namespace);
  const where = ['--operator-namespace', namespace.name, '--kubeconfig', controlPlane().adminKubeconfig];
  // On a busy machine, the leader may renew its lease late. The command then warns that no operator is running, so the
  // test repeats the command.
  const pause = async () => {
    const paused = await runToEnd(['pause', '--all', ...where]);
    expect(paused).toMatchObject({ status: 0, stderr: '' });
    expect(paused.stdout).toContain(
      `${nameInHints} resume --all ${where.slice(2).join(' ')} ${where.slice(0, 2).join(' ')}\n`,
    );
  };
  await vi.waitFor(pause, { timeout: 300_000 });
  await namespace.apply(namespace.secretManifest(tenant), namespace.policyManifest('production'));
  const seen = (message: string | undefined) =>
    message?.includes('the ConfigMap logfleet-settings in namespace') ?? false;
  await namespace.policyUntil('production', (policy) => seen(conditionOf(policy, 'Ready')?.message));
  await namespace.kubectl(['annotate', 'cvp', 'production', 'logfleet.dev/requestedAt=now']);
  await namespace.policyUntil('production', ({ status }) => status?.lastHandledReconcileAt === 'now');
  expect(await tenant.tasks()).toEqual([]);
  expect((await runToEnd(['resume', '--all', ...where])).stdout).toMatch(/: resumed\.\n$/);
  await namespace.reason('production', 'AllUpdated');
  expect((await tenant.tasks()).length).toBe(6);
  await expectPromiseKept(tenant, once);
});

test.concurrent('a plan reads the resources of the cluster, and changes nothing', async ({
  tenant,
  namespace,
  installation,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: quick } } });
  const stages = [
    { name: 'canary', size: 2, soakDuration: '0s', maxFailures: 0 },
    { name: 'rest', approval: 'Required', maxFailures: 0 },
  ];
  const manifest = namespace.policyManifest('production', { strategy: { stages } });
  await namespace.apply(namespace.secretManifest(tenant), manifest);
  const running = await operator();
  await namespace.policyUntil('production', ({ status }) => status?.stages?.[1]?.state === 'AwaitingApproval');
  await namespace.policyUntil('production', ({ status }) => status?.collectors?.updated === 2);
  const file = join(controlPlane().directory, `${namespace.name}-plan.json`);
  writeFileSync(file, JSON.stringify(manifest));
  const before = await namespace.policy('production');
  // The operator and `plan` share the limit of four requests per second, but each process has its own request budget.
  // The operator is therefore killed before `plan` runs.
  await running.kill();
  const lastArrival = Math.max(...tenant.journal().map(({ at }) => at));
  await vi.waitUntil(() => Date.now() > lastArrival + 1_000, { timeout: 300_000 });

  const where = ['-n', namespace.name, '--kubeconfig', installation.kubeconfig];
  const ended = await runToEnd(['plan', file, ...where, '-o', 'json', '--exit-code']);
  expect(ended.status).toBe(1);
  expect(ended.stderr).toBe(
    `warning: you do not have permission to list the policies of all namespaces, so the plan ignores policies outside namespace ${namespace.name} that select the same collectors\n`,
  );
  expect(JSON.parse(ended.stdout)).toMatchObject({
    changes: true,
    policies: [
      {
        rollout: { id: before.status?.rollout?.id, begins: false },
        stages: [
          { name: 'canary', state: 'Ended', updated: 2, upgrades: 0 },
          { name: 'rest', state: 'Pending', approval: 'Needed', upgrades: 4 },
        ],
        upgradeDuration: { source: 'Measured' },
      },
    ],
  });
  // With `-A`, `plan` reads the policies in all namespaces. This user lacks the permission to do so.
  const ofAll = await runToEnd(['plan', file, ...where, '-A', '--exit-code']);
  expect(ofAll).toMatchObject({ status: 2, stdout: '' });
  expect((await tenant.tasks()).length).toBe(2);
  expect((await namespace.policy('production')).metadata.generation).toBe(before.metadata.generation);
  await expectPromiseKept(tenant, once);
});

test.concurrent('commands and kubectl approve a stage, abort a rollout and retry it', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 4, version: oldVersion, upgrade: quick } } });
  await operator();
  const stages = [
    { name: 'canary', size: 1, soakDuration: '0s' },
    { name: 'rest', approval: 'Required' },
  ];
  await namespace.apply(
    namespace.secretManifest(tenant),
    namespace.policyManifest('production', { strategy: { maxInProgress: 4, stages } }),
  );
  const where = ['cvp/production', '-n', namespace.name, '--kubeconfig', controlPlane().adminKubeconfig];
  const waiting = await namespace.reason('production', 'AwaitingApproval');
  const rollout = waiting.status?.rollout?.id ?? '';
  expect((await tenant.tasks()).length).toBe(1);

  expect((await runToEnd(['abort', ...where])).stdout).toContain(`: aborted rollout ${rollout}. Upgraded collectors`);
  await namespace.reason('production', 'Aborted');
  expect((await runToEnd(['abort', ...where])).status).toBe(1);
  await namespace.kubectl(['annotate', 'cvp/production', `logfleet.dev/retry=${rollout}/again`, '--overwrite']);
  await namespace.reason('production', 'AwaitingApproval');

  const { stdout } = await runToEnd(['approve', ...where]);
  expect(stdout).toContain(
    `: approved stage rest of rollout ${rollout}: its 3 collectors are upgraded as soon as maxInProgress permits.`,
  );
  const done = await namespace.reason('production', 'AllUpdated');
  expect((await tenant.tasks()).length).toBe(4);
  expect(done.status?.history?.[0]?.actions?.map(({ action, by }) => [action, by])).toEqual([
    ['Abort', 'logfleet-cli'],
    ['Retry', 'kubectl-annotate'],
    ['Approve', 'logfleet-cli'],
  ]);
  expect((await runToEnd(['approve', ...where])).stderr).toContain('there is no rollout to approve (AllUpdated)');
  await expectPromiseKept(tenant, once);
});

test.concurrent('kubectl annotate approves a stage, and history names the user', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 3, version: oldVersion, upgrade: quick } } });
  await operator();
  const stages = [
    { name: 'canary', size: 1, soakDuration: '0s', approval: 'Required' },
    { name: 'rest', approval: 'Required' },
  ];
  await namespace.apply(
    namespace.secretManifest(tenant),
    namespace.policyManifest('production', { strategy: { maxInProgress: 3, stages } }),
  );
  const approve = (stage: string) =>
    namespace.kubectl(['annotate', 'cvp/production', `logfleet.dev/approve=${stage}`, '--overwrite']);
  const waiting = await namespace.reason('production', 'AwaitingApproval');
  const rollout = waiting.status?.rollout?.id;
  expect(waiting.status?.stages?.map(({ name, state }) => [name, state])).toEqual([
    ['canary', 'AwaitingApproval'],
    ['rest', 'Pending'],
  ]);
  const wide = columns((await namespace.kubectl(['get', 'cvp', '-o', 'wide'])).stdout);
  expect(wide[1]?.[wide[0]?.indexOf('STAGE') ?? -1]).toBe('canary');
  // An approval intended for another rollout has no effect.
  await approve('9-19.1-1/canary');
  await namespace.kubectl(['annotate', 'cvp/production', 'logfleet.dev/requestedAt=now']);
  await namespace.policyUntil('production', ({ status }) => status?.lastHandledReconcileAt === 'now');
  expect(await tenant.tasks()).toEqual([]);

  await approve(`${rollout}/canary`);
  await namespace.policyUntil(
    'production',
    ({ status }) => status?.rollout?.stage === 'rest' && status.summary?.state === 'AwaitingApproval',
  );
  expect(await tenant.tasks()).toHaveLength(1);
  const { stdout: described } = await namespace.kubectl(['describe', 'cvp', 'production']);
  expect(described).toMatch(/Name: +canary\n.*State: +Completed/s);
  expect(described).toContain('kubectl-annotate');
  await approve(`${rollout}/rest`);
  const done = await namespace.reason('production', 'AllUpdated');
  expect(await tenant.tasks()).toHaveLength(3);
  expect(done.status?.history?.[0]).toMatchObject({ id: rollout, outcome: 'Completed' });
  expect(done.status?.history?.[0]?.actions?.map(({ action, stage, by }) => [action, stage, by])).toEqual([
    ['Approve', 'canary', 'kubectl-annotate'],
    ['Approve', 'rest', 'kubectl-annotate'],
  ]);
  await expectPromiseKept(tenant, once);
});

test.concurrent('a policy that is deleted and recreated during a rollout upgrades no collector twice', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: { duration: '6s' } } } });
  await operator();
  const manifest = namespace.policyManifest('production', { strategy: { maxInProgress: 3 } });
  await namespace.apply(namespace.secretManifest(tenant), manifest);
  await tenant.posted(2);
  await namespace.kubectl(['delete', 'cvp', 'production', '--wait=false']);
  await namespace.apply(manifest);
  await namespace.reason('production', 'AllUpdated');
  expect((await tenant.collectors()).filter(({ version }) => version !== targetVersion)).toEqual([]);
  await expectPromiseKept(tenant, once);
});

test.concurrent('one of two overlapping policies owns the collectors, and the other names the owner', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 3, version: oldVersion, upgrade: quick } } });
  await operator();
  await namespace.apply(
    namespace.secretManifest(tenant),
    namespace.policyManifest('important', { priority: 10 }),
    namespace.policyManifest('ordinary', { target: { version: newestVersion } }),
  );
  await namespace.reason('important', 'AllUpdated');
  const ordinary = await namespace.policyUntil(
    'ordinary',
    (policy) => conditionOf(policy, 'Overlapping')?.status === 'True',
  );
  expect(conditionOf(ordinary, 'Overlapping')?.message).toContain(`${namespace.name}/important`);
  expect((await tenant.tasks()).map(({ toVersion }) => toVersion)).toEqual(Array(3).fill(targetVersion));
  await namespace.kubectl(['delete', 'cvp', 'important', '--wait=false']);
  await namespace.policyUntil('ordinary', ({ status }) => status?.collectors?.updated === 3);
  expect((await tenant.collectors()).map(({ version }) => version)).toEqual(Array(3).fill(newestVersion));
});

test.concurrent('a second replica takes over from a leader that was killed', async ({
  tenant,
  namespace,
  operator,
}) => {
  await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: { duration: '6s' } } } });
  const leader = await operator('logfleet-0');
  await leader.line(/logfleet started/);
  await namespace.apply(
    namespace.secretManifest(tenant),
    namespace.policyManifest('production', { strategy: { maxInProgress: 3 } }),
  );
  await tenant.posted(2);
  await operator('logfleet-1');
  await leader.kill();
  await namespace.reason('production', 'AllUpdated');
  expect((await tenant.collectors()).filter(({ version }) => version !== targetVersion)).toEqual([]);
  await expectPromiseKept(tenant, { ...once, kills: 1 });
});

test.concurrent('the endpoints for probes and metrics respond', async ({ tenant, namespace, operator }) => {
  await tenant.equip({ groups: { web: { count: 2, version: oldVersion, upgrade: quick } } });
  const [port] = await freePorts(1);
  const program = await operator('logfleet-0', ['--health-listen', `127.0.0.1:${port}`]);
  await program.line(/logfleet started/);
  await namespace.apply(namespace.secretManifest(tenant), namespace.policyManifest('production'));
  await namespace.reason('production', 'AllUpdated');
  const get = async (path: string) => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
    return { status: statusCode, text: await body.text() };
  };
  const check = async () => {
    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(200);
    const { text } = await get('/metrics');
    const samples = text.split('\n').filter((line) => line.startsWith('logfleet_'));
    expect(samples).toContainEqual(
      expect.stringMatching(/^logfleet_service_requests_total\{.*operation="createTask".*outcome="[a-zA-Z]+".*\} 2$/),
    );
    expect(samples).toContain(
      `logfleet_policy_collectors{namespace="${namespace.name}",policy="production",state="updated"} 2`,
    );
    expect(samples.filter((line) => line.startsWith('logfleet_policy_state'))).toEqual([
      `logfleet_policy_state{namespace="${namespace.name}",policy="production",state="Ready",reason="AllUpdated"} 1`,
    ]);
    for (const name of ['logfleet_service_budget_wait_seconds', 'logfleet_queue_depth', 'logfleet_reconciles_total']) {
      expect(
        samples.some((line) => line.startsWith(name)),
        name,
      ).toBe(true);
    }
  };
  // On a busy machine, the leader may renew its lease late. It then has no metrics of policies for a moment.
  await vi.waitFor(check, { timeout: 300_000 });
  program.signal('SIGTERM');
  expect((await program.ended).status).toBe(0);
});

describe.concurrent('a policy continues by itself after the correction of', () => {
  test('a missing Secret and an incomplete Secret', async ({ tenant, namespace, operator }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await operator();
    await namespace.apply(namespace.policyManifest('production'));
    const missing = await namespace.reason('production', 'SecretNotFound');
    expect(conditionOf(missing, 'Ready')?.message).toContain(`Secret ${namespace.name}/log-service `);
    expect(conditionOf(missing, 'Stalled')?.status).toBe('True');
    await namespace.apply(namespace.secretManifest(tenant, { accessKey: '' }));
    const half = await namespace.reason('production', 'SecretIncomplete');
    expect(conditionOf(half, 'Ready')?.message).toContain('lacks accessKey: add the missing keys to the Secret');
    await namespace.apply(namespace.secretManifest(tenant));
    const mended = await namespace.reason('production', 'AllUpdated');
    expect(conditionOf(mended, 'Stalled')).toBe(undefined);
    expect((await tenant.collectors()).map(({ version }) => version)).toEqual([targetVersion]);
  });

  test('a rejected key, which is rarely sent', async ({ simulator, tenant, namespace, operator }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await operator();
    await namespace.apply(
      namespace.secretManifest(tenant, { accessKey: 'none' }),
      namespace.policyManifest('production'),
    );
    const refused = await namespace.reason('production', 'Unauthorized');
    expect(conditionOf(refused, 'Ready')?.message).toMatch(/401.*accessId and accessKey|accessId and accessKey.*401/);
    const before = simulator.journal().filter(({ status }) => status === 401).length;
    expect(before).toBeLessThanOrEqual(2);
    await namespace.apply(namespace.secretManifest(tenant));
    await namespace.reason('production', 'AllUpdated');
  });

  test('a version that the service does not offer', async ({ tenant, namespace, operator }) => {
    await tenant.equip({ groups: { web: { count: 1, version: oldVersion, upgrade: quick } } });
    await operator();
    const wrong = namespace.policyManifest('production', { target: { version: '19.999-9' } });
    await namespace.apply(namespace.secretManifest(tenant), wrong);
    const stalled = await namespace.reason('production', 'VersionNotOffered');
    expect(conditionOf(stalled, 'Ready')?.message).toContain(`19.500-1`);
    expect(conditionOf(stalled, 'Stalled')?.status).toBe('True');
    expect(tenant.journal().filter(({ method }) => method === 'POST')).toEqual([]);
    await namespace.apply(namespace.policyManifest('production'));
    await namespace.reason('production', 'AllUpdated');
  });
});

/** Waits until the operator holds its Lease, which the installation creates without a holder. */
async function untilLeaderWorks(namespace: Namespace): Promise<void> {
  const version = `jsonpath={.metadata.annotations.logfleet\\.dev/operator-version}=${packageVersion()}`;
  for (const condition of ['create', version]) {
    const wait = ['wait', `--for=${condition}`, `lease/${operatorLeaseName}`, '--timeout=300s'];
    expect(await namespace.kubectl(wait)).toMatchObject({ status: 0 });
  }
}

function columns(table: string): readonly (readonly string[])[] {
  return table
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split(/ {2,}/));
}

function withoutAge(table: string): readonly (readonly string[])[] {
  return columns(table).map((cells) => cells.slice(0, -1));
}
