/** Tests `logfleet run DIR` with stages: stops, approvals, retries and pauses. */
import { describe, expect, vi } from 'vitest';
import { currentUser } from '../../src/cli/resources/directory-access.ts';
import { test } from './support/end-to-end.ts';
import { expectPromiseKept } from './support/oracles.ts';
import { nameInHints, runToEnd } from './support/program.ts';
import { oldVersion, targetVersion } from './support/simulator.ts';

vi.setConfig({ maxConcurrency: 20 });

const quick = { duration: '2s' };
const once = { retryLimit: 2 };

describe.concurrent('a rollout in stages', () => {
  test('is stopped by its canary, ends with status 1, and stays stopped (R5, R6)', async ({
    tenant,
    manifests,
    run,
  }) => {
    const outcomes = [{ end: 'fail', message: 'It did not start again.', toVersion: targetVersion }] as const;
    await tenant.equip({ groups: { web: { count: 6, version: oldVersion, upgrade: { ...quick, outcomes } } } });
    const stages = [{ name: 'canary', size: 1, maxFailures: 0, soakDuration: '0s' }, { name: 'rest' }];
    await manifests.policy('production', { strategy: { maxInProgress: 100, stages } });
    const first = await (await run()).ended;
    const retry = `${nameInHints} retry cvp/production --dir ${manifests.path}`;
    const outcome = expect.stringMatching(/^logging\/production: RolloutStopped: /);
    expect(first).toMatchObject({ status: 1, stdout: outcome });
    expect(first.stdout).toContain(`run: ${retry}\n`);
    expect(first.stderr).toMatch(/^logging\/production: RolloutStopped; .*stage canary, updated 0\/6/m);
    expect(await tenant.tasks()).toHaveLength(1);

    const shown = await runToEnd(['get', 'cvp', 'production', '--dir', manifests.path]);
    expect(shown.stdout).toMatch(/^ +canary +Stopped +\[.*\] +0\/1, /m);
    expect(shown.stdout).toMatch(/^ +rest +Pending +\[.*\] +0\/5$/m);
    expect(shown.stdout).toMatch(/^ +1 × It did not start again\. \(/m);

    expect(await (await run()).ended).toMatchObject({ status: 1, stdout: outcome });
    expect(await tenant.tasks()).toHaveLength(1);
    await expectPromiseKept(tenant, { retryLimit: 2, failures: true });
  });

  test('continues after a user approves the next stage (R3)', async ({ tenant, manifests, run }) => {
    await tenant.equip({ groups: { web: { count: 4, version: oldVersion, upgrade: quick } } });
    const stages = [
      { name: 'canary', size: 1, soakDuration: '0s' },
      { name: 'rest', approval: 'Required' },
    ];
    await manifests.policy('production', { strategy: { maxInProgress: 100, stages } });
    const program = await run(['--watch']);
    await program.line(/AwaitingApproval/);
    expect(await tenant.tasks()).toHaveLength(1);

    const flags = `--dir ${manifests.path}`;
    const approve = `approve cvp/production ${flags} --stage rest`;
    const shown = await runToEnd(['get', 'cvp', 'production', ...flags.split(' ')]);
    expect(shown.stdout).toContain(`to approve: ${nameInHints} ${approve}\n`);
    const approved = await runToEnd(approve.split(' '));
    expect(approved).toMatchObject({ status: 0, stderr: '' });
    expect(approved.stdout).toMatch(
      /: approved stage rest of rollout .*: its 3 collectors are upgraded as soon as maxInProgress permits\.\n$/,
    );
    await program.line(/AllUpdated/);
    expect(await tenant.tasks()).toHaveLength(4);
    const { status } = await manifests.status('production');
    expect(status?.history?.[0]).toMatchObject({
      outcome: 'Completed',
      actions: [{ action: 'Approve', stage: 'rest', by: currentUser() }],
    });
    await expectPromiseKept(tenant, once);
  });
});

test.concurrent('after pause --all, no upgrade starts in a directory, and resume --all continues (R10)', async ({
  tenant,
  manifests,
  run,
}) => {
  // The upgrades run one after another, so some have not started when `pause` takes effect.
  await tenant.equip({ groups: { web: { count: 20, version: oldVersion, upgrade: quick } } });
  await manifests.policy('production', { strategy: { maxInProgress: 1 } });
  const program = await run(['--watch']);
  await tenant.posted(1);
  const paused = await runToEnd(['pause', '--all', '--dir', manifests.path]);
  expect(paused).toMatchObject({ status: 0, stderr: '' });
  await program.line(/production: Paused; .*in progress 0/);
  const atPause = (await tenant.tasks()).length;
  expect(atPause).toBeLessThan(20);
  // Waits until the operator has read the list of builds again. By then, an operator that ignored the pause would have
  // started another upgrade.
  const reads = tenant.journal().filter(({ operation }) => operation === 'listBuilds').length;
  await tenant.journalUntil((journal) => journal.filter(({ operation }) => operation === 'listBuilds').length > reads);
  expect(await tenant.tasks()).toHaveLength(atPause);
  // All other upgrades run at the same time.
  await manifests.policy('production', { strategy: { maxInProgress: 100 } });
  const resume = paused.stdout.split(`To resume: ${nameInHints} `)[1]?.trimEnd() ?? '';
  expect((await runToEnd(resume.split(' '))).stdout).toMatch(/: resumed\.\n$/);
  await program.line(/AllUpdated/);
  expect(await tenant.tasks()).toHaveLength(20);
  await expectPromiseKept(tenant, once);
});
