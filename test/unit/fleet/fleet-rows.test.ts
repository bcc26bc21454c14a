/** Rows, their positions and their changes, while pages arrive. */
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
  test('shows who is there, when it was sent, and where', () => {
    const rows = new FleetRows();
    rows.takePage(page('1', '2'), 100, 50);
    expect(rows.get('2')).toMatchObject({ seenAtMs: 100, position: 51, formerVersion: undefined });
    expect(rows.get('3')).toBeUndefined();
    expect(rows.size).toBe(2);
  });

  test('gives no places where they do not count', () => {
    const rows = filled('1');
    rows.takePage(page('1', '2'), 200, undefined);
    expect(rows.get('1')?.position).toBe(0);
    expect(rows.get('2')?.position).toBe(-1);
  });

  test('U7: an older answer that comes later changes nothing', () => {
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

  test('counts versions, and leaves out who has none', () => {
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
  test('name each collector that came', () => {
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
  ])('name a collector whose %s changed', (_, change) => {
    const rows = filled('1', '2');
    changed(rows);
    rows.takePage([collector('1'), collector('2', change)], 200, 0);
    expect(changed(rows)).toEqual(['2']);
  });

  test('do not name a collector that only gave a sign of life, or moved', () => {
    const rows = filled('1', '2');
    changed(rows);
    rows.takePage([collector('2', { lastSeenAliveMs: 9 }), collector('1')], 200, 0);
    expect(changed(rows)).toEqual([]);
    expect(rows.get('2')?.collector.lastSeenAliveMs).toBe(9);
  });

  test('keeps the newest sign of life, whatever a replica shows that lags behind', () => {
    const rows = filled('1');
    for (const lastSeenAliveMs of [9, 4, undefined]) rows.takePage([collector('1', { lastSeenAliveMs })], 200, 0);
    expect(rows.get('1')?.collector.lastSeenAliveMs).toBe(9);
    rows.takePage([collector('1', { lastSeenAliveMs: 4, alive: false })], 300, 0);
    expect(rows.get('1')?.collector).toMatchObject({ lastSeenAliveMs: 9, alive: false });
  });
});

describe('U7: absence', () => {
  test('from one complete sweep costs the place, not the row', () => {
    const rows = filled('1', '2');
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')?.position).toBe(-1);
    expect(rows.missesAny(new Set(['1']))).toBe(false);
  });

  test('from two complete sweeps is the end of the row', () => {
    const rows = filled('1', '2');
    changed(rows);
    rows.endSweep(new Set(['1']));
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')).toBeUndefined();
    expect(changed(rows)).toEqual(['2']);
  });

  test('is forgotten by being seen in between', () => {
    const rows = filled('1', '2');
    rows.endSweep(new Set(['1']));
    rows.takePage(page('2'), 200, 5);
    rows.endSweep(new Set(['1']));
    expect(rows.get('2')).toBeDefined();
  });

  test('is noticed of who was in the sweep before', () => {
    const rows = filled('1', '2');
    expect(rows.missesAny(new Set(['1']))).toBe(true);
    expect(rows.missesAny(new Set(['1', '2', '3']))).toBe(false);
  });

  test('from the page where it should be costs the place', () => {
    const rows = filled('1', '2', '3');
    rows.displace(0, 2, page('1', '4'));
    expect(rows.get('1')?.position).toBe(0);
    expect(rows.get('2')?.position).toBe(-1);
    expect(rows.get('3')?.position).toBe(2);
  });
});

test('the order has another revision when rows come or move, and none when they stay', () => {
  const rows = filled('1', '2');
  const before = rows.orderRevision;
  rows.takePage([collector('1', { collectorVersion: target }), collector('2')], 200, 0);
  expect(rows.orderRevision).toBe(before);
  rows.takePage(page('2', '1'), 300, 0);
  expect(rows.orderRevision).toBeGreaterThan(before);
});
