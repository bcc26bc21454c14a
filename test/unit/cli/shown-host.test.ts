/** What a run shows of its policies: what it has found itself, and nothing that an earlier one left behind. */
import { expect, test } from 'vitest';
import type { CollectorVersionPolicy, KindName } from '../../../src/api/kinds.ts';
import { LiveView } from '../../../src/cli/live-view.ts';
import { ShownHost } from '../../../src/cli/shown-host.ts';
import type { DirectoryHost } from '../../../src/host/directory/directory-host.ts';
import type { ResourceKey } from '../../../src/host/host.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { recordingOutput } from './recording-context.ts';
import { nowMs, rollingStatus, samplePolicy } from './sample-policy.ts';

/** A directory with one policy, as far as it is looked at here. */
function start(left: CollectorVersionPolicy) {
  let policy: CollectorVersionPolicy | undefined = left;
  const listeners: ((key: ResourceKey) => void)[] = [];
  const change = (next: CollectorVersionPolicy | undefined) => {
    policy = next;
    for (const listener of listeners) listener(left.metadata);
  };
  const directory = {
    resources: (kind: KindName) => ({
      synced: () => true,
      list: () => (policy && kind === policy.kind ? [policy] : []),
      get: () => policy,
      subscribe: (listener: (key: ResourceKey) => void) => kind === left.kind && listeners.push(listener),
    }),
    writeStatus: async (_: string, written: CollectorVersionPolicy) => {
      change(written);
      return written;
    },
    events: { publish: () => {} },
  } as unknown as DirectoryHost;
  const output = recordingOutput();
  const shown = new ShownHost(new LiveView({ output, clock: new VirtualClock(nowMs) }), directory);
  return { shown, change, lines: () => output.text.split('\n').slice(0, -1) };
}

const line = 'logging/production: RollingOut; target 19.500-1, updated 180/197, in progress 6, pending 9, failed 2';

test('the state of an earlier run is no news, not even when the manifest changes', () => {
  const { change, lines } = start(samplePolicy());
  change(samplePolicy({ metadata: { generation: 4 } }));
  expect(lines()).toEqual([]);
});

test('the first line is about what this run has written', async () => {
  const { shown, lines } = start(samplePolicy());
  const status = { ...rollingStatus, summary: { updated: '181/197', state: 'RollingOut' } };
  await shown.host.writeStatus('CollectorVersionPolicy', samplePolicy({ status }));
  expect(lines()).toEqual([line.replace('180', '181')]);
});

test('what has settled as it was is shown then, once', () => {
  const { shown, lines } = start(samplePolicy());
  shown.settled();
  shown.settled();
  expect(lines()).toEqual([line]);
});

test('what this run has found to be true as it stands is shown, once', () => {
  const { shown, lines } = start(samplePolicy());
  shown.host.confirmStatus?.('CollectorVersionPolicy', samplePolicy());
  shown.host.confirmStatus?.('CollectorVersionPolicy', samplePolicy());
  expect(lines()).toEqual([line]);
});

test('a policy that goes is told of', () => {
  const { change, lines } = start(samplePolicy());
  change(undefined);
  expect(lines()).toEqual(['logging/production: deleted']);
});
