/** Tests unusable manifests in a directory, and their effect on other manifests (D1 to D3, D5). */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { deletionDelayMs } from '../../../../src/host/directory/directory-contents.ts';
import type { DirectoryHost } from '../../../../src/host/directory/directory-host.ts';
import { lossDelayMs, quietMs } from '../../../../src/host/directory/manifest-reader.ts';
import { shareOf } from '../../../support/random-runs.ts';
import { find, get, policy, Workplace } from '../../../support/workplace.ts';

const names = (host: DirectoryHost) =>
  [...host.resources('CollectorVersionPolicy').list()].map(({ metadata }) => metadata.name).sort();
const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logfleet-settings}\ndata: {paused: "true"}\n';
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: logging}\nstringData: {accessId: a}\n';
const utf16 = (text: string, mark = true) => Buffer.from(`${mark ? '\ufeff' : ''}${text}`, 'utf16le');

async function wait(place: Workplace, host: DirectoryHost): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await place.clock.advance(lossDelayMs + deletionDelayMs);
    await host.refresh();
  }
}

/** Kinds of damage that make a whole manifest file unusable. */
const damages: readonly (readonly [string, (text: string) => string | Uint8Array])[] = [
  ['empty', () => ''],
  ['blank', () => '\n \n'],
  ['markers alone', () => '---\n---\n'],
  ['cut within a line', (text) => text.slice(0, -14)],
  ['cut between two lines', (text) => `${text.split('\n').slice(0, -3).join('\n')}\n`],
  ['cut to its first line', (text) => `${text.split('\n')[0]}\n`],
  ['no YAML', () => 'spec: [never\n'],
  ['UTF-16 without a byte order mark', (text) => utf16(text, false)],
  ['not UTF-8', (text) => Buffer.from(`${text}# caf\u00e9\n`, 'latin1')],
  ['binary', () => Buffer.from([0, 1, 2, 3])],
  ['too large', (text) => `${text}# ${'x'.repeat(4 * 1024 * 1024)}\n`],
  ['of too many documents', (text) => `${text}${'---\na: 1\n'.repeat(20_000)}`],
  [
    'an alias bomb',
    () =>
      `a: &a [${'x,'.repeat(9)}]\n${[...'bcdefgh'].map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}]`).join('\n')}\n`,
  ],
  ['prose', () => 'remember to write this\n'],
  ['without a name', (text) => text.replace('  name: pin\n', '')],
  ['with a misspelt kind', (text) => text.replace('CollectorVersionPolicy', 'ColectorVersionPolicy')],
  ['with a misspelt group', (text) => text.replace('logfleet.dev', 'logfleet.io')],
  ['with a misspelt group and kind', (text) => text.replace('Policy', 'Polcy').replace('logfleet.dev', 'logfleet.io')],
  [
    'with a kind in lower case',
    (text) => text.replace('logfleet.dev/v1alpha1', 'v1').replace('CollectorV', 'collectorv'),
  ],
  ['nested below a key', (text) => `production:\n${text.replaceAll(/^/gm, '  ')}\n`],
  ['without a kind below a key', (text) => `items:\n- ${text.replaceAll('\n', '\n  ').replace(/kind: .*/, '')}\n`],
  ['of misspelt members', (text) => text.replace('apiVersion', 'apiversion').replace('kind', 'Kind')],
  [
    'a list of one kind without items',
    (text) => text.replace('logfleet.dev', 'example.com').replace('Policy', 'PolicyList'),
  ],
  ['with a list as kind', (text) => text.replace('CollectorVersionPolicy', '[CollectorVersionPolicy]')],
  ['with a list as API version', (text) => text.replace('logfleet.dev/v1alpha1', '[logfleet.dev/v1alpha1]')],
  ['invalid', (text) => text.replace('selector: {}', 'selector: 7')],
  ['there twice', (text) => `${text}---\n${text}`],
];

describe.each(shareOf(damages, 2, 0))('a manifest that is %s', (_, damage) => {
  test('that was never valid blocks all upgrades until it is corrected (D1)', async () => {
    const place = new Workplace();
    place.write('pin.yaml', damage(policy('pin')));
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    expect(host.settings().upgradesBlocked).toContain(place.path('pin.yaml'));
    expect(find(host, 'web')).toBeDefined();
    place.write('pin.yaml', policy('pin'));
    await host.refresh();
    expect([host.settings().upgradesBlocked, host.problems(), names(host)]).toEqual([undefined, [], ['pin', 'web']]);
  });

  test.each(['while it runs', 'over a restart'])(
    'removes no resource %s, and blocks no upgrades (D1, D2)',
    async (when) => {
      const place = new Workplace();
      place.write('pin.yaml', policy('pin'));
      place.write('web.yaml', policy('web'));
      let host = await place.open();
      const before = get(host, 'pin');
      place.write('pin.yaml', damage(policy('pin')));
      if (when === 'over a restart') {
        await host.close();
        host = await place.openInTime();
      }
      await host.refresh();
      await wait(place, host);
      expect(get(host, 'pin')).toEqual(before);
      expect(host.settings()).toEqual({});
      expect(host.problems().map(({ severity }) => severity)).toContain('error');
      place.write('pin.yaml', policy('pin', '19.501-1'));
      await host.refresh();
      expect(host.problems()).toEqual([]);
      expect(get(host, 'pin').metadata).toMatchObject({ uid: before.metadata.uid, generation: 2 });
    },
  );
});

describe('a file that lost its end (D2)', () => {
  const both = `${policy('pin')}---\n${policy('web')}`;

  test('at the end of a document counts as truncated, and the missing policy stays', async () => {
    const place = new Workplace();
    place.write('all.yaml', both);
    const host = await place.open();
    place.write('all.yaml', policy('pin'));
    await host.refresh();
    await wait(place, host);
    expect(names(host)).toEqual(['pin', 'web']);
    expect(host.problems()).toMatchObject([{ severity: 'error', file: place.path('all.yaml') }]);
  });

  test.each(['# end\n', '---\n# end\n'])(
    'and ends with %j counts as edited by a user, who deleted a policy',
    async (end) => {
      const place = new Workplace();
      place.write('all.yaml', both);
      const host = await place.open();
      place.write('all.yaml', `${policy('pin')}${end}`);
      await host.refresh();
      await wait(place, host);
      expect(names(host)).toEqual(['pin']);
      expect(host.problems()).toEqual([]);
    },
  );

  test('that lost only blank lines and comments is not truncated', async () => {
    const place = new Workplace();
    place.write('web.yaml', `${policy('web')}\n# the web servers\n---\n`);
    const host = await place.open();
    place.write('web.yaml', policy('web'));
    await host.refresh();
    expect(host.problems()).toEqual([]);
  });

  test('and a document before it is used after 10 s', async () => {
    const place = new Workplace();
    place.write('all.yaml', both);
    const host = await place.open();
    place.write('all.yaml', policy('web'));
    await host.refresh();
    expect(host.problems()).toMatchObject([{ severity: 'error', file: place.path('all.yaml') }]);
    await place.clock.advance(lossDelayMs);
    await host.refresh();
    expect([names(host), host.problems()]).toEqual([['pin', 'web'], []]);
    await place.clock.advance(deletionDelayMs);
    await host.refresh();
    expect(names(host)).toEqual(['web']);
  });

  test.each([
    ['19.500-10', '19.500-1'],
    ['19.500-1', '19.500-2'],
    ['19.500-1', '19.500-10'],
  ])(
    'a file whose last line %s becomes %s counts as truncated only if the new line is the start of the old one',
    async (from, to) => {
      const place = new Workplace();
      const text = (version: string) =>
        policy('web').replace(/ {2}target.*\n {2}selector.*\n/, `  selector: {}\n  target:\n    version: ${version}`);
      place.write('web.yaml', text(from));
      const host = await place.open();
      place.write('web.yaml', text(to));
      await host.refresh();
      expect(host.problems().length).toBe(from.startsWith(to) ? 1 : 0);
    },
  );

  test('and has a changed line counts as edited by a user', async () => {
    const place = new Workplace();
    place.write('web.yaml', JSON.stringify({ a: 1 }));
    place.write(
      'web.json',
      `${JSON.stringify(JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}'))}\n`,
    );
    const host = await place.open();
    place.write('web.json', '{"apiVersion":"v1","kind":"ConfigMap"}');
    await host.refresh();
    expect(host.problems()).toEqual([]);
  });
});

describe('a file that is rewritten slowly (D2)', () => {
  const source = (version: string) => `# Source: chart-${version}\n`;
  const staged = `${policy('web')}  failurePolicy: {action: Pause, maxFailures: 0}
  strategy:
    stages:
      - name: canary
        size: 1
        soakDuration: 1h
        approval: Required
      - name: rest
`;
  const stages = (host: DirectoryHost) => get(host, 'web').spec.strategy?.stages?.map(({ name }) => name);

  /** First parts of the new manifest, as left by a slow writer when it pauses. Each part is a valid manifest. */
  const pauses: readonly (readonly [string, string, lacks: string])[] = [
    ['before a field', staged.replace(/ {2}strategy.*/s, ''), 'spec.strategy of CollectorVersionPolicy logging/web'],
    [
      'after the name of a field',
      staged.replace(/(?<=strategy:\n).*/s, ''),
      'spec.strategy of CollectorVersionPolicy logging/web',
    ],
    [
      'before a list item',
      staged.replace(/ {6}- name: rest.*/s, ''),
      'spec.strategy.stages[rest] of CollectorVersionPolicy logging/web',
    ],
    [
      'before a field, after new lines at its beginning',
      staged
        .replace('  namespace: logging\n', '  namespace: logging\n  labels:\n    a: a\n    b: b\n    c: c\n    d: d\n')
        .replace(/ {2}strategy.*/s, ''),
      'spec.strategy of CollectorVersionPolicy logging/web',
    ],
    ['within its last line', staged.trimEnd().slice(0, -2), 'spec.strategy.stages[rest] of'],
    ['within a value', `${staged}        size: 10\n`.slice(0, -2), 'the line feed at its end'],
  ];

  test.each(pauses)('keeps its resources while the writer pauses %s', async (name, torn, lacks) => {
    const before = name === 'within a value' ? `${staged}        size: 10\n` : staged;
    const place = new Workplace();
    const host = await place.open();
    place.write('web.yaml', `${source('1.0.0')}${before}`);
    await host.refresh();
    const resource = get(host, 'web');
    place.write('web.yaml', `${source('1.0.1')}${torn}`);
    await host.refresh();
    await place.clock.advance(lossDelayMs - quietMs);
    await host.refresh();
    expect([get(host, 'web'), host.settings()]).toEqual([resource, {}]);
    expect(host.problems()).toMatchObject([
      { severity: 'error', file: place.path('web.yaml'), problem: expect.stringContaining(`it lacks ${lacks}`) },
    ]);
    place.write('web.yaml', `${source('1.0.1')}${before}`);
    await host.refresh();
    expect([get(host, 'web'), host.problems().filter(({ severity }) => severity === 'error')]).toEqual([resource, []]);
  });

  test('keeps its resources when logfleet restarts during the pause', async () => {
    const place = new Workplace();
    place.write('web.yaml', `${source('1.0.0')}${staged}`);
    const first = await place.open();
    const before = get(first, 'web');
    place.write('web.yaml', `${source('1.0.1')}${policy('web')}`);
    await first.refresh();
    await first.close();
    const opening = place.open();
    await place.clock.advance(lossDelayMs - quietMs);
    place.write('web.yaml', `${source('1.0.1')}${staged}`);
    const host = await place.clock.during(opening);
    expect([get(host, 'web'), host.problems()]).toEqual([before, []]);
  });

  test.each([false, true])('is used once it has not changed for 10 s (restart: %s)', async (restarts) => {
    const place = new Workplace();
    place.write('web.yaml', `${source('1.0.0')}${staged}`);
    let host = await place.open();
    place.write('web.yaml', `${source('1.0.1')}${policy('web')}`);
    if (restarts) {
      await host.close();
      host = await place.openInTime();
    } else {
      await host.refresh();
      await place.clock.advance(lossDelayMs - 1);
      await host.refresh();
      expect(stages(host)).toEqual(['canary', 'rest']);
      await place.clock.advance(1);
      await host.refresh();
    }
    expect([stages(host), host.problems()]).toEqual([undefined, []]);
  });

  test('keeps its resources if the new text is refused', async () => {
    const place = new Workplace();
    place.write('web.yaml', `${source('1.0.0')}${staged}`);
    const host = await place.open();
    const invalid = policy('web').replace('selector: {}', 'selectors: {}');
    place.write('web.yaml', `${source('1.0.1')}${invalid}${'  # comment\n'.repeat(5)}`);
    await host.refresh();
    await wait(place, host);
    place.write('web.yaml', `${source('1.0.2')}${policy('web')}`);
    await host.refresh();
    expect(stages(host)).toEqual(['canary', 'rest']);
  });

  test('keeps its resources while another document is no YAML', async () => {
    const place = new Workplace();
    place.write('web.yaml', `a: 1\n---\n${staged}`);
    const host = await place.open();
    place.write('web.yaml', `a: [1\n---\n${policy('web')}`);
    await host.refresh();
    expect(stages(host)).toEqual(['canary', 'rest']);
    expect(host.problems()).toHaveLength(2);
  });

  test('keeps a pause of the operator', async () => {
    const place = new Workplace();
    place.write('x.yaml', `${policy('web')}---\n${settings}`);
    const host = await place.open();
    place.write('x.yaml', `# new\n${policy('web')}---\n${settings.replace(/^data.*\n/m, 'immutable: false\n')}`);
    await host.refresh();
    expect(host.settings().pausedBy).toBeDefined();
    expect(host.problems()).toMatchObject([{ problem: expect.stringContaining('data of ConfigMap') }]);
  });

  test('keeps its Secrets, whose values are not stored', async () => {
    const place = new Workplace();
    place.write('s.yaml', secret.replace('{accessId: a}', '\n  accessId: canary\n  accessKey: |\n    a\n    canary'));
    const host = await place.open();
    expect(place.read('.logfleet/manifests.json')).not.toContain('canary');
    place.write('s.yaml', `# new\n${secret}`);
    await host.refresh();
    expect(host.problems()).toMatchObject([
      { problem: expect.stringContaining('lacks stringData.accessKey of Secret') },
    ]);
    await wait(place, host);
    expect(host.problems()).toEqual([]);
  });

  test('is used immediately if nothing is missing', async () => {
    const place = new Workplace();
    place.write('web.yaml', `${source('1.0.0')}${staged}`);
    const host = await place.open();
    place.write('web.yaml', staged.replace('19.500-1', '19.501-1').replaceAll('\n', '\n\n'));
    await host.refresh();
    expect([get(host, 'web').spec.target.version, host.problems()]).toEqual(['19.501-1', []]);
  });
});

describe('a file that is unreadable from the first run on may pause everything (R10)', () => {
  test.each(['spec: [never\n', ''])('%j also pauses exports, until it is removed', async (text) => {
    const place = new Workplace();
    place.write('x.yaml', text);
    const host = await place.open();
    expect(host.settings()).toMatchObject({ pausedBy: expect.any(String), upgradesBlocked: expect.any(String) });
    expect(host.pausing()).toMatchObject([{ manifest: 'x.yaml', source: 'unreadable' }]);
    place.remove('x.yaml');
    await host.refresh();
    expect(host.settings()).toEqual({});
  });

  test('an invalid document pauses no export', async () => {
    const place = new Workplace();
    place.write('x.yaml', policy('web').replace('selector: {}', 'selector: 7'));
    const host = await place.open();
    expect(host.settings()).toMatchObject({ pausedBy: undefined, upgradesBlocked: expect.any(String) });
  });

  test.each([settings, secret])('a file without resources has no former version after a restart: %j', async (text) => {
    const place = new Workplace();
    place.write('x.yaml', text);
    await (await place.open()).close();
    place.write('x.yaml', text.slice(0, 40));
    const host = await place.open();
    expect(host.settings()).toMatchObject({ pausedBy: expect.any(String), upgradesBlocked: expect.any(String) });
    place.write('x.yaml', text);
    await host.refresh();
    expect(host.settings().upgradesBlocked).toBeUndefined();
    expect(host.settings().pausedBy !== undefined).toBe(text === settings);
  });

  test.each(['Configmap', 'ConfgMap', 'configmaps'])('settings of kind %s are refused', async (kind) => {
    const place = new Workplace();
    place.write('x.yaml', settings.replace('ConfigMap', kind));
    const host = await place.open();
    expect(host.settings()).toMatchObject({ pausedBy: expect.any(String), upgradesBlocked: expect.any(String) });
  });

  test('settings are kept while their file is damaged', async () => {
    const place = new Workplace();
    place.write('x.yaml', settings);
    const host = await place.open();
    place.write('x.yaml', '');
    await host.refresh();
    await wait(place, host);
    expect(host.settings()).toEqual({ pausedBy: expect.stringContaining('ConfigMap') });
  });
});

describe('a file that is being written (D2)', () => {
  test('is used after it was unchanged for a while', async () => {
    const place = new Workplace();
    place.write('pin.yaml', policy('pin'));
    const host = await place.open();
    place.writeNow('web.yaml', policy('web'));
    place.writeNow('pin.yaml', policy('pin', '19.501-1'));
    await host.refresh();
    expect([names(host), get(host, 'pin').spec.target.version]).toEqual([['pin'], '19.500-1']);
    await place.clock.advance(quietMs);
    await host.refresh();
    expect([names(host), get(host, 'pin').spec.target.version]).toEqual([['pin', 'web'], '19.501-1']);
  });

  test('delays the start', async () => {
    const place = new Workplace();
    place.writeNow('web.yaml', policy('web'));
    const host = await place.openInTime();
    expect(names(host)).toEqual(['web']);
    expect(place.clock.monotonic()).toBeGreaterThanOrEqual(quietMs);
  });
});

describe('a file that changes all the time after a restart (D2)', () => {
  test('is unreadable, so its resources do not count as deleted', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    await (await place.open()).close();
    let text = policy('web');
    const pass = async (durationMs: number) => {
      for (let passedMs = 0; passedMs < durationMs; passedMs += quietMs / 2) {
        text += '# more\n';
        place.writeNow('web.yaml', text);
        await place.clock.advance(quietMs / 2);
      }
    };
    place.writeNow('web.yaml', text);
    const opening = place.open();
    await pass(2 * lossDelayMs);
    const host = await opening;
    await pass(2 * deletionDelayMs);
    expect([names(host), host.notices()]).toEqual([['web'], []]);
    expect(host.problems()).toMatchObject([{ severity: 'error', file: place.path('web.yaml') }]);
  });
});

describe('a manifest that is missing for a moment (D3)', () => {
  test('a link to a missing file, as during the update of a volume, is unreadable', async () => {
    const place = new Workplace();
    place.write('.data/web.yaml', policy('web'));
    symlinkSync('.data/web.yaml', place.path('web.yaml'));
    const host = await place.open();
    renameSync(place.path('.data'), place.path('.old'));
    await host.refresh();
    await wait(place, host);
    expect(names(host)).toEqual(['web']);
    expect(host.problems()).toMatchObject([{ file: place.path('web.yaml') }]);
  });

  test('an updated ConfigMap volume is read again', async () => {
    const place = new Workplace();
    place.write('..1/web.yaml', policy('web'));
    place.write('..2/web.yaml', policy('web', '19.501-1'));
    symlinkSync('..1', place.path('..data'));
    symlinkSync('..data/web.yaml', place.path('web.yaml'));
    const host = await place.open();
    symlinkSync('..2', place.path('..next'));
    renameSync(place.path('..next'), place.path('..data'));
    await host.refresh();
    expect(get(host, 'web').spec.target.version).toBe('19.501-1');
    expect(host.problems()).toEqual([]);
  });

  test('a directory without its state counts as not mounted, and its manifests stay', async () => {
    const place = new Workplace();
    place.write('m/web.yaml', policy('web'));
    const host = await place.open({ directories: [place.path('m')] });
    renameSync(place.path('m'), place.path('away'));
    mkdirSync(place.path('m'));
    await host.refresh();
    await wait(place, host);
    expect(names(host)).toEqual(['web']);
    expect(existsSync(place.path('m/.logfleet'))).toBe(false);
    rmSync(place.path('m'), { recursive: true });
    renameSync(place.path('away'), place.path('m'));
    await host.refresh();
    expect([names(host), host.problems()]).toEqual([['web'], []]);
  });

  test('a document that moves to another file with a gap in between keeps its resource', async () => {
    const place = new Workplace();
    place.write('all.yaml', `${policy('web')}---\n${policy('pin')}`);
    const host = await place.open();
    const before = get(host, 'web');
    place.write('all.yaml', policy('pin'));
    await host.refresh();
    await place.clock.advance(deletionDelayMs - 1);
    await host.refresh();
    expect(get(host, 'web')).toEqual(before);
    place.write('web.yaml', policy('web'));
    await host.refresh();
    await wait(place, host);
    expect(get(host, 'web')).toEqual(before);
    expect(host.notices()).toEqual([]);
  });

  test('a document that moves into an unreadable file keeps its resource', async () => {
    const place = new Workplace();
    place.write('pin.yaml', policy('pin'));
    place.write('pause.yaml', settings);
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const before = get(host, 'pin');
    place.write(
      'web.yaml',
      Buffer.from(`${policy('web')}---\n${policy('pin')}---\n${settings}# caf\u00e9\n`, 'latin1'),
    );
    place.remove('pin.yaml');
    place.remove('pause.yaml');
    await host.refresh();
    await wait(place, host);
    expect(get(host, 'pin')).toEqual(before);
    expect(host.settings().pausedBy).toBeDefined();
    place.write('web.yaml', policy('web'));
    await host.refresh();
    await wait(place, host);
    expect([names(host), host.settings().pausedBy !== undefined]).toEqual([['web'], false]);
  });

  test('a named pipe in place of a manifest file is unreadable', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    place.remove('web.yaml');
    execFileSync('mkfifo', [place.path('web.yaml')]);
    await host.refresh();
    await wait(place, host);
    expect(names(host)).toEqual(['web']);
    expect(host.problems()).toMatchObject([{ file: place.path('web.yaml') }]);
  });

  test('a folder that cannot be listed is unreadable', async () => {
    const place = new Workplace();
    place.write('deep/web.yaml', policy('web'));
    const host = await place.open();
    chmodSync(place.path('deep'), 0);
    await host.refresh();
    await wait(place, host);
    // If the test runs as root, the folder is readable despite its mode, and the policy is simply read again.
    expect(names(host)).toEqual(['web']);
    chmodSync(place.path('deep'), 0o700);
  });
});

describe('documents of other kinds', () => {
  test.each([
    [
      'a Service that is exported to other clusters',
      'apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ServiceExport\n',
    ],
    ['the definition of a kind of logfleet', readFileSync('crds/collector-version-policy.yaml', 'utf8')],
    ['values for a chart', 'image: {repository: ghcr.io/example/logfleet, tag: v1}\npolicies: []\n'],
    ['a Role for the settings', 'apiVersion: v1\nkind: Role\nmetadata: {name: logfleet-settings}\n'],
  ])('%s is ignored', async (_, text) => {
    const place = new Workplace();
    place.write('x.yaml', text);
    const host = await place.open();
    expect([host.problems(), host.settings().upgradesBlocked]).toEqual([[], undefined]);
  });

  test('the items of a list have its kind', async () => {
    const place = new Workplace();
    const items = policy('web').replace(/apiVersion: .*\nkind: .*\n/, '');
    const list = `apiVersion: logfleet.dev/v1alpha1\nkind: CollectorVersionPolicyList\nitems:\n- ${items.replaceAll('\n', '\n  ')}\n`;
    place.write('web.yaml', list);
    const host = await place.open();
    expect([names(host), host.problems()]).toEqual([['web'], []]);
    place.write('web.yaml', list.replace('logfleet.dev', 'logfleet.io'));
    await host.refresh();
    expect(host.problems()).toMatchObject([{ severity: 'error', file: place.path('web.yaml') }]);
  });
});

describe('a link to a folder', () => {
  test('is not followed, and a warning names it', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    place.write('.teams/pin.yaml', policy('pin'));
    symlinkSync('.teams', place.path('teams'));
    const host = await place.open();
    expect([names(host), host.settings().upgradesBlocked]).toEqual([['web'], undefined]);
    expect(host.problems()).toMatchObject([{ severity: 'warning', reason: 'NoEffect', file: place.path('teams') }]);
  });
});

describe('other encodings', () => {
  test.each([
    ['UTF-16 as PowerShell writes it', utf16(policy('web'))],
    ['UTF-16 of the other order', Buffer.from(utf16(policy('web'))).swap16()],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${policy('web')}`)],
    ['line ends of Windows', policy('web').replaceAll('\n', '\r\n')],
  ])('%s are read', async (_, content) => {
    const place = new Workplace();
    place.write('web.yaml', content);
    const host = await place.open();
    expect([names(host), host.problems()]).toEqual([['web'], []]);
  });
});
