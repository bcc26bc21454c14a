/** A client on a scripted transport and a virtual clock, and the four operations as one table. */
import { noMetrics } from '../../../../src/base/metrics.ts';
import { SecretText } from '../../../../src/base/secret-text.ts';
import { ServiceClient } from '../../../../src/service/client.ts';
import type { Operation } from '../../../../src/service/operation.ts';
import { ServiceError } from '../../../../src/service/service-error.ts';
import type { CreateTaskOptions } from '../../../../src/service/upgrade-service.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { RecordingBudget, ScriptedTransport, type Step } from './scripted-transport.ts';

export const home = 'https://service.test/api';
export const accessKey = 'canary-key';

export interface Harness {
  readonly clock: VirtualClock;
  readonly transport: ScriptedTransport;
  readonly budget: RecordingBudget;
  readonly client: ServiceClient;
}

export function harness(steps: readonly Step[]): Harness {
  const clock = new VirtualClock();
  const transport = new ScriptedTransport(clock, steps);
  const budget = new RecordingBudget();
  const client = new ServiceClient({
    transport,
    budget,
    clock,
    metrics: noMetrics,
    address: { origin: 'https://service.test', basePath: '/api' },
    accessId: 'id',
    accessKey: new SecretText(accessKey),
    allowedHosts: ['other.test'],
    userAgent: 'logfleet/test',
  });
  return { clock, transport, budget, client };
}

export const calls: {
  readonly [O in Operation]: (client: ServiceClient, options?: CreateTaskOptions) => Promise<unknown>;
} = {
  listCollectors: (client, options) => client.listCollectors({ toVersion: '1.2-3', offset: 0, limit: 100 }, options),
  listBuilds: (client, options) => client.listBuilds(options),
  getTask: (client, options) => client.getTask('77', options),
  createTask: (client, options) => client.createTask({ collectorId: '9007199254740993', toVersion: '1.2-3' }, options),
};

/** An answer that is right for each operation. */
export const goodBodies: { readonly [O in Operation]: string } = {
  listCollectors: '{"collectors":[{"id":1,"name":"a"}]}',
  listBuilds: '{"targets":[{"version":"1.2-3","latest":true}]}',
  getTask: '{"upgrade":{"id":77,"collectorId":1,"toVersion":"1.2-3","status":2}}',
  createTask: '{"id":"77","link":{"rel":"self","href":"/v1/collectors/upgrades/77"}}',
};

/** What a call comes to, once the clock has run. */
export async function settled(clock: VirtualClock, call: Promise<unknown>): Promise<unknown> {
  let done = false;
  const result = call.then(
    (value) => value,
    (error: unknown) => error,
  );
  void result.finally(() => {
    done = true;
  });
  await clock.run(() => done);
  return result;
}

/** The `ServiceError` with which the operation ends on this script. */
export async function failureOn(
  operation: Operation,
  steps: readonly Step[],
  options?: CreateTaskOptions,
): Promise<{ readonly error: ServiceError; readonly harness: Harness }> {
  const world = harness(steps);
  const error = await settled(world.clock, calls[operation](world.client, options));
  if (!(error instanceof ServiceError)) throw new Error(`no ServiceError but ${String(error)}`);
  return { error, harness: world };
}
