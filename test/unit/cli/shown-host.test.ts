/** Tests that `logfleet run` does not print the status of an earlier run. */
import { expect, test } from 'vitest';
import type { CollectorVersionPolicy, KindName } from '../../../src/api/kinds.ts';
import { showHost } from '../../../src/cli/live/live-operator.ts';
import { LiveView } from '../../../src/cli/live/live-view.ts';
import type { DirectoryHost } from '../../../src/host/directory/directory-host.ts';
import type { ResourceKey } from '../../../src/host/host.ts';
import { recordingOutput } from '../../support/recording-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { nowMs, rollingStatus, samplePolicy } from './sample-policy.ts';

/** Starts a run on a directory with one policy. */
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
  const shown = showHost(new LiveView({ output, clock: new VirtualClock(nowMs) }), directory);
  return { shown, change, lines: () => output.text.split('\n').slice(0, -1) };
}

const line = 'logging/production: RollingOut; target 19.500-1, updated 180/197, in progress 6, pending 9, failed 2';

test('does not show the state of a former run, even when the manifest changes', () => {
  const { change, lines } = start(samplePolicy());
  change(samplePolicy({ metadata: { generation: 4 } }));
  expect(lines()).toEqual([]);
});

test('shows first what this run has written', async () => {
  const { shown, lines } = start(samplePolicy());
  const status = { ...rollingStatus, summary: { updated: '181/197', state: 'RollingOut' } };
  await shown.host.writeStatus('CollectorVersionPolicy', samplePolicy({ status }));
  expect(lines()).toEqual([line.replace('180', '181')]);
});

test('shows a settled resource once', () => {
  const { shown, lines } = start(samplePolicy());
  shown.finished();
  shown.finished();
  expect(lines()).toEqual([line]);
});

test('shows a confirmed status once', () => {
  const { shown, lines } = start(samplePolicy());
  shown.host.confirmStatus?.('CollectorVersionPolicy', samplePolicy());
  shown.host.confirmStatus?.('CollectorVersionPolicy', samplePolicy());
  expect(lines()).toEqual([line]);
});

test('reports a deleted policy', () => {
  const { change, lines } = start(samplePolicy());
  change(undefined);
  expect(lines()).toEqual(['logging/production: deleted']);
});
