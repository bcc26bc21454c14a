/** Tests `logfleet fleet` against a simulated service. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fleetCommand } from '../../../src/cli/fleet/fleet.ts';
import { openFleetPlace } from '../../../src/cli/fleet/fleet-place.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { ServiceWorld, serviceOrigin } from '../../support/service-world.ts';
import { settleFiles, VirtualClock } from '../../support/virtual-clock.ts';
import { secret } from './plan-run.ts';

const [older, newer, unused] = ['19.100-1', '19.200-1', '19.50-1'] as const;
const variables = {
  LOGFLEET_BASE_URL: `${serviceOrigin}/api`,
  LOGFLEET_ACCESS_ID: 'simulator',
  LOGFLEET_ACCESS_KEY: 'simulator-key',
};
const groups = {
  web: { count: 3, name: 'web-##', versions: [older], osName: 'Linux' },
  db: { count: 1, name: '=db,"#"', versions: [newer], osName: 'Windows' },
  cloud: { count: 1, name: 'cloud-#', collectorType: 'Hosted' as const },
};

function policy(name: string, more = ''): string {
  return `
apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: ${name}, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: ${newer}}
  selector: {matchNames: [web-*]}
  exclude: [{matchNames: [web-02]}]
${more}`;
}

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logfleet-fleet-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface FleetCommandSetting {
  readonly selector?: string;
  readonly flags?: Partial<Parameters<typeof fleetCommand>[1]>;
  readonly env?: Readonly<Record<string, string>>;
  readonly builds?: readonly string[];
  /** If true, the service does not respond. */
  readonly isDown?: boolean;
}

async function fleet({
  selector,
  flags = {},
  env = variables,
  builds = [unused, older, newer],
  isDown,
}: FleetCommandSetting) {
  const world = new ServiceWorld({
    scenario: { builds, groups, list: { hosted: true } },
    clock: new VirtualClock(undefined, settleFiles),
  });
  const { clock, random } = world;
  const context = { ...recordingContext(), cwd: folder, env };
  const connect = world.connect({ isAlive: () => !isDown });
  const command = fleetCommand(selector, { output: 'table', ...flags }, context, {
    open: openFleetPlace,
    connect,
    clock,
    random,
  });
  const status = await clock.during(command);
  return { status, stdout: context.stdout.text, stderr: context.stderr.text, journal: world.journal };
}

/** Returns the names of the collectors in the table. */
function namesIn(stdout: string): readonly string[] {
  const [table = ''] = stdout.split('\n\n');
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ {2,}/)[0] ?? '');
}

describe('the table of logfleet fleet', () => {
  test('lists all collectors by name, and the share of each version', async () => {
    const { status, stdout, stderr, journal } = await fleet({});
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(namesIn(stdout)).toEqual(['=db,"1"', 'cloud-1', 'web-01', 'web-02', 'web-03']);
    const [, mix = ''] = stdout.split('\n\n');
    expect(mix.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['5 collectors'],
      ['VERSION', 'COLLECTORS', 'SHARE'],
      [newer, '1', '20.0 %'],
      [older, '3', '60.0 %'],
      ['none', '1', '20.0 %'],
      [''],
    ]);
    expect(journal.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('shows the columns used by selectors with -o wide', async () => {
    const { stdout } = await fleet({ flags: { output: 'wide' } });
    expect(stdout.split('\n')[0]?.split(/ {2,}/)).toEqual(
      'NAME,ID,VERSION,STATUS,LAST SEEN,OS,OS VERSION,ARCH,HOST,TIME ZONE,TYPE'.split(','),
    );
  });

  test('says that the list may omit collectors if the service offers a single build', async () => {
    const { stderr } = await fleet({ builds: [newer] });
    expect(stderr).toContain(`its list may omit collectors that run ${newer}`);
  });

  test('removes control characters from the version of a build', async () => {
    const { stderr } = await fleet({ builds: ['\u001b]0;title\u0007'] });
    expect(stderr).toContain('its list may omit collectors that run  ]0;title \n');
  });
});

describe('the selector of logfleet fleet', () => {
  test.each([
    ['matchNames: ["web-*"]', ['web-01', 'web-02', 'web-03']],
    ['{matchFields: {osName: Windows}}', ['=db,"1"']],
    [
      `{"matchExpressions": [{"key": "collectorVersion", "operator": "Lt", "values": ["${newer}"]}]}`,
      ['web-01', 'web-02', 'web-03'],
    ],
  ])('%s selects the collectors that a policy would select', async (selector, names) => {
    const { stdout } = await fleet({ selector });
    expect(namesIn(stdout)).toEqual(names);
    expect(stdout).toContain(`${names.length} of 5 collectors selected`);
  });

  test('can select no collector', async () => {
    expect(await fleet({ selector: 'matchNames: [app]' })).toMatchObject({
      status: 0,
      stdout: '0 of 5 collectors selected\n',
    });
  });

  test.each([
    ['web-*', /^SELECTOR:1:1: must be a mapping, not the string "web-\*"; set its fields, for example \{matchNames/],
    ['matchName: [a]', /^SELECTOR:1:1: matchName: there is no such field; .*matchNames/],
    [
      'matchFields: {osname: Linux}',
      /^SELECTOR:1:1\d: matchFields\.osname: there is no such field; did you mean osName\?/,
    ],
    ['matchNames: [', /^SELECTOR:1:\d+: /],
    ['', /^SELECTOR must be one YAML mapping/],
  ])('%s is rejected with its position', async (selector, message) => {
    await expect(fleet({ selector })).rejects.toThrow(
      expect.objectContaining({ reason: 'WrongUsage', message: expect.stringMatching(message) }),
    );
  });

  test('gets the warnings from logfleet validate', async () => {
    const { status, stderr } = await fleet({ selector: 'matchFields: {name: web-*}' });
    expect(status).toBe(0);
    expect(stderr).toContain('SELECTOR:1:21: matchFields.name: warning: "web-*" is compared literally');
  });
});

describe('the credentials of logfleet fleet', () => {
  test('come with selector and exclusions from a policy in a file', async () => {
    await writeFile(join(folder, 'web.yaml'), `${secret}---${policy('web')}`);
    const { stdout } = await fleet({ flags: { policy: 'web.yaml' }, env: {} });
    expect(namesIn(stdout)).toEqual(['web-01', 'web-03']);
  });

  test('come from the Secret used by the policies in a directory', async () => {
    await writeFile(join(folder, 'all.yaml'), `${secret}---${policy('web')}---${policy('other')}`);
    const flags = { dir: folder };
    expect(namesIn((await fleet({ flags, env: {} })).stdout)).toHaveLength(5);
    const ofPolicy = await fleet({ flags: { ...flags, policy: 'web' }, env: {} });
    expect(namesIn(ofPolicy.stdout)).toEqual(['web-01', 'web-03']);
    const replaced = await fleet({ selector: 'matchNames: [cloud-1]', flags: { ...flags, policy: 'web' }, env: {} });
    expect(namesIn(replaced.stdout)).toEqual(['cloud-1']);
  });

  test('are ambiguous if the policies in a directory use several Secrets', async () => {
    const other = policy('other').replace('name: log-service', 'name: second');
    await writeFile(join(folder, 'all.yaml'), `${secret}---${policy('web')}---${other}`);
    await expect(fleet({ flags: { dir: folder } })).rejects.toThrow(
      /use 2 Secrets: select one of these policies with --policy NAME: logging\/\w+, logging\/\w+/,
    );
  });

  test.each([
    [{ policy: 'web' }, 'add -n NAMESPACE or --dir DIR, or write a file such as ./web.yaml'],
    [{ policy: './none.yaml' }, 'none.yaml does not exist'],
    [{ policy: 'empty.yaml' }, 'empty.yaml has no CollectorVersionPolicy'],
    [{ policy: 'two.yaml' }, 'two.yaml has 2 policies (logging/a, logging/b)'],
    [{ policy: 'third', dir: '.' }, '. has no policy third'],
    [{ policy: 'a', dir: '.' }, '. has several policies with the name a (apps/a, logging/a): select a namespace'],
  ])('cannot be found for %j', async (flags, message) => {
    await writeFile(join(folder, 'empty.yaml'), secret);
    await writeFile(join(folder, 'two.yaml'), `${policy('a')}---${policy('b')}`);
    await writeFile(join(folder, 'apps.yaml'), policy('a').replace('namespace: logging', 'namespace: apps'));
    await expect(fleet({ flags })).rejects.toThrow(message);
  });

  test('are missing without variables', async () => {
    const message = /^no credentials are set: set LOGFLEET_BASE_URL, .* or --policy FILE to use its Secret$/;
    await expect(fleet({ env: {} })).rejects.toThrow(
      expect.objectContaining({ reason: 'WrongUsage', message: expect.stringMatching(message) }),
    );
  });

  test('come from variables if the policies in a directory are invalid, and the error is reported', async () => {
    await writeFile(join(folder, 'web.yaml'), policy('web').replace('selector:', 'selectr:'));
    const { status, stderr } = await fleet({ flags: { dir: '.' } });
    expect(status).toBe(0);
    expect(stderr).toMatch(/web\.yaml:6:3: spec\.selector: is missing; .*\n1 more error in the manifests of \./);
  });
});

describe('the documents of logfleet fleet', () => {
  test('are JSON with the field names used by selectors', async () => {
    const { stdout } = await fleet({ selector: 'matchNames: [web-*]', flags: { output: 'json' } });
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      total: 5,
      selected: 3,
      versions: [{ version: older, collectors: 3, share: 1 }],
    });
    expect(document.collectors[0]).toMatchObject({
      name: 'web-01',
      collectorVersion: older,
      osName: 'Linux',
      alive: true,
      lastSeenAlive: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  });

  test('are CSV with quoted cells, and no cell that a spreadsheet evaluates', async () => {
    const { stdout } = await fleet({ flags: { output: 'csv' } });
    const [heading, first] = stdout.split('\r\n');
    expect(heading).toMatch(/^id,name,hostName,collectorVersion,/);
    expect(first).toContain(`,"'=db,""1""",`);
    expect(stdout.trimEnd().split('\r\n')).toHaveLength(6);
  });
});

describe('an unreachable service', () => {
  test('is retried for half a minute, and then reported', async () => {
    await expect(fleet({ isDown: true })).rejects.toThrow(expect.objectContaining({ reason: 'ServiceUnreachable' }));
  });

  test('is reported after --timeout', async () => {
    await expect(fleet({ isDown: true, flags: { timeout: 5_000 } })).rejects.toThrow(
      expect.objectContaining({ reason: 'TimedOut' }),
    );
  });
});
