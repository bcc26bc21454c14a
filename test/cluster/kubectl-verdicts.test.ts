/** Tests that `validate` and `kubectl apply --dry-run=server` accept the same unusual YAML files. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkCredentialsSecret } from '../../src/account/secret-check.ts';
import { checkManifests } from '../../src/api/manifest-set.ts';
import { timeZoneNames } from '../../src/api/schedule-check.ts';
import { timeZone } from '../../src/base/time-zone.ts';
import { controlPlane, createNamespace, kubectl } from '../support/control-plane.ts';

let namespace: string;

beforeAll(async () => {
  namespace = await createNamespace('verdicts');
});

const policy = (spec = '', metadata = '') => `apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: web${metadata}}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: 19.500-1}
  selector: {}
${spec}`;

const windowOf = (schedule: string, timeZone = 'UTC') =>
  `  maintenance: {windows: [{schedule: "${schedule}", duration: 1h, timeZone: "${timeZone}"}]}\n`;

const kubectlFlags = ['apply', '--dry-run=server', '--validate=strict', '--output=name'];

/** Reports whether kubectl rejects a file. */
async function isRefusedByKubectl(content: string | Uint8Array): Promise<boolean> {
  const { status } = await kubectl([...kubectlFlags, '--namespace', namespace, '-f', '-'], { input: content });
  return status !== 0;
}

/**
 * Returns the names of the resources that kubectl accepts. Each file contains one resource. A single kubectl process
 * checks all files, to save time.
 */
async function acceptedByKubectl(contents: readonly string[]): Promise<ReadonlySet<string>> {
  const folder = mkdtempSync(join(controlPlane().directory, 'verdicts-'));
  for (const [index, content] of contents.entries()) writeFileSync(join(folder, `${index}.yaml`), content);
  const { stdout } = await kubectl([...kubectlFlags, '--namespace', namespace, '-f', folder]);
  return new Set(stdout.split('\n').map((line) => line.split('/')[1] ?? ''));
}

function isRefusedByValidate(text: string | Uint8Array): boolean {
  const { findings } = checkManifests([{ name: 'web.yaml', text }], checkCredentialsSecret);
  return findings.some(({ severity }) => severity === 'error');
}

const numbers = [
  '1',
  '010',
  '08',
  '0o10',
  '0O17',
  '-0o17',
  '0b11',
  '0B11',
  '0x1f',
  '0X1F',
  '1_0',
  '1.0',
  '1.5',
  '.5',
  '5.',
  '1e1',
  '1e1_0',
];
const others = [
  '1:30',
  'yes',
  'on',
  'n',
  '~',
  'null',
  '',
  '2026-11-01',
  '.inf',
  '9223372036854775808',
  "'1'",
  '!!int "3"',
  '!foo 3',
];

const scalars = [...numbers, ...others].flatMap((scalar): readonly (readonly [string, string])[] => [
  [`priority: ${scalar}`, policy(`  priority: ${scalar}\n`)],
  [`paused: ${scalar}`, policy(`  paused: ${scalar}\n`)],
  [`annotations: {a: ${scalar}}`, policy('', `, annotations: {a: ${scalar || '""'}}`)],
]);

const utf16 = (text: string) => Buffer.from(text, 'utf16le');

const forms: readonly (readonly [string, string | Uint8Array])[] = [
  ['nothing', ''],
  ['markers alone', '---\n---\n'],
  ['comments alone', '# web\n'],
  ['prose', 'hello\n'],
  ['a list', '- 1\n'],
  ['a null', 'null\n'],
  ['line ends of Windows', policy().replaceAll('\n', '\r\n')],
  ['a byte order mark', `\ufeff${policy()}`],
  ['UTF-16 with a mark', utf16(`\ufeff${policy()}`)],
  ['UTF-16 without a mark', utf16(policy())],
  ['a NUL', `${policy()}# \0\n`],
  ['a control character', `${policy()}# \u0007\n`],
  ['a code point that is not a character', `${policy()}# \uffff\n`],
  ['an emoji', `${policy()}# \u{1F600}\n`],
  ['a directive', `%YAML 1.1\n---\n${policy()}`],
  ['an end of a document', `${policy()}...\n`],
  ['a comment after a marker', `--- # web\n${policy()}`],
  ['text after a marker', `--- {a: 1}\n${policy()}`],
  ['a second document that is broken', `${policy()}---\nspec: [\n`],
  ['a second document that is plain text', `${policy()}---\nhello\n`],
  ['a merged key', policy('  retryPolicy: {<<: {limit: 1}}\n')],
  ['a merged key before the same key', policy('  <<: {priority: 1}\n  priority: 2\n')],
  ['a merged key with an invalid value before the same key', policy('  <<: {priority: x}\n  priority: 2\n')],
  ['a merged key with an invalid value after the same key', policy('  priority: 2\n  <<: {priority: x}\n')],
  ['a merged key after the same key with an invalid value', policy('  priority: x\n  <<: {priority: 2}\n')],
  ['two merges of the same key, the first one invalid', policy('  <<: {priority: x}\n  <<: {priority: 2}\n')],
  ['a list of merges of the same key, the first one invalid', policy('  <<: [{priority: x}, {priority: 2}]\n')],
  ['an alias without an anchor', policy('  paused: *nowhere\n')],
  ['a tab as indentation', policy('\tpaused: true\n')],
  ['a name that is a number', policy().replace('name: web', 'name: 7')],
  ['an octal number as name', policy().replace('name: web', 'name: 0o10')],
  ['a boolean as name', policy().replace('name: web', 'name: yes')],
  ['an annotation without a proper name', policy('', ', annotations: {-a: b}')],
  ['another version', policy().replace('v1alpha1', 'v1')],
  ['another case of the kind', policy().replace('kind: Coll', 'kind: coll')],
  ['a List', `apiVersion: v1\nkind: List\nitems:\n- ${policy().trim().replaceAll('\n', '\n  ')}\n`],
  ['a List without items', 'apiVersion: v1\nkind: List\nitems:\n'],
  [
    'a List in a List',
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - ${policy().trim().replaceAll('\n', '\n    ')}\n`,
  ],
  ['an escaped slash', policy('', ', annotations: {a: "\\/"}')],
  ['an escaped backslash before a slash', policy('', ', annotations: {a: "\\\\/"}')],
  ['half of a surrogate pair', policy('', ', annotations: {a: "\\ud83d\\ude00"}')],
  ['annotations that are too large', policy('', `, annotations: {a: ${'b'.repeat(262_144)}}`)],
  ['large annotations', policy('', `, annotations: {a: ${'b'.repeat(100_000)}}`)],
  ['an owner without fields', policy('', ', ownerReferences: [{}]')],
  ['an invalid creation time', policy('', ', creationTimestamp: x')],
  ['a creation time that is null', policy('', ', creationTimestamp: null')],
  ['a generation that is a text', policy('', ', generation: x')],
  [
    'an alias bomb',
    `${policy()}${['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name, index, all) => `x${name}: &${name} [${`${index === 0 ? 'x' : `*${all[index - 1]}`},`.repeat(9)}]\n`).join('')}`,
  ],
];

const schedules = [
  ...[
    '0 22 * * 1-5',
    ' 0  0 * * * ',
    '*/15 8-17 1,15 JAN-MAR mon',
    '*/60 */24 ?/2 */12 */7',
    '59 23 31 12 7',
    '00 00 01 01 0',
  ],
  ...['0 0 LW * *', '0 0 15W,L * *', '0 0 * * 2#1', '0 0 * * MON-FRI#L', '0 0 * * 5L'],
  ...['60 3 * * *', '0 24 * * *', '0 0 0 * *', '0 0 32 * *', '0 0 1 13 *', '0 0 * * 8', '0 0 * * MON-FRY'],
  ...[
    '*/0 * * * *',
    '*/61 * * * *',
    '5/15 * * * *',
    '1,,2 * * * *',
    '0 22-6 * * *',
    '0 0 5-1 * *',
    '0 0 * * 1#6',
    '0 0 * * L',
  ],
  ...['0 22 * *', '0 0 22 * * *', '@daily'],
].map((schedule) => [schedule, policy(windowOf(schedule))] as const);

const maxWindows = 10;

function chunksOf<T>(items: readonly T[], length: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / length) }, (_, index) =>
    items.slice(index * length, (index + 1) * length),
  );
}

const zones = [
  ...['UTC', 'Europe/Berlin', 'Europe/Kyiv', 'Asia/Kolkata', 'US/Pacific', 'America/Port-au-Prince', 'Etc/GMT+5'],
  ...['GMT', 'GMT+0', 'EST', 'NZ', 'PST8PDT', 'W-SU', 'Zulu'],
  ...['Europe/Nowhere', 'europe/berlin', 'utc', 'Local', '+01:00', '01:00', 'Berlin'],
  ...['Gmt', 'Est', 'Nz', 'Pst8pdt', 'Utc', 'Etc/Utc', 'Etc/Gmt+5', 'US/pacific', 'Us/Pacific', 'Asia/calcutta'],
  // Names of time zones from the ICU library. Node accepts them, but an API server might not.
  ...['PST', 'IST', 'JST', 'AST', 'VST', 'ACT', 'AET', 'CST', 'BST', 'ECT', 'SystemV/EST5', 'SystemV/PST8PDT'],
  ...['US/Pacific-New', 'Canada/East-Saskatchewan', 'Etc/Unknown'],
].map((zone) => [zone, policy(windowOf('0 3 * * *', zone))] as const);

describe.concurrent('validate and kubectl accept the same YAML syntax', () => {
  test.each(forms)('%s', async (_, content) => {
    expect(isRefusedByValidate(content)).toBe(await isRefusedByKubectl(content));
  });
});

describe('validate and kubectl accept the same values', () => {
  const cases = [...scalars, ...schedules, ...zones].map(([title, content], index) => {
    return { title, name: `web-${index}`, content: content.replace('name: web', `name: web-${index}`) };
  });
  let accepted: ReadonlySet<string>;

  beforeAll(async () => {
    accepted = await acceptedByKubectl(cases.map(({ content }) => content));
  });

  test('kubectl accepts some values and refuses others', () => {
    expect(accepted.size).toBeGreaterThan(30);
    expect(accepted.size).toBeLessThan(cases.length - 30);
  });

  test.each(cases)('$title', ({ name, content }) => {
    expect(isRefusedByValidate(content)).toBe(!accepted.has(name));
  });
});

test('kubectl accepts every listed time zone that Node knows', async () => {
  const usable = [...timeZoneNames].filter((name) => timeZone(name));
  const files = chunksOf(usable, maxWindows).map((names, index) => {
    const windows = names.map((name) => `{schedule: "0 3 * * *", duration: 1h, timeZone: ${name}}`);
    const name = `zones-${index}`;
    return { name, content: policy(`  maintenance: {windows: [${windows}]}\n`).replace('name: web', `name: ${name}`) };
  });
  const accepted = await acceptedByKubectl(files.map(({ content }) => content));
  expect(files.filter(({ name }) => !accepted.has(name))).toEqual([]);
});

const exportFrom = (from: string, more = '') => `apiVersion: logfleet.dev/v1alpha1
kind: SearchExport
metadata: {name: web}
spec:
  credentialsSecretRef: {name: log-service}
  query: error
  timeRange: {from: "${from}", to: "2026-10-02T00:00:00Z"}
  destination: {s3: {bucket: log-exports, credentialsSecretRef: {name: store}}}
${more}`;

const scheduleOf = (cron: string, spec = '') => `apiVersion: logfleet.dev/v1alpha1
kind: SearchExportSchedule
metadata: {name: web}
spec:
  schedule: "${cron}"
  template: {spec: {credentialsSecretRef: {name: log-service}, query: error, byReceiptTime: true, destination: {volume: {name: exports}}}}
${spec}`;

const exclusionFrom = (startTime: string) =>
  policy(`  maintenance: {exclusions: [{name: a, startTime: "${startTime}", endTime: "2099-01-01T00:00:00Z"}]}\n`);

const jobLabels = '  execution: {mode: Job, job: {template: {metadata: {labels: {queue: a b}}}}}\n';
const impossibleTimes = [
  '2026-02-30T00:00:00Z',
  '2026-09-30T24:00:00Z',
  '2026-09-30T00:00:60Z',
  '2026-09-30T00:00:00+24:00',
];
const farTimes = ['0000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '999999999999000'];
const strictCrons = ['0 22 30 2 *', '0 22 31 4,6 *', '0 22 * DEC-JAN *', '0 22 * * FRI-MON'];

/** Files that `validate` rejects but the API server accepts. `docs/cli.md` lists these cases. */
const stricter: readonly (readonly [string, string | Uint8Array])[] = [
  ['a duplicate member', policy('  paused: true\n  paused: false\n')],
  ['a resource in two documents', `${policy()}---\n${policy()}`],
  ['bytes that are not UTF-8', Buffer.from(`${policy()}# caf\u00e9\n`, 'latin1')],
  ...strictCrons.map((cron) => [`${cron} of a window`, policy(windowOf(cron))] as const),
  ...[...strictCrons, '0 25 * * *'].map((cron) => [`${cron} of a schedule`, scheduleOf(cron)] as const),
  ['the time zone Factory', policy(windowOf('0 3 * * *', 'Factory'))],
  ...[...impossibleTimes, ...farTimes].flatMap((time): readonly (readonly [string, string])[] => [
    [`${time} of an export`, exportFrom(time)],
    [`${time} of a schedule`, scheduleOf('0 * * * *', `  startTime: "${time}"\n`)],
  ]),
  ...['2026-09-30T00:00:00+24:00', '2026-09-30T00:00:00,5Z', '0000-01-01T00:00:00Z'].map(
    (time) => [`${time} of an exclusion`, exclusionFrom(time)] as const,
  ),
  ['an invalid label of a Job', exportFrom('2026-10-01T00:00:00Z', jobLabels)],
  ['a list of a selector that is null', policy().replace('selector: {}', 'selector: {matchNames: }')],
  ['a whole number with the tag !!float', policy('  priority: !!float 5\n')],
];

describe.concurrent('validate refuses, and kubectl accepts', () => {
  test.each(stricter)('%s', async (_, content) => {
    expect([isRefusedByValidate(content), await isRefusedByKubectl(content)]).toEqual([true, false]);
  });
});

test.concurrent.each(['0 * * * *', '0 22 * *', '0 0 22 * * *', '@hourly'])(
  'validate and kubectl agree on the schedule %s',
  async (cron) => {
    const content = scheduleOf(cron);
    expect([isRefusedByValidate(content), await isRefusedByKubectl(content)]).toEqual(
      cron === '0 * * * *' ? [false, false] : [true, true],
    );
  },
);
