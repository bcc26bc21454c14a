/** Tests the rows that the operator has read from the collector list, and how each page changes them. */
import { describe, expect, test } from 'vitest';
import { FleetRows } from '../../../src/fleet/fleet-rows.ts';
import { collector, newerVersion, oldVersion, target } from '../policy/builders.ts';

const page = (...ids: readonly string[]) => ids.map((id) => collector(id));

function filled(...ids: readonly string[]): FleetRows {
  const rows = new FleetRows();
  rows.members.enter('policy', { anchor: undefined, matches: () => true, onChange: () => {} });
  for (const id of ids) rows.members.follow('policy', id);
  rows.takePage(page(...ids), 100, 0);
  return rows;
}

const changed = (rows: FleetRows) => [...rows.members.takeChanged('policy')];

describe('a page', () => {
  test('stores its collectors, its sending time, and their positions', () => {
    const rows = new FleetRows();
    rows.takePage(page('1', '2'), 100, 50);
    expect(rows.get('2')).toMatchObject({ seenAtMs: 100, position: 51, formerVersion: undefined });
    expect(rows.get('3')).toBeUndefined();
    expect(rows.size).toBe(2);
  });

  test('does not change positions if the offset of the page is unknown', () => {
    const rows = filled('1');
    rows.takePage(page('1', '2'), 200, undefined);
    expect(rows.get('1')?.position).toBe(0);
    expect(rows.get('2')?.position).toBe(-1);
  });

  test('U7: an older response that arrives later changes nothing', () => {
    const rows = filled('1');
    rows.takePage([collector('1', { collectorVersion: target })], 99, 7);
    expect(rows.get('1')).toMatchObject({ seenAtMs: 100, position: 0, collector: { collectorVersion: oldVersion } });
  });

  test('remembers the version that a row showed before', () => {
    const rows = filled('1');
    rows.takePage([collector('1', { collectorVersion: target })], 200, 0);
    rows.takePage([collector('1', { collectorVersion: target, alive: false })], 300, 0);
    expect(rows.get('1')?.formerVersion).toBe(oldVersion);
    rows.takePage([collector('1', { collectorVersion: newerVersion })], 400, 0);
    expect(rows.get('1')?.formerVersion).toBe(target);
  });

  test('counts versions, without collectors that have none', () => {
    const rows = new FleetRows();
    const versions = [oldVersion, oldVersion, target, '', undefined];
    rows.takePage(
      versions.map((collectorVersion, index) => collector(String(index), { collectorVersion })),
      1,
      0,
    );
    expect([...rows.countVersions()]).toEqual([
      [oldVersion, 2],
      [target, 1],
    ]);
  });
});

describe('changes', () => {
  test('report each new collector', () => {
    const rows = filled('1', '2');
    expect(changed(rows)).toEqual(['1', '2']);
    expect(changed(rows)).toEqual([]);
  });

  test.each<[string, Parameters<typeof collector>[1]]>([
    ['version', { collectorVersion: target }],
    ['alive', { alive: false }],
    ['name', { name: 'other' }],
    ['type', { collectorType: 'Hosted' }],
    ['osName', { osName: 'Linux' }],
    ['osVersion', { osVersion: '6' }],
    ['osArch', { osArch: 'arm64' }],
    ['time zone', { timeZone: 'Etc/UTC' }],
    ['host', { hostName: 'h' }],
    ['ephemeral', { ephemeral: true }],
    ['source mode', { sourceSyncMode: 'Json' }],
  ])('report a collector whose %s changed', (_, change) => {
    const rows = filled('1', '2');
    changed(rows);
    rows.takePage([collector('1'), collector('2', change)], 200, 0);
    expect(changed(rows)).toEqual(['2']);
  });

  test('do not report a collector that was only seen alive or moved', () => {
    const rows = filled('1', '2');
    changed(rows);
    rows.takePage([collector('2', { lastSeenAliveMs: 9 }), collector('1')], 200, 0);
    expect(changed(rows)).toEqual([]);
    expect(rows.get('2')?.collector.lastSeenAliveMs).toBe(9);
  });

  test('keep the latest heartbeat, even if a late replica shows an older one', () => {
    const rows = filled('1');
    for (const lastSeenAliveMs of [9, 4, undefined]) rows.takePage([collector('1', { lastSeenAliveMs })], 200, 0);
    expect(rows.get('1')?.collector.lastSeenAliveMs).toBe(9);
    rows.takePage([collector('1', { lastSeenAliveMs: 4, alive: false })], 300, 0);
    expect(rows.get('1')?.collector).toMatchObject({ lastSeenAliveMs: 9, alive: false });
  });
});

describe('U7: a row without a collector in the listing', () => {
  test('loses its position after one complete sweep', () => {
    const rows = filled('1', '2');
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')?.position).toBe(-1);
    expect(rows.missesAny(new Set(['1']))).toBe(false);
  });

  test('is removed after two complete sweeps', () => {
    const rows = filled('1', '2');
    changed(rows);
    rows.endSweep(new Set(['1']));
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')).toBeUndefined();
    expect(changed(rows)).toEqual(['2']);
  });

  test('is kept if it is seen in between', () => {
    const rows = filled('1', '2');
    rows.endSweep(new Set(['1']));
    rows.takePage(page('2'), 200, 5);
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')).toBeDefined();
  });

  test('is noticed if the previous sweep showed it', () => {
    const rows = filled('1', '2');
    expect(rows.missesAny(new Set(['1']))).toBe(true);
    expect(rows.missesAny(new Set(['1', '2', '3']))).toBe(false);
  });

  test('loses its position if its page does not show it', () => {
    const rows = filled('1', '2', '3');
    rows.displace(0, 2, page('1', '4'));
    expect(rows.get('1')?.position).toBe(0);
    expect(rows.get('2')?.position).toBe(-1);
    expect(rows.get('3')?.position).toBe(2);
  });

  test('keeps its position if it has moved to an earlier page', () => {
    const rows = filled('1', '2', '3');
    rows.takePage(page('3'), 200, 0);
    rows.displace(2, 1, []);
    expect(rows.get('3')?.position).toBe(0);
  });
});

test('a search for rows by a field finds rows that were changed after an earlier search', () => {
  const rows = filled('1', '2');
  const found = () => [...rows.anchored({ field: 'collectorVersion', texts: [target], prefixes: [] })];
  expect(found()).toEqual([]);
  rows.takePage([collector('1', { collectorVersion: target })], 200, 0);
  expect(found()).toEqual(['1']);
});

test('the revision of the order changes when rows are added or move, not otherwise', () => {
  const rows = filled('1', '2');
  const before = rows.orderRevision;
  rows.takePage([collector('1', { collectorVersion: target }), collector('2')], 200, 0);
  expect(rows.orderRevision).toBe(before);
  rows.takePage(page('2', '1'), 300, 0);
  expect(rows.orderRevision).toBeGreaterThan(before);
});
