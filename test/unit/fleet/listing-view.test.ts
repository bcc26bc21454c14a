/** Tests which build the operator specifies in list requests, so that a list shows all collectors (U7). */
import { describe, expect, test } from 'vitest';
import { chooseView, type View } from '../../../src/fleet/listing-view.ts';
import type { Build } from '../../../src/service/collectors/upgrade-service.ts';

const builds = (...versions: readonly string[]): readonly Build[] =>
  versions.map((version, index) => ({ version, latest: index === versions.length - 1 }));
const versions = ['19.1-1', '19.2-1', '19.3-1', '19.4-1'];
const counts = (running: Readonly<Record<string, number>>) => new Map(Object.entries(running));

function choose(
  offered: readonly string[],
  targeted: readonly string[],
  running: Readonly<Record<string, number>> = {},
  present?: View,
): View {
  return chooseView(builds(...offered), new Set(targeted), counts(running), present);
}

describe('the view of a sweep', () => {
  test.each<[string, readonly string[], readonly string[], Record<string, number>, readonly (string | undefined)[]]>([
    [
      'is the list of a build that no policy targets and no collector runs',
      versions,
      ['19.4-1'],
      { '19.1-1': 5, '19.2-1': 1 },
      ['19.3-1'],
    ],
    ['is the list of the oldest unused build', versions, ['19.4-1'], {}, ['19.1-1']],
    ['compares builds as versions', ['19.10-1', '19.9-1', '19.11-1'], ['19.11-1'], {}, ['19.9-1']],
    [
      'is two lists if every build without a policy is in use: those that hide the fewest collectors',
      ['19.1-1', '19.2-1', '19.3-1'],
      ['19.3-1'],
      { '19.1-1': 9, '19.2-1': 2, '19.3-1': 1 },
      ['19.2-1', '19.3-1'],
    ],
    [
      'is two lists for two builds, if one is targeted and the other is in use',
      ['19.1-1', '19.2-1'],
      ['19.2-1'],
      { '19.1-1': 9 },
      ['19.1-1', '19.2-1'],
    ],
    ['is the list of the only build', ['19.2-1'], ['19.2-1'], {}, ['19.2-1']],
    [
      'is two lists if every build is targeted',
      ['19.1-1', '19.2-1', '19.3-1'],
      ['19.1-1', '19.2-1', '19.3-1'],
      { '19.2-1': 3 },
      ['19.1-1', '19.3-1'],
    ],
    ['is the default list if there are no builds', [], [], {}, [undefined]],
  ])('%s', (_, offered, targeted, running, expected) => {
    expect(choose(offered, targeted, running).builds).toEqual(expected);
  });

  test('stays while it is usable', () => {
    const present = choose(versions, ['19.4-1'], { '19.1-1': 5 });
    expect(present.builds).toEqual(['19.2-1']);
    expect(choose(versions, ['19.4-1'], {}, present).builds).toEqual(['19.2-1']);
  });

  test.each<[string, readonly string[], readonly string[], Record<string, number>]>([
    ['targeted', versions, ['19.2-1'], { '19.1-1': 5 }],
    ['run', versions, ['19.4-1'], { '19.1-1': 5, '19.2-1': 1 }],
    ['no longer offered', ['19.1-1', '19.3-1', '19.4-1'], ['19.4-1'], { '19.1-1': 5 }],
  ])('changes when its build is %s', (_, offered, targeted, running) => {
    const present = choose(versions, ['19.4-1'], { '19.1-1': 5 });
    expect(choose(offered, targeted, running, present).builds[0]).not.toBe('19.2-1');
  });
});

describe('U7: the versions that a view shows', () => {
  test('one listing shows every version except its own', () => {
    const view = choose(versions, ['19.4-1']);
    expect(view.observes('19.4-1')).toBe(true);
    expect(view.observes('19.1-1')).toBe(false);
  });

  test('two listings show every version', () => {
    const view = choose(['19.1-1', '19.2-1'], ['19.2-1'], { '19.1-1': 9 });
    expect(versions.every((version) => view.observes(version))).toBe(true);
  });

  test('with a single build, no collector at the target shows', () => {
    expect(choose(['19.2-1'], ['19.2-1']).observes('19.2-1')).toBe(false);
  });
});

describe('the check of a view', () => {
  test('uses another build that is not targeted and seems unused', () => {
    const view = choose(versions, ['19.4-1']);
    expect(view.alternative(counts({ '19.2-1': 1 }))?.builds).toEqual(['19.3-1']);
  });

  test('has no other unused build if every other build is in use or targeted', () => {
    const view = choose(versions, ['19.4-1']);
    expect(view.alternative(counts({ '19.2-1': 1, '19.3-1': 1 }))).toBeUndefined();
  });

  const runAll = counts({ '19.1-1': 7, '19.2-1': 4, '19.3-1': 2, '19.4-1': 1 });

  test('then uses the length of a listing that upgrades make longer, if no collector may be overlooked', () => {
    expect(choose(versions, ['19.3-1', '19.4-1']).witness(runAll, true)).toBe('19.2-1');
  });

  test('then uses the length of a listing that upgrades make shorter, if false alarms must be avoided', () => {
    expect(choose(versions, ['19.3-1', '19.4-1']).witness(runAll, false)).toBe('19.4-1');
    expect(choose(versions, []).witness(runAll, false)).toBe('19.4-1');
  });

  test('uses no length if every other build is targeted and no collector may be overlooked', () => {
    expect(choose(['19.1-1', '19.4-1'], ['19.4-1']).witness(runAll, true)).toBeUndefined();
  });

  test('then uses a second listing, for the build that hides the fewest collectors', () => {
    const view = choose(versions, ['19.4-1']);
    expect(view.widened(counts({ '19.2-1': 4, '19.3-1': 1, '19.4-1': 2 }))?.builds).toEqual(['19.1-1', '19.3-1']);
  });

  test('has no second listing with a single build', () => {
    expect(choose(['19.2-1'], ['19.2-1']).widened(counts({}))).toBeUndefined();
  });

  test('is not needed with two listings', () => {
    const view = choose(['19.1-1', '19.2-1'], ['19.2-1'], { '19.1-1': 9 });
    expect(view.alternative(counts({}))).toBeUndefined();
    expect(view.widened(counts({}))).toBeUndefined();
  });
});
