/** Tests the resource list of `logfleet ui`: its order, its filters, and how changes to resources are reported. */
import { describe, expect, test } from 'vitest';
import { ResourceModel } from '../../../../src/cli/ui/resource-model.ts';
import { exampleResources, manyRuns, shownResource } from '../../../support/shown-resources.ts';

const nowMs = Date.UTC(2026, 10, 23, 16);
const everything = { text: '' };
const examples = exampleResources(nowMs);
const ofKind = (kind: string) => examples.filter((resource) => resource.kind === kind);

function exampleModel(): ResourceModel {
  const model = new ResourceModel();
  for (const kind of ['CollectorVersionPolicy', 'SearchExport', 'SearchExportSchedule'] as const) {
    model.replace(kind, ofKind(kind));
  }
  return model;
}

describe('the list', () => {
  test('lists resources that need a user first, then the others by namespace and name', () => {
    const { rows, total } = exampleModel().list(everything, 0, 100);
    expect(rows.map(({ tone, id }) => `${tone} ${id}`)).toEqual([
      ...['stalled cvp/payments/payments', 'stalled sx/security/incident-4711', 'stalled sxs/web/access-log'],
      ...['waiting cvp/network/edge', 'working sx/audit/october-audit', 'working cvp/logging/production'],
      ...[
        'working sxs/web/clickstream',
        'ready sx/audit/september-audit',
        'ready cvp/it/office',
        'ready sxs/logging/errors',
      ],
    ]);
    expect(total).toBe(10);
  });

  test('returns the wanted page, and counts all that match', () => {
    const model = new ResourceModel();
    model.replace('SearchExport', manyRuns(1_000, nowMs));
    const { rows, total, offset, tones } = model.list({ kind: 'SearchExport', text: 'team-3/' }, 10, 5);
    expect(rows.map(({ name }) => name)).toEqual([403, 443, 483, 523, 563].map((run) => `errors-run-00${run}`));
    expect({ total, offset, tones }).toMatchObject({ total: 25, offset: 10, tones: { ready: 25, stalled: 0 } });
  });

  test('counts kinds without the filter by kind, and tones without the filter by tone', () => {
    const { total, kinds, tones } = exampleModel().list({ kind: 'SearchExport', tone: 'stalled', text: '' }, 0, 100);
    expect({ total, kinds, tones }).toEqual({
      total: 1,
      kinds: { CollectorVersionPolicy: 1, SearchExport: 1, SearchExportSchedule: 1 },
      tones: { stalled: 1, waiting: 0, working: 1, ready: 1 },
    });
  });

  test.each([
    ['AUDIT october', ['october-audit']],
    ['soak', ['production']],
    ['approval network', ['edge']],
    ['no-such-name', []],
  ])('finds %s in names, states and messages', (text, names) => {
    expect(
      exampleModel()
        .list({ text }, 0, 100)
        .rows.map(({ name }) => name),
    ).toEqual(names);
  });
});

describe('a change', () => {
  test('reports the resources that are new, changed or deleted, and only these', () => {
    const model = exampleModel();
    const reported: (readonly string[])[] = [];
    model.subscribe((changed) => reported.push(changed));
    const [first, second, third] = ofKind('SearchExport');
    const added = shownResource({ kind: 'SearchExport', name: 'new' });
    const paused = { ...second, spec: { ...second?.spec, paused: true } } as typeof second;
    model.replace(
      'SearchExport',
      [structuredClone(first), paused, added].filter((one) => one !== undefined),
    );
    const idOf = (resource: typeof third) => `sx/${resource?.metadata.namespace}/${resource?.metadata.name}`;
    expect(reported).toEqual([[idOf(second), 'sx/logging/new', idOf(third)]]);
    model.replace(
      'SearchExport',
      [first, paused, added].filter((one) => one !== undefined),
    );
    expect(reported.length).toBe(1);
  });

  test('makes the model complete when all kinds have been read, even without resources', async () => {
    const model = new ResourceModel();
    const order: string[] = [];
    const complete = model.whenComplete().then(() => order.push('complete'));
    model.replace('CollectorVersionPolicy', []);
    model.replace('SearchExport', []);
    await Promise.resolve();
    order.push('two kinds');
    model.replace('SearchExportSchedule', []);
    await complete;
    expect(order).toEqual(['two kinds', 'complete']);
  });
});
