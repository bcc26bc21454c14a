import { expect, test } from 'vitest';
import { settlePlan } from '../../../src/destination/plan-object.ts';
import { type ExportTask, exportTask } from '../../../src/export/search/export-task.ts';
import { StoredExport } from '../../../src/export/work/stored-export.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const task = exportTask(
  {
    ...{ name: 'audit', query: '*', byReceiptTime: false, autoParsingMode: 'Manual', results: 'Messages' },
    timeRange: { from: '0', to: '1000' },
    output: { format: 'NDJSON', compression: 'None', fields: [], maxPartBytes: 1e9, csv: { formulaGuard: true } },
  },
  'service.example.com',
) as ExportTask;

async function storedWithPlan() {
  const clock = new VirtualClock();
  const destination = new MemoryDestination();
  await settlePlan(destination, task.layout, { boundariesMs: [0, 1_000] });
  const stored = new StoredExport(async () => destination, task, clock);
  await stored.load();
  return { clock, destination, stored };
}

test('E2: records are read after a plan was written, because other processes may have used the same plan', async () => {
  const stored = new StoredExport(async () => new MemoryDestination(), task, new VirtualClock());
  expect(stored.stage).toBe('loading');
  await stored.load();
  expect(stored.stage).toBe('planning');
  stored.adopt({ boundariesMs: [0, 1_000] });
  expect([stored.stage, stored.recordsState]).toEqual(['planned', 'old']);
});

test('records that another process writes during the reading are read again', async () => {
  const { stored } = await storedWithPlan();
  expect([stored.stage, stored.recordsState]).toEqual(['planned', 'current']);
  const reading = stored.readRecords();
  expect(stored.recordsState).toBe('reading');
  stored.recordsWritten();
  await reading;
  expect(stored.recordsState).toBe('old');
});

test('records that cannot be read are doubted, also after another process has written records', async () => {
  const { stored, destination } = await storedWithPlan();
  destination.strike = (call) => (call === 'list' ? { failure: 'away' } : undefined);
  await expect(stored.readRecords()).rejects.toMatchObject({ reason: 'DestinationUnavailable' });
  expect(stored.recordsState).toBe('doubted');
  stored.recordsWritten();
  expect(stored.recordsState).toBe('doubted');
});

test('a request during the reading makes the records be read once more', async () => {
  const { stored } = await storedWithPlan();
  const reading = stored.readRecords();
  stored.doubtRecords();
  await reading;
  expect(stored.recordsState).toBe('doubted');
});

test('contradictory records are read every 30 seconds, and every 20th time with those that are known', async () => {
  const { stored, clock } = await storedWithPlan();
  const states: string[] = [];
  for (let readings = 1; readings <= 20; readings++) {
    await clock.advance(29_999);
    stored.recheckDisorder();
    expect(stored.recordsState).toBe('current');
    await clock.advance(1);
    stored.recheckDisorder();
    states.push(stored.recordsState);
    await stored.readRecords();
  }
  expect(states).toEqual([...Array.from({ length: 19 }, () => 'old'), 'doubted']);
});

test('a probe file is temporary, and has another name after the store has locked one', async () => {
  const { stored, destination } = await storedWithPlan();
  const lockedFiles = new Set<string>();
  Object.assign(destination, { lockedFiles });
  const opened: (readonly [string, string | undefined])[] = [];
  const open = destination.open.bind(destination);
  destination.open = (name: string, lifetime?: string) => {
    opened.push([name, lifetime]);
    return open(name);
  };
  const nameOf = (token: string) => task.layout.within(`data/probe-${token}`);
  for (const token of ['w1', 'w2', 'w3']) {
    if (token === 'w2') lockedFiles.add(nameOf('w1'));
    await stored.probe(token);
  }
  expect(opened).toEqual([nameOf('w1'), nameOf('w2'), nameOf('w2')].map((name) => [name, 'temporary']));
});
