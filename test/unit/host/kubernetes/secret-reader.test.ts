/** Tests reading Secrets by name. The values in Secrets cannot be printed. */
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { KubernetesSecretReader } from '../../../../src/host/kubernetes/secret-reader.ts';
import { clientOf, codeOf, createWorld } from './world.ts';

const key = { namespace: 'logging', name: 'log-service' };

test('decodes the values of a Secret, and hides them until their text is requested', async () => {
  const world = createWorld();
  const data = { accessKey: Buffer.from('schlüssel').toString('base64') };
  world.server.create('/api/v1/namespaces/logging/secrets', { metadata: { name: 'log-service' }, data });
  const secret = await world.clock.during(new KubernetesSecretReader(clientOf(world)).get(key));
  expect(secret?.get('accessKey')?.reveal()).toBe('schlüssel');
  expect(`${inspect(secret)}${JSON.stringify([...(secret ?? [])])}`).not.toContain('schlüssel');
});

test('reads a Secret without values', async () => {
  const world = createWorld();
  world.server.create('/api/v1/namespaces/logging/secrets', { metadata: { name: 'log-service' } });
  expect(await world.clock.during(new KubernetesSecretReader(clientOf(world)).get(key))).toEqual(new Map());
});

test('returns undefined for a missing Secret, and fails for other errors', async () => {
  const world = createWorld();
  const reader = new KubernetesSecretReader(clientOf(world));
  expect(await world.clock.during(reader.get(key))).toBeUndefined();
  world.server.onRequest = () => ({ kind: 'status', status: 403, when: 'before' });
  expect(await codeOf(world.clock.during(reader.get(key)))).toBe('host.forbidden');
});
