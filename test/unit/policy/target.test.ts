/** Tests which of the offered builds a policy chooses as its target version (section 4.7 of docs/service.md). */
import { describe, expect, test } from 'vitest';
import type { Target } from '../../../src/api/generated/collector-version-policy.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { resolveTarget, type TargetPast } from '../../../src/policy/rollout/target.ts';
import type { Build } from '../../../src/service/collectors/upgrade-service.ts';

const build = (version: string, latest = false): Build => ({ version, latest });
const builds = [build('19.1-1'), build('19.2-1', true), build('19.3-1')];
const noPast: TargetPast = { current: undefined, seenSinceMs: new Map(), wallMs: 0 };

test('an offered version is the target', () => {
  expect(resolveTarget({ version: '19.1-1' }, builds, noPast)).toEqual({ kind: 'offered', version: '19.1-1' });
});

test('a version that is not offered: the message lists the offered ones, and says what to write', () => {
  expect(resolveTarget({ version: '18.1-1' }, builds, noPast)).toEqual({
    kind: 'notOffered',
    wanted: '18.1-1',
    message:
      'The service does not offer build 18.1-1. It offers 19.1-1, 19.2-1 (latest), 19.3-1. Set spec.target.version to one of them.',
  });
});

test('a service without builds', () => {
  const verdict = resolveTarget({ version: '19.1-1' }, [], noPast);
  expect(verdict.kind === 'notOffered' && verdict.message).toContain('It offers no builds at all.');
});

test('a message lists ten builds and counts the others', () => {
  const many = Array.from({ length: 13 }, (_, index) => build(`19.${index}-1`));
  const verdict = resolveTarget({ version: '18.1-1' }, many, noPast);
  expect(verdict.kind === 'notOffered' && verdict.message).toContain('19.8-1, 19.9-1 and 3 more.');
});

describe('a channel', () => {
  const versions = ['9.9-9', '19.9-1', '19.10-1', '19.10-2', '20.1-1'];

  test('without a pattern is the build that the service marks as latest, not the highest', () => {
    expect(resolveTarget({ channel: 'Latest' }, builds, noPast)).toEqual({ kind: 'offered', version: '19.2-1' });
  });

  test.each([
    ['*', '20.1-1'],
    ['19.*', '19.10-2'],
    ['19.*-1', '19.10-1'],
    ['19.?-1', '19.9-1'],
    ['?.*', '9.9-9'],
    ['19.9-1', '19.9-1'],
  ])('with the pattern %s is %s: the newest version that matches', (versionPattern, version) => {
    const target: Target = { channel: 'Latest', versionPattern };
    const shuffled = versions.toReversed().map((one) => build(one, one === '9.9-9'));
    expect(resolveTarget(target, shuffled, noPast)).toEqual({ kind: 'offered', version });
  });

  test('with a pattern never chooses a version that cannot be parsed', () => {
    const target: Target = { channel: 'Latest', versionPattern: '*' };
    expect(resolveTarget(target, [build('nightly', true), build('19.1-1')], noPast)).toMatchObject({
      version: '19.1-1',
    });
  });

  test.each<[string, Target, readonly Build[], string, string]>([
    [
      'no latest build',
      { channel: 'Latest' },
      [build('19.1-1')],
      'Latest',
      'The service marks no build as the latest. It offers 19.1-1. Set spec.target.version instead of channel, or also set spec.target.versionPattern.',
    ],
    [
      'no matching build',
      { channel: 'Latest', versionPattern: '20.*', minAge: '1h' },
      builds,
      '20.*',
      'The service offers no build that matches 20.*. It offers 19.1-1, 19.2-1 (latest), 19.3-1. Set spec.target.versionPattern to a glob that matches one of them.',
    ],
    [
      'no build',
      { channel: 'Latest', versionPattern: '*' },
      [],
      '*',
      'The service offers no build that matches *. It offers no builds at all. Set spec.target.versionPattern to a glob that matches one of them.',
    ],
  ])('%s: the message says what to write', (_, target, offered, wanted, message) => {
    expect(resolveTarget(target, offered, noPast)).toEqual({ kind: 'notOffered', wanted, message });
  });
});

describe('minAge, with the age in hours after each build', () => {
  const wallMs = Date.UTC(2026, 10, 21, 12);
  const any = { channel: 'Latest', versionPattern: '19.*', minAge: '10h' } as const;
  const latest = { channel: 'Latest', minAge: '10h' } as const;

  /**
   * Returns the chosen target. `offered` lists the builds that the service offers now. In the form `19.3-1:4`, the
   * build was first offered four hours ago. In the form `19.3-1`, it is offered for the first time.
   */
  function verdict(target: Target, offered: readonly string[], current?: string) {
    const parts = offered.map((one) => one.split(':') as [string, string?]);
    const seenSinceMs = new Map<string, number>();
    for (const [version, age] of parts) if (age !== undefined) seenSinceMs.set(version, wallMs - Number(age) * hourMs);
    const list = parts.map(([version], place) => build(version, place === 0));
    const found = resolveTarget(target, list, { current, seenSinceMs, wallMs });
    if (found.kind === 'notOffered') return found;
    const { nextBuild } = found;
    const inHours = nextBuild && `${nextBuild.version} in ${(nextBuild.atMs - wallMs) / hourMs}h`;
    return found.kind === 'offered' ? [found.version, inHours] : ['too young', inHours];
  }

  test.each<[string, Target, readonly string[], string | undefined, string, string | undefined]>([
    ['old enough to the millisecond', any, ['19.3-1:10'], undefined, '19.3-1', undefined],
    ['the newest is old enough', any, ['19.3-1:11', '19.2-1:20'], undefined, '19.3-1', undefined],
    ['the newest is too young', any, ['19.3-1:4', '19.2-1:20', '19.1-1:30'], undefined, '19.2-1', '19.3-1 in 6h'],
    ['the two newest are too young', any, ['19.3-1:1', '19.2-1:8', '19.1-1:30'], undefined, '19.1-1', '19.2-1 in 2h'],
    [
      'a build that does not match does not replace a young build',
      any,
      ['19.3-1:4', '18.1-1:30'],
      undefined,
      'too young',
      '19.3-1 in 6h',
    ],
    ['none is old enough', any, ['19.3-1:4', '19.2-1:9'], undefined, 'too young', '19.2-1 in 1h'],
    ['all were seen for the first time', any, ['19.3-1', '19.2-1'], undefined, 'too young', '19.3-1 in 10h'],
    [
      'a target is not replaced by an older build',
      any,
      ['19.3-1:1', '19.2-1:5', '19.1-1:30'],
      '19.2-1',
      '19.2-1',
      '19.3-1 in 9h',
    ],
    ['a target stays although its stored age was lost', any, ['19.3-1', '19.2-1'], '19.3-1', '19.3-1', undefined],
    [
      'a target is replaced by a newer build that is old enough',
      any,
      ['19.3-1:1', '19.2-1:20', '19.1-1:30'],
      '19.1-1',
      '19.2-1',
      '19.3-1 in 9h',
    ],
    [
      'a target of another pattern stays while nothing is old enough',
      any,
      ['19.3-1:1', '18.1-1:30'],
      '18.1-1',
      '18.1-1',
      '19.3-1 in 9h',
    ],
    [
      'a target of another pattern is replaced by a build that is old enough',
      any,
      ['20.1-1:30', '19.3-1:1', '19.2-1:20'],
      '20.1-1',
      '19.2-1',
      '19.3-1 in 9h',
    ],
    [
      'a withdrawn target is replaced by an older build',
      any,
      ['19.3-1:1', '19.1-1:30'],
      '19.2-1',
      '19.1-1',
      '19.3-1 in 9h',
    ],
    ['a target was withdrawn, and no build is old enough', any, ['19.3-1:1'], '19.2-1', 'too young', '19.3-1 in 9h'],
    [
      'the latest is too young, with any other builds',
      latest,
      ['19.3-1:4', '19.2-1:30'],
      undefined,
      'too young',
      '19.3-1 in 6h',
    ],
    [
      'the latest is too young, and there is a target',
      latest,
      ['19.3-1:4', '19.2-1:30'],
      '19.2-1',
      '19.2-1',
      '19.3-1 in 6h',
    ],
    ['the latest is old enough', latest, ['19.3-1:12', '19.4-1:30'], '19.4-1', '19.3-1', undefined],
    ['a minAge of zero', { ...any, minAge: '0s' }, ['19.3-1'], undefined, '19.3-1', undefined],
  ])('%s', (_, target, offered, current, wanted, nextBuild) => {
    expect(verdict(target, offered, current)).toEqual([wanted, nextBuild]);
  });

  test('a build that is too young is named with its time, and with what to write', () => {
    const past = { current: undefined, seenSinceMs: new Map([['19.3-1', wallMs - 4 * hourMs]]), wallMs };
    expect(resolveTarget(any, [build('19.3-1')], past)).toMatchObject({
      kind: 'tooYoung',
      message:
        'Waiting until 2026-11-21T18:00:00Z: build 19.3-1 then becomes the target, because the service will have offered it for 10h. To start earlier, set a shorter spec.target.minAge, or set spec.target.version instead of channel.',
    });
    expect(resolveTarget(any, [build('19.3-1')], { ...past, current: '19.2-1' })).toMatchObject({
      message: expect.stringMatching(
        /^The service no longer offers build 19.2-1. Waiting until .*: build 19.3-1 then becomes the target/,
      ),
    });
  });
});
