/** Tests the detailed view and the live view of an export, including in narrow windows. */
import { describe, expect, test } from 'vitest';
import type { SearchExportStatus } from '../../../../src/api/generated/search-export.ts';
import { renderHistogram } from '../../../../src/cli/render/bars.ts';
import { renderExport } from '../../../../src/cli/render/export-view.ts';
import { renderLine } from '../../../../src/cli/render/resource-view.ts';
import { widthOf } from '../../../../src/cli/render/terminal-text.ts';
import type { Moment } from '../../../../src/cli/render/view-layout.ts';
import { exportingStatus, sampleExport } from '../sample-export.ts';
import { ago, nowMs } from '../sample-policy.ts';

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: ago(30),
});
const full = (status: SearchExportStatus | undefined = exportingStatus, width = 100) =>
  renderExport(sampleExport({ status }), { nowMs }, { width, colour: false });

describe('an export in full', () => {
  test('shows progress, and then query and destination', () => {
    const lines = full();
    expect(lines.slice(0, 5)).toEqual([
      'logging/errors   Exporting   1.2M rows',
      `[${'█'.repeat(19)}▋${' '.repeat(27)}]  42%, 2026-11-01 00:00 UTC to 2026-11-02 00:00 UTC`,
      ` ${'·'.repeat(23)}▂${'▄'.repeat(11)}▇${'█'.repeat(11)}`,
      '1,234,567 rows, 300 MiB of files, in 17 of 40 intervals; 3 duplicates dropped',
      '41,000 rows and 9.8 MiB received per second, done in about 4m50s',
    ]);
    expect(lines.slice(lines.indexOf('Export') + 1)).toEqual([
      '  Query:      _sourceCategory=prod/* error',
      '  Output:     NDJSON with Gzip',
      '  Location:   file:///srv/exports/logging/errors/ffff',
      '  Scanned:    5.0 GiB by the service',
    ]);
  });

  test('lists searches, incomplete intervals, conditions, and messages of searches', () => {
    const text = full().join('\n');
    expect(text).toContain(
      '2026-11-01 10:00 UTC to 2026-11-01 12:00 UTC          GATHERING RESULTS  23,000 messages  1A2B',
    );
    expect(text).toContain('2026-11-01T08:30:00.001Z to 2026-11-01T10:00:00.000Z');
    expect(text).toContain('CountDiffers; 9,999 received, 10,000 expected');
    expect(text).toContain('Ready=False for 3m20s: Exporting');
    expect(text).toContain('A node did not answer.');
    expect(text).toContain('A field was cut.');
  });

  test('lists the pods that cannot continue', () => {
    const obstacle = { reason: 'DestinationFull', message: 'The claim is full.', startTime: ago(60) };
    const lines = full({ ...exportingStatus, workers: [{ index: 1, job: 'errors-1', obstacle }] });
    expect(lines[lines.indexOf('Pods that cannot continue') + 1]).toBe('  Pod 1, DestinationFull: The claim is full.');
  });

  test('shows the manifest, the duration and incomplete intervals of a complete export', () => {
    const manifest = { url: 's3://b/m.json', sha256: '0', rows: 5, files: 1, bytes: 10, complete: false };
    const { estimatedCompletionTime: _, jobs: __, ...rest } = exportingStatus;
    const text = full({ ...rest, manifest, completionTime: ago(20) }).join('\n');
    expect(text).toContain('s3://b/m.json: 5 rows in 1 file, 10 B, with intervals that are incomplete');
    expect(text).toContain('Took:       3m');
  });

  test('shows an export without status', () => {
    const { status: _, ...unseen } = sampleExport();
    expect(renderExport(unseen, { nowMs }, { width: 100, colour: false })[1]).toMatch(/^No operator /);
  });

  test.each([40, 80])('fits %d columns', (width) => {
    const wide = full(exportingStatus, width).filter((line) => widthOf(line) > width);
    // The view never breaks words, so a long address can be wider than the window.
    expect(wide.filter((line) => !line.includes('://'))).toEqual([]);
  });
});

describe('an export while it moves', () => {
  const live = (changes: Partial<Moment> & { readonly status?: SearchExportStatus | undefined } = {}) => {
    const { status, ...moment } = { status: exportingStatus, ...changes };
    const options = { width: 100, height: Number.POSITIVE_INFINITY, colour: false };
    return renderExport(sampleExport({ status }), { nowMs, elapsedMs: 75_000, ...moment }, options);
  };

  test('shows bar, histogram, figures and searches', () => {
    const event = { atMs: nowMs, type: 'Normal' as const, reason: 'Planned', message: '40 intervals' };
    expect(live({ requestsPerSecond: 3.2, events: [event] })).toEqual([
      `logging/errors   Exporting${' '.repeat(59)}1.2M rows   75s`,
      `[${'█'.repeat(19)}▋${' '.repeat(27)}]  42%, 2026-11-01 00:00 UTC to 2026-11-02 00:00 UTC`,
      ` ${'·'.repeat(23)}▂${'▄'.repeat(11)}▇${'█'.repeat(11)}`,
      '1,234,567 rows, 300 MiB of files, in 17 of 40 intervals; 3 duplicates dropped',
      '41,000 rows and 9.8 MiB received per second, 3.2 requests a second, done in about 4m50s',
      'Searching',
      '  2026-11-01 10:00 UTC to 2026-11-01 12:00 UTC          GATHERING RESULTS  23,000 messages  1A2B',
      '  2026-11-01T08:30:00.001Z to 2026-11-01T10:00:00.000Z  NOT STARTED                         3C4D',
      'Incomplete',
      '  2026-11-01T20:00:00Z to 2026-11-01T20:10:00Z: CountDiffers; 9,999 received, 10,000 expected',
      'Errors of searches',
      '  A node did not answer.',
      'Latest',
      '  12:00:00Z  Planned  40 intervals',
    ]);
  });

  test('shows the reason for waiting only while no search runs', () => {
    expect(live()).not.toContain('42% of the export, 2 searches run.');
    expect(live({ status: { ...exportingStatus, jobs: [] } })).toContain('42% of the export, 2 searches run.');
  });

  test('shows why an export is paused, and how to resume it', () => {
    const conditions = [condition('Ready', 'Unknown', 'Paused', 'Paused by alice.')];
    const lines = live({ status: { ...exportingStatus, conditions }, steps: { resume: 'logfleet resume sx/errors' } });
    expect(lines).toContain('Paused by alice. To resume: logfleet resume sx/errors');
    expect(lines.join('\n')).not.toContain('done in about');
  });

  test('fits the window by leaving out details', () => {
    const jobs = Array.from({ length: 30 }, (_, index) => ({ ...exportingStatus.jobs![0]!, id: `J${index}` }));
    const busy = (options: { width: number; height: number; colour: boolean }) =>
      renderExport(sampleExport({ status: { ...exportingStatus, jobs } }), { nowMs }, options);
    for (const height of [24, 15, 12]) {
      expect(busy({ width: 80, height, colour: false }).length).toBeLessThanOrEqual(height);
    }
    for (const width of [40, 80, 200]) {
      const lines = busy({ width, height: 40, colour: true });
      expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
    }
  });

  test('is starting without status', () => {
    expect(live({ status: undefined })).toEqual([`logging/errors   starting${' '.repeat(72)}75s`]);
  });

  test('in one line: state, progress and figures', () => {
    expect(renderLine(sampleExport({ status: exportingStatus }))?.line).toBe(
      'logging/errors: Exporting; 42% of the export; 1,234,567 rows, 300 MiB of files, in 17 of 40 intervals; 3 duplicates dropped',
    );
    expect(renderLine(sampleExport({ status: {} }))?.line).toBe('logging/errors: Unknown');
  });

  test('names in one line what the export waits for while no search runs', () => {
    const ready = condition('Ready', 'False', 'DestinationFull', 'Make room.');
    const conditions = [ready, { ...ready, type: 'Reconciling', status: 'True' as const }];
    const status: SearchExportStatus = { conditions, summary: { state: 'DestinationFull', progress: '7%' } };
    expect(renderLine(sampleExport({ status }))?.line).toBe(
      'logging/errors: DestinationFull; 7% of the export: Make room.',
    );
  });
});

describe('the histogram', () => {
  const range = { fromMs: 0, toMs: 80 };

  test('has a block for each slice with rows, a space for no rows, and a dot for an unknown number', () => {
    const pieces = [1, 2, 3, 4, 5, 6, 0].map((rows, index) => ({
      fromMs: index * 10,
      toMs: (index + 1) * 10,
      rows,
    }));
    expect(renderHistogram(pieces, range, 8)).toBe('▂▃▄▆▇█ ·');
  });

  test('spreads a long slice over its columns, and adds up short slices', () => {
    const pieces = [
      { fromMs: 0, toMs: 40, rows: 40 },
      ...[40, 50, 60, 70].map((fromMs) => ({ fromMs, toMs: fromMs + 10, rows: 5 })),
    ];
    expect(renderHistogram(pieces, range, 4)).toBe('██▄▄');
  });
});
