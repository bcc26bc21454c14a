import { describe, expect, it } from 'vitest';
import type { AnyResource } from '../../../src/api/kinds.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { ClusterReader } from '../../../src/cli/resources/cluster-access.ts';
import type { KubeApi, KubeResponse } from '../../../src/host/kubernetes/kube-api.ts';
import { MemoryApiServer } from '../../support/memory-api-server.ts';
import { ScriptedKubeApi } from '../../support/scripted-kube-api.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';
import { policiesPath } from '../../support/world.ts';
import { samplePolicy } from './sample-policy.ts';

const kind = 'CollectorVersionPolicy';

function listOf(resources: readonly unknown[], token?: string): Partial<KubeResponse> {
  return { body: { metadata: { resourceVersion: '7', ...(token ? { continue: token } : {}) }, items: resources } };
}

function readerOf(api: KubeApi, clock = new VirtualClock(), { signal } = new AbortController()) {
  const ports = { clock, random: seededRandom(1), signal };
  return new ClusterReader({ api, context: 'test', defaultNamespace: 'logging', ...ports });
}

const production = samplePolicy();
const staging = samplePolicy({ metadata: { name: 'staging' } });

describe('ClusterReader', () => {
  it('lists all pages, in order', async () => {
    const api = new ScriptedKubeApi(listOf([staging], 'more'), listOf([production]));
    expect(await readerOf(api).list(kind, 'logging')).toEqual([production, staging]);
    expect(api.requests).toEqual([
      { method: 'GET', path: policiesPath, query: { limit: '500' } },
      { method: 'GET', path: policiesPath, query: { limit: '500', continue: 'more' } },
    ]);
  });

  it('keeps labels and leaves out the fields that kubectl hides', async () => {
    const owned = { 'f:metadata': { 'f:annotations': { 'f:logfleet.dev/paused': {} } } };
    const managedFields = [{ manager: 'kubectl', fieldsV1: owned }];
    const raw = { ...production, metadata: { ...production.metadata, labels: { team: 'a' }, managedFields } };
    const api = new ScriptedKubeApi({ body: raw });
    const resource = await readerOf(api).get(kind, { namespace: 'logging', name: 'production' });
    expect(resource).toEqual({ ...production, metadata: { ...production.metadata, labels: { team: 'a' } } });
    expect(api.requests[0]?.path).toBe(`${policiesPath}/production`);
  });

  it('finds nothing for an unknown name', async () => {
    const api = new ScriptedKubeApi({ status: 404, body: { message: 'not found' } });
    expect(await readerOf(api).get(kind, { namespace: 'logging', name: 'nobody' })).toBeUndefined();
  });

  it('shows how to install a missing kind', async () => {
    const api = new ScriptedKubeApi({ status: 404, body: 'page not found' });
    await expect(readerOf(api).list(kind, undefined)).rejects.toMatchObject({
      code: 'cli.kindNotInstalled',
      message: expect.stringContaining('logfleet crds | kubectl apply -f -'),
    });
  });

  it.each([
    ['true', 'true'],
    [undefined, null],
  ])('annotates with %s by a merge patch for this annotation only', async (value, sent) => {
    const api = new ScriptedKubeApi({ body: production });
    await readerOf(api).annotate(kind, production.metadata, { name: 'logfleet.dev/paused', value });
    expect(api.requests).toEqual([
      {
        method: 'PATCH',
        path: `${policiesPath}/production`,
        query: { fieldManager: 'logfleet-cli' },
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations: { 'logfleet.dev/paused': sent } } },
      },
    ]);
  });
});

it('ends a request to the API server when the command is interrupted', async () => {
  const stop = new AbortController();
  const server = new MemoryApiServer({ clock: new VirtualClock(), random: seededRandom(1) });
  const reader = readerOf(server.client('person'), new VirtualClock(), stop);
  const read = reader.get(kind, production.metadata);
  stop.abort('SIGINT');
  await expect(read).rejects.toBe('SIGINT');
});

async function followed() {
  const api = new ScriptedKubeApi(listOf([production]));
  const clock = new VirtualClock();
  const stop = new AbortController();
  const seen: (readonly AnyResource[])[] = [];
  const done = readerOf(api, clock).follow(kind, 'logging', (resources) => seen.push(resources), stop.signal);
  await settle();
  return { api, clock, stop, seen, done };
}

describe('ClusterReader.idleNote', () => {
  const clock = new VirtualClock();
  const lease = (spec: object) => ({ metadata: { name: 'logfleet-operator', namespace: 'logfleet' }, spec });
  const renewTime = new Date(clock.now()).toISOString();
  const alive = lease({ holderIdentity: 'pod', renewTime });
  const note = (response: Partial<KubeResponse>) => readerOf(new ScriptedKubeApi(response), clock).idleNote();

  it('says that no operator process is running if no Lease is held', async () => {
    expect(await note(listOf([lease({ holderIdentity: '' })]))).toContain('no process holds its Lease');
    expect(await note(listOf([lease({ holderIdentity: '' }), alive]))).toBeUndefined();
  });

  it.each([
    ['the user may not read Leases', { status: 403 }],
    ['the API server fails', { status: 500 }],
    ['there is no Lease, as without leader election', listOf([])],
  ])('is undefined if %s', async (_, response: Partial<KubeResponse>) => {
    expect(await clock.during(note(response))).toBeUndefined();
  });
});

describe('ClusterReader.follow', () => {
  it('shows the current resources and each change until the signal', async () => {
    const { api, clock, stop, seen, done } = await followed();
    expect(seen).toEqual([[production]]);
    api.send({ type: 'ADDED', object: staging });
    await clock.advance(1_000);
    expect(seen.at(-1)).toEqual([production, staging]);
    api.send({ type: 'DELETED', object: production });
    await clock.advance(1_000);
    expect(seen.at(-1)).toEqual([staging]);
    expect(api.requests.length).toBe(1);
    stop.abort();
    await done;
    expect(clock.next()).toBeUndefined();
  });

  it('shows many changes in quick succession once', async () => {
    const { api, clock, stop, seen, done } = await followed();
    for (let count = 0; count < 50; count++) {
      api.send({ type: 'ADDED', object: samplePolicy({ metadata: { name: `staging-${count}` } }) });
      await settle();
    }
    await clock.advance(1_000);
    expect(seen.map((resources) => resources.length)).toEqual([1, 51]);
    stop.abort();
    await done;
  });

  it('fails immediately if the first list fails', async () => {
    const api = new ScriptedKubeApi({ status: 403, body: { message: 'you may not' } });
    const done = readerOf(api).follow(kind, 'logging', () => {}, new AbortController().signal);
    await expect(done).rejects.toMatchObject({ code: 'host.forbidden' });
  });
});
