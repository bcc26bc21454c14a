/** Tests that the operator creates Kubernetes Events without waiting for the API server's responses. */
import { expect, test } from 'vitest';
import type { OwnerRef, ResourceEvent } from '../../../../src/host/host.ts';
import { objectPath } from '../../../../src/host/kubernetes/api-paths.ts';
import { EventRecorder } from '../../../../src/host/kubernetes/event-recorder.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import { clientOf, createPolicy, createWorld, type KubernetesWorld, ownerOf, surroundings } from './world.ts';

interface RecorderSetting {
  readonly world: KubernetesWorld;
  readonly recorder: EventRecorder;
  readonly owner: OwnerRef;
}

function setting(): RecorderSetting {
  const world = createWorld();
  const recorder = new EventRecorder({ ...surroundings(world), client: clientOf(world), identity: 'operator-0' });
  return { world, recorder, owner: ownerOf(createPolicy(world, 'production')) };
}

interface KubeEvent {
  readonly metadata: { readonly name: string };
  readonly reason: string;
  readonly note: string;
  readonly series?: { readonly count: number };
  readonly [member: string]: unknown;
}

function events({ world }: RecorderSetting): readonly KubeEvent[] {
  return world.server.store.objects('events.k8s.io/v1/events') as unknown as KubeEvent[];
}

test('an Event names its owner and the reporting process', async () => {
  const at = setting();
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'RolloutStarted', message: 'to 19.500-1' });
  await at.world.clock.advance(100);
  expect(events(at)).toMatchObject([
    {
      metadata: { namespace: 'logging' },
      type: 'Normal',
      reason: 'RolloutStarted',
      note: 'to 19.500-1',
      reportingController: 'logfleet.dev/operator',
      reportingInstance: 'operator-0',
      regarding: { kind: 'CollectorVersionPolicy', name: 'production', namespace: 'logging', uid: at.owner.uid },
    },
  ]);
});

test('an Event is written to the log with its reason and detail, and is passed to the listener', async () => {
  const world = createWorld();
  const log = new RecordingLogger();
  const heard: string[] = [];
  const onEvent = ({ name }: OwnerRef, { reason }: ResourceEvent) => void heard.push(`${name} ${reason}`);
  const recorder = new EventRecorder({ ...surroundings(world), client: clientOf(world), identity: 'a', log, onEvent });
  const owner = ownerOf(createPolicy(world, 'production'));
  recorder.publish(owner, { type: 'Normal', reason: 'RolloutStarted', message: 'to 19.500-1' });
  recorder.publish(owner, { type: 'Warning', reason: 'AwaitingApproval', message: 'stage canary' });
  const resource = { kind: 'CollectorVersionPolicy', namespace: 'logging', name: 'production' };
  expect(log.lines).toMatchObject([
    { level: 'info', fields: { ...resource, reason: 'RolloutStarted', detail: 'to 19.500-1' } },
    { level: 'warn', fields: { ...resource, reason: 'AwaitingApproval', detail: 'stage canary' } },
  ]);
  expect(heard).toEqual(['production RolloutStarted', 'production AwaitingApproval']);
});

test('a repeated Event increases its count until ten minutes pass without it', async () => {
  const at = setting();
  for (let time = 0; time < 3; time++) {
    at.recorder.publish(at.owner, { type: 'Warning', reason: 'Stalled', message: 'the Secret is missing' });
    await at.world.clock.advance(300_000);
  }
  expect(events(at).map(({ series }) => series?.count)).toEqual([3]);
  await at.world.clock.advance(600_000);
  at.recorder.publish(at.owner, { type: 'Warning', reason: 'Stalled', message: 'the Secret is missing' });
  await at.world.clock.advance(100);
  expect(events(at).map(({ series }) => series?.count)).toEqual([3, undefined]);
});

test.each(['new', 'repeated'])('one resource gets 25 %s Events immediately, and then one every 12 s', async (which) => {
  const at = setting();
  const publish = (number: number) =>
    at.recorder.publish(at.owner, { type: 'Normal', reason: 'Noise', message: which === 'new' ? `${number}` : '' });
  const written = () => events(at).reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
  for (let number = 0; number < 100; number++) publish(number);
  await at.world.clock.advance(1_000);
  expect(written()).toBe(25);
  at.recorder.publish(ownerOf(createPolicy(at.world, 'second')), { type: 'Normal', reason: 'Quiet', message: 'heard' });
  await at.world.clock.advance(11_000);
  expect(written()).toBe(26);
  for (let number = 100; number < 103; number++) publish(number);
  await at.world.clock.advance(1_000);
  expect(written()).toBe(27);
});

test('publishing never waits, and memory is bounded while the server does not respond', async () => {
  const at = setting();
  at.world.server.onRequest = () => ({ kind: 'stall', when: 'before' });
  for (let number = 0; number < 5_000; number++) {
    const owner = { ...at.owner, uid: `uid-${number}` };
    at.recorder.publish(owner, { type: 'Normal', reason: 'Noise', message: String(number) });
  }
  at.world.server.onRequest = () => undefined;
  await at.world.clock.advance(60_000);
  expect(events(at).length).toBeGreaterThanOrEqual(200);
  expect(events(at).length).toBeLessThanOrEqual(201);
});

test.each(['before', 'after'] as const)(
  'a response that is lost %s the effect neither loses nor repeats an Event',
  async (when) => {
    const at = setting();
    let lost = 0;
    at.world.server.onRequest = () => (lost++ < 2 ? { kind: 'reset', when } : undefined);
    at.recorder.publish(at.owner, { type: 'Normal', reason: 'RolloutStarted', message: 'once' });
    await at.world.clock.advance(30_000);
    expect(events(at)).toHaveLength(1);
    at.recorder.publish(at.owner, { type: 'Normal', reason: 'RolloutStarted', message: 'once' });
    await at.world.clock.advance(1_000);
    expect(events(at).map(({ series }) => series?.count)).toEqual([2]);
  },
);

test('a repeated Event is created again if Kubernetes has deleted it in the meantime', async () => {
  const at = setting();
  const publish = async () => {
    at.recorder.publish(at.owner, { type: 'Warning', reason: 'Stalled', message: 'the Secret is missing' });
    await at.world.clock.advance(15_000);
  };
  await publish();
  at.world.server.remove(objectPath('events', 'logging', events(at)[0]?.metadata.name));
  await publish();
  expect(events(at).map(({ series }) => series?.count)).toEqual([2]);
});

test('a refused event is dropped, and later events are delivered', async () => {
  const at = setting();
  at.world.server.onRequest = ({ sequence }) =>
    sequence === 1 ? { kind: 'status', status: 403, when: 'before' } : undefined;
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'First', message: 'refused' });
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'Second', message: 'delivered' });
  await at.world.clock.advance(1_000);
  expect(events(at).map(({ reason }) => reason)).toEqual(['Second']);
});

test('texts are cut to the limits of the server', async () => {
  const at = setting();
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'Long', message: 'x'.repeat(5_000) });
  await at.world.clock.advance(100);
  expect(events(at)[0]?.note).toHaveLength(1_024);
});

test('texts with characters of several bytes are cut to the limit of the server, which counts bytes', async () => {
  const at = setting();
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'Long', message: 'ü😀'.repeat(1_000) });
  await at.world.clock.advance(100);
  expect(events(at)[0]?.note).toBe(`${'ü😀'.repeat(170)}ü`);
});

test('stopping delivers queued Events for a limited time', async () => {
  const at = setting();
  at.recorder.publish(at.owner, { type: 'Normal', reason: 'Last', message: 'goodbye' });
  const stopped = at.recorder.stop(2_000);
  await at.world.clock.advance(2_000);
  await stopped;
  expect(events(at)).toHaveLength(1);
  const silent = setting();
  silent.world.server.onRequest = () => ({ kind: 'stall', when: 'before' });
  silent.recorder.publish(silent.owner, { type: 'Normal', reason: 'Last', message: 'unheard' });
  const given = silent.recorder.stop(2_000);
  await silent.world.clock.advance(2_000);
  await given;
  expect(events(silent)).toHaveLength(0);
});
