import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../../src/base/build-version.ts';

function parse(text: string): BuildVersion {
  const version = parseBuildVersion(text);
  expect(version).toBeDefined();
  return version as BuildVersion;
}

describe('build versions', () => {
  test('consist of three numbers', () => {
    expect(parseBuildVersion('19.253-26')).toEqual({ major: 19, minor: 253, build: 26 });
  });

  test.each([
    '',
    '19.253',
    '19-253.26',
    '19.253.26',
    'v19.253-26',
    '19.253-26 ',
    '19.253-26\n',
    '-1.2-3',
    '19.253-x',
    '1.2-1234567890',
  ])('%j is invalid', (text) => {
    expect(parseBuildVersion(text)).toBeUndefined();
  });

  test.each([
    ['19.99-1', '19.253-1'],
    ['9.500-9', '19.1-1'],
    ['19.253-9', '19.253-26'],
  ])('%s is older than %s', (older, newer) => {
    expect(compareBuildVersions(parse(older), parse(newer))).toBeLessThan(0);
    expect(compareBuildVersions(parse(newer), parse(older))).toBeGreaterThan(0);
  });

  test('have a total numeric order', () => {
    const part = fc.nat({ max: 999_999_999 });
    const version = fc.record({ major: part, minor: part, build: part });
    fc.assert(
      fc.property(version, version, (left, right) => {
        const order = compareBuildVersions(left, right);
        expect(Math.sign(order) + Math.sign(compareBuildVersions(right, left))).toBe(0);
        expect(order === 0).toBe(
          left.major === right.major && left.minor === right.minor && left.build === right.build,
        );
        expect(parse(`${left.major}.${left.minor}-${left.build}`)).toEqual(left);
      }),
    );
  });
});
