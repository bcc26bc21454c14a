/** Tests `logfleet plan`: accepted manifests, output and exit status. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { escapeMarkdown } from '../../../src/cli/plan/plan-markdown.ts';
import { openPlace } from '../../../src/cli/plan/plan-place.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { serviceOrigin } from '../../support/service-world.ts';
import { type PlanSetting, runPlan, secret } from './plan-run.ts';

const [before, target] = ['19.100-1', '19.200-1'] as const;

function policy(name = 'production', spec = ''): string {
  return `
apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: ${name}, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: ${target}}
  selector: {}
${spec}`;
}

const stages = `
  strategy:
    stages:
      - {name: canary, size: 2, soakDuration: 1h, maxFailures: 0}
      - {name: rest, approval: Required}
`;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logfleet-plan-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface PlanCase extends Omit<PlanSetting, 'folder' | 'scenario'> {
  readonly versions?: readonly string[];
}

function plan({ versions = [before], ...setting }: PlanCase) {
  const groups = { web: { count: 12, name: 'web-##', versions, timeZone: 'Europe/Berlin' } };
  return runPlan({ ...setting, folder, scenario: { builds: ['19.50-1', before, target], groups } });
}

describe('the manifests of a plan', () => {
  test('can be in several files, with the Secret', async () => {
    const { status, stdout, tasks } = await plan({ texts: [secret, `${policy('one')}---${policy('two')}`] });
    expect(status).toBe(0);
    expect(stdout).toContain('logging/one to 19.200-1\n  Upgrades:  12 of 12 collectors');
    expect(stdout).toContain('12 of policy logging/one: web-01');
    expect(tasks).toEqual([]);
  });

  test('can select different collectors, and are then planned without waiting for a second list', async () => {
    const texts = ['web-0*', 'web-1*'].map((name, index) =>
      policy(`policy${index}`).replace('selector: {}', `selector: {matchNames: ["${name}"]}`),
    );
    // The operator would list the collectors again only after five minutes, so one minute is too short for a second
    // list.
    const { status, stdout } = await plan({ texts: [secret, texts.join('---')], flags: { timeout: 60_000 } });
    expect(status).toBe(0);
    expect(stdout).toContain('9 of 9 collectors');
    expect(stdout).toContain('3 of 3 collectors');
  });

  test('can use credentials in environment variables', async () => {
    const env = {
      LOGFLEET_BASE_URL: `${serviceOrigin}/api`,
      LOGFLEET_ACCESS_ID: 'simulator',
      LOGFLEET_ACCESS_KEY: 'simulator-key',
    };
    expect((await plan({ texts: [policy()], env })).stdout).toContain('12 of 12 collectors');
    const without = await plan({});
    expect(without).toMatchObject({ status: 1, stdout: '' });
    expect(without.stderr).toContain('logging/production: SecretNotFound: ');
  });

  test('are checked as validate checks them', async () => {
    const { status, stdout, stderr } = await plan({ texts: [policy('production', '  mode: Perhaps\n')] });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^0\.yaml:9:9: spec\.mode: /);
  });

  test('must contain a policy, an export or a schedule', async () => {
    await expect(plan({ texts: [secret] })).rejects.toThrow('0.yaml has no CollectorVersionPolicy, ');
  });

  test('can pause everything', async () => {
    const settings =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logfleet-settings, namespace: logfleet}\ndata: {paused: "true"}\n';
    const { stdout } = await plan({ texts: [secret, policy(), settings] });
    expect(stdout).toContain('But:       The policy is paused by the ConfigMap logfleet-settings');
  });

  test('replace those in the directory, whose other policies count for overlap', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'logfleet-place-'));
    await writeFile(
      join(elsewhere, 'all.yaml'),
      `${secret}---${policy('production', '  paused: true\n')}---${policy('first', '  priority: 5\n  exclude: [{matchNames: [web-01]}]\n')}`,
    );
    const { stdout } = await plan({ texts: [policy()], flags: { dir: elsewhere }, open: openPlace });
    await rm(elsewhere, { recursive: true });
    expect(stdout).toContain('Upgrades:  1 of 12 collectors; 11 are left out');
    expect(stdout).toContain('11 of policy logging/first');
    expect(stdout).not.toContain('paused');
  });

  test('start nothing while a manifest in the directory is unusable (D1)', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'logfleet-place-'));
    await writeFile(join(elsewhere, 'all.yaml'), `${secret}---${policy('first', '  priority: high\n')}`);
    const { stdout, stderr } = await plan({ texts: [policy()], flags: { dir: elsewhere }, open: openPlace });
    await rm(elsewhere, { recursive: true });
    expect(stdout).toMatch(
      /But: +No policy starts an upgrade, because logfleet has never read a usable version of a manifest .*\./,
    );
    expect(stderr).toMatch(/all\.yaml:\d+:\d+: spec\.priority/);
  });
});

describe('the exit status of a plan', () => {
  test.each([
    [[before], true, 1],
    [[before], false, 0],
    [[target], true, 0],
  ])('collectors at %j, --exit-code %s: %d', async (versions, exitCode, status) => {
    expect(await plan({ texts: [secret, policy()], versions, flags: { exitCode } })).toMatchObject({ status });
  });
});

describe('an unknown result has a different status than changes', () => {
  const wrong = policy().replace(target, '19.999-1');

  test.each([
    ['a policy', wrong, false, 1],
    ['a policy', wrong, true, 2],
    ['one of two policies', `${policy('other')}---${wrong}`, true, 2],
  ])('of %s: %#', async (_, text, exitCode, status) => {
    expect(await plan({ texts: [secret, text], flags: { exitCode } })).toMatchObject({ status });
  });

  test.each([
    [[], {}, 1],
    [['-A'], {}, 1],
    [['--exit-code'], {}, 2],
    [[], { LOGFLEET_EXIT_CODE: 'true' }, 2],
  ])('of a cluster that does not respond, with %j and %j: %d', async (flags, env, status) => {
    await writeFile(join(folder, 'policy.yaml'), policy());
    const cluster = { server: 'https://127.0.0.1:1' };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    };
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, JSON.stringify(config));
    const context = { ...recordingContext(), cwd: folder, env };
    const file = join(folder, 'policy.yaml');
    expect(await runProgram(['plan', file, '--kubeconfig', kubeconfig, ...flags], context)).toBe(status);
  });
});

describe('the output of a plan', () => {
  test('as text', async () => {
    const { stdout } = await plan({ texts: [secret, policy('production', stages)], flags: { assumeUpgrade: 120_000 } });
    const [heading, canary, rest] = stdout.split('Stages:\n')[1]?.split('\n') ?? [];
    expect(heading?.trim().split(/ {2,}/)).toEqual([
      'STAGE',
      'MEMBERS',
      'TO UPGRADE',
      'UPDATED',
      'SOAK',
      'APPROVAL',
      'STARTS',
      'ENDS',
    ]);
    expect(canary).toMatch(/^ {4}canary {3}2 {9}2 {12}0 {9}1h {16}now {20}2026-11-01 01:0\d UTC$/);
    expect(rest).toMatch(/^ {4}rest {5}10 {8}10 {11}0 {16}needed {5}2026-11-01 01:0\d UTC {3}2026-11-01 01:2\d UTC$/);
    expect(stdout).toMatch(/Takes: {5}about 8\dm, until 2026-11-01 01:2\d UTC, if an upgrade takes 2m\n/);
    expect(stdout).toContain('Approvals: stage rest needs an approval; the planned times assume immediate approval');
    expect(stdout).toMatch(/ {4}rest: web-\d\d, web-\d\d, web-\d\d, web-\d\d, web-\d\d and 5 more\n/);
  });

  test.each(['table', 'wide'] as const)('singular forms: %s', async (output) => {
    const first = policy('first', '  priority: 5\n').replace('selector: {}', 'selector: {matchNames: [web-01]}');
    const { stdout } = await plan({ texts: [secret, `${first}---${policy()}`], flags: { output } });
    expect(stdout).toContain('11 of 12 collectors; 1 is left out\n');
    expect(stdout).toContain(
      output === 'wide' ? 'of policy logging/first   web-01' : '1 of policy logging/first: web-01',
    );
  });

  test('all collectors with -o wide', async () => {
    const { stdout } = await plan({ texts: [secret, policy('production', stages)], flags: { output: 'wide' } });
    expect(stdout.match(/^ {4}rest {5}web-\d\d {6}\d+ {3}19\.100-1 {3}Europe\/Berlin$/gm)).toHaveLength(10);
  });

  test.each(['json', 'yaml'] as const)('as a document: %s', async (output) => {
    const { stdout } = await plan({ texts: [secret, policy('production', stages)], flags: { output } });
    const document = parse(stdout);
    expect(document).toMatchObject({
      changes: true,
      policies: [
        {
          namespace: 'logging',
          name: 'production',
          targetVersion: target,
          rollout: { id: `1-${target}`, begins: true },
          matched: 12,
          upgrades: 12,
          stages: [
            {
              name: 'canary',
              state: 'Pending',
              upgrades: 2,
              soakDuration: '1h',
              approval: 'None',
              afterApproval: false,
            },
            { name: 'rest', approval: 'Needed', afterApproval: true },
          ],
          leftOut: [],
          upgradeDuration: { value: '3m', source: 'Assumed' },
          requests: { posts: 12, perSecond: 4 },
          windows: [],
          notes: [],
        },
      ],
    });
    const [{ stages: found, requests, startTime, endTime }] = document.policies;
    expect(found[1].collectors).toHaveLength(10);
    expect(found[1].collectors[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      name: expect.stringMatching(/^web-/),
      version: before,
      timeZone: 'Europe/Berlin',
    });
    expect(requests.total).toBe(requests.posts + requests.reads + requests.sweeps);
    expect(Date.parse(endTime)).toBeGreaterThan(Date.parse(startTime) + 3_600_000);
  });

  test('as Markdown for a comment', async () => {
    const { stdout } = await plan({
      texts: [secret, `${policy('production', stages)}---${policy('wrong').replace(target, '19.999-1')}`],
      flags: { output: 'markdown' },
    });
    expect(stdout).toMatch(/^<!-- logfleet plan -->\n### Plan of logfleet: 2 resources with changes or problems\n\n/);
    expect(stdout).toContain(
      '#### Policy `logging/production` to 19.200-1\n\n| Figure | Value |\n| --- | --- |\n| Upgrades |',
    );
    expect(stdout).toContain('| Stage | Members | To upgrade |');
    expect(stdout).toMatch(/\| Requests \| \d+ requests at up to 4 a second: 12 to start upgrades/);
    expect(stdout).toMatch(/<details><summary>To upgrade<\/summary>\n\n- canary: web-\d\d, web-\d\d\n- rest: web-/);
    expect(stdout).toMatch(/#### Policy `logging\/wrong`: no plan\n\n\*\*VersionNotOffered\*\*: /);
  });

  test('as Markdown with the warnings about manifests', async () => {
    const risky = policy().replace('selector: {}', "selector: {matchNames: ['^web']}");
    const { stdout } = await plan({ texts: [secret, risky], flags: { output: 'markdown' } });
    expect(stdout).toMatch(/\n#### Warnings\n\n- .*warning: "\^web" looks like a regular expression.*\n$/);
  });

  test('as Markdown with the errors of manifests, which are not planned', async () => {
    const wrong = policy().replace('target:', 'tarqet:');
    const { status, stdout } = await plan({ texts: [secret, wrong], flags: { output: 'markdown' } });
    expect(status).toBe(2);
    const [title, heading, list] = stdout.split('\n\n');
    expect(title).toBe('<!-- logfleet plan -->\n### Plan of logfleet: no plan, because the manifests have errors');
    expect(heading).toBe('#### Errors');
    expect(list).toContain('tarqet');
  });

  test('with the last start in a window', async () => {
    const maintenance = "  maintenance: {cutoff: 30m, windows: [{schedule: '0 21 * * *', duration: 6h}]}\n";
    const { stdout } = await plan({ texts: [secret, policy('production', maintenance)] });
    expect(stdout).toContain('2026-10-31 21:00 UTC to 2026-11-01 03:00 UTC (last start 2026-11-01 02:30 UTC)\n');
  });

  test('as one line of Markdown if there is nothing to do', async () => {
    const flags = { output: 'markdown' } as const;
    const { stdout } = await plan({ texts: [secret, policy()], versions: [target], flags });
    expect(stdout).toBe(
      '<!-- logfleet plan -->\n### Plan of logfleet: nothing to do\n\nNothing to do: `logging/production`\n',
    );
  });

  test.each([
    ['a|b', 'a\\|b'],
    ['<script>*_`[]~\\', '\\<script\\>\\*\\_\\`\\[\\]\\~\\\\'],
    ['@octocat closes #12', '@\u200Boctocat closes #\u200B12'],
    ['a & b &lt;', 'a &amp; b &amp;\u200Blt;'],
    ['www.evil.example/login', 'www\u200B.evil.example/login'],
    ['see GH-26', 'see GH\u200B-26'],
    ['see https://evil.example/x', 'see https:\u200B//evil.example/x'],
    ['a@-b.example', 'a@\u200B-b.example'],
    ['- item', '\\- item'],
    [' # heading', ' \\# heading'],
    ['1. item', '1\\. item'],
    ['2) item', '2\\) item'],
    ['19.500-1', '19.500-1'],
    ['two\nlines', 'two lines'],
  ])('%j is shown as it is in Markdown', (text, markdown) => {
    expect(escapeMarkdown(text)).toBe(markdown);
  });

  test('problems as documents', async () => {
    const wrong = policy().replace(target, '19.999-1');
    const { status, stdout } = await plan({ texts: [secret, wrong], flags: { output: 'json' } });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      changes: false,
      policies: [{ problem: { reason: 'VersionNotOffered' } }],
    });
  });
});

test('an invalid duration is wrong usage', async () => {
  const context = recordingContext();
  expect(await runProgram(['plan', '.', '--assume-upgrade', 'soon'], context)).toBe(2);
  expect(context.stderr.text).toContain('Write a duration such as 90s or 1h30m.');
});
