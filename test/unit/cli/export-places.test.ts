import { expect, test } from 'vitest';
import { exportPlaces, volumeFlag } from '../../../src/cli/command/flags.ts';

test('volumes are relative to the current folder', () => {
  const volume = volumeFlag('audit=/mnt/audit', volumeFlag('exports=out', undefined));
  const places = exportPlaces({ volume }, { cwd: '/home/ops', env: {} });
  expect([...places.volumes]).toEqual([
    ['exports', '/home/ops/out'],
    ['audit', '/mnt/audit'],
  ]);
});

test('without flags there are no volumes and no credentials', () => {
  expect(exportPlaces({}, { cwd: '/', env: {} })).toEqual({
    ...{ volumes: new Map(), environment: {} },
    allowAmbientCredentials: false,
  });
});

test.each(['exports', '=/mnt', 'exports=', 'Exports=/mnt', '-x=/mnt'])('refuses the volume %s', (text) => {
  expect(() => volumeFlag(text, undefined)).toThrow(/NAME=DIR/);
});

test('refuses a name for two directories', () => {
  expect(() => volumeFlag('exports=/b', new Map([['exports', '/a']]))).toThrow(/The volume exports is defined twice/);
});
