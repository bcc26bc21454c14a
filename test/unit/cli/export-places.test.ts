import { expect, test } from 'vitest';
import { exportPlaces, volumeFlag } from '../../../src/cli/export-places.ts';

test('volumes are named one after the other, and lie where the command was called', () => {
  const volume = volumeFlag('audit=/mnt/audit', volumeFlag('exports=out', undefined));
  const places = exportPlaces({ volume }, { cwd: '/home/ops', env: {} });
  expect([...places.volumes]).toEqual([
    ['exports', '/home/ops/out'],
    ['audit', '/mnt/audit'],
  ]);
});

test('nothing is lent that no flag lends', () => {
  expect(exportPlaces({}, { cwd: '/', env: {} })).toEqual({
    ...{ volumes: new Map(), environment: {} },
    allowAmbientCredentials: false,
  });
});

test.each(['exports', '=/mnt', 'exports=', 'Exports=/mnt', '-x=/mnt'])('a volume is not written as %s', (text) => {
  expect(() => volumeFlag(text, undefined)).toThrow(/NAME=DIR/);
});

test('a name stands for one directory', () => {
  expect(() => volumeFlag('exports=/b', new Map([['exports', '/a']]))).toThrow(/There is a volume exports already/);
});
