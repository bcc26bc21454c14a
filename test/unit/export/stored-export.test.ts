import { expect, test } from 'vitest';
import { commit } from '../../../src/destination/commit-record.ts';
import { storeVerdictOnce } from '../../../src/destination/digest-verdict.ts';
import { storePlanOnce } from '../../../src/destination/plan-object.ts';
import { StoredExport } from '../../../src/export/work/stored-export.ts';
import { definitionOf } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { emptyRecord } from '../../support/scripted-search.ts';

const definition = definitionOf();

const plan = { boundariesMs: [0, 500, 1_000] };
const record = emptyRecord({ segment: 0, fromMs: 0, toMs: 500 });

async function storedWithPlan() {
  const destination = new MemoryDestination();
  await storePlanOnce(destination, definition.layout, plan);
  const stored = new StoredExport(async () => destination, definition);
  await stored.open();
  return { destination, stored };
}

test('a reading finds nothing, or a plan with its records', async () => {
  const { destination, stored } = await storedWithPlan();
  await commit(destination, definition.layout, record);
  expect(await stored.load()).toEqual({ kind: 'plan', plan, records: [record], verdicts: [] });
  destination.objects.clear();
  expect(await stored.load()).toEqual({ kind: 'nothing' });
});

test('a record of a segment that another process adds during the reading comes with the verdict', async () => {
  const { destination, stored } = await storedWithPlan();
  const { layout } = definition;
  const ofNewSegment = emptyRecord({ segment: 2, fromMs: 0, toMs: 500 });
  const addSegment = async () => {
    const segments = [{ fromMs: 0, toMs: 500 }];
    await storeVerdictOnce(destination, layout, { round: 1, proven: [], differing: [], segments, incomplete: [] });
    await commit(destination, layout, ofNewSegment);
  };
  const readAnew = [
    () => stored.load(),
    () => stored.readRecords({ plan, records: [], verdicts: [] }, 'new'),
    () => stored.readRecords({ plan, records: [], verdicts: [] }, 'all'),
  ];
  for (const read of readAnew) {
    destination.objects.clear();
    await storePlanOnce(destination, layout, plan);
    destination.strike = (call) => {
      if (call !== 'list') return undefined;
      destination.strike = () => undefined;
      return { until: addSegment() };
    };
    expect(await read()).toMatchObject({ records: [ofNewSegment], verdicts: [{ round: 1 }] });
  }
});

test.each([
  ['new', false],
  ['all', true],
] as const)('a reading of %s records returns changed content: %s', async (which, isSeen) => {
  const { destination, stored } = await storedWithPlan();
  await commit(destination, definition.layout, { ...record, fromMs: 100 });
  const found = await stored.readRecords({ plan, records: [record], verdicts: [] }, which);
  expect(found).toEqual({
    ...{ which, plan, gone: [], verdicts: [] },
    records: [isSeen ? { ...record, fromMs: 100 } : record],
  });
});

test('E2: the plan is written again if a record has disappeared', async () => {
  const { destination, stored } = await storedWithPlan();
  destination.objects.clear();
  const found = await stored.readRecords({ plan, records: [record], verdicts: [] }, 'new');
  expect(found).toMatchObject({ records: [], gone: [record], plan });
  expect([...destination.objects.keys()]).toEqual([definition.layout.plan]);
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
  const nameOf = (token: string) => definition.layout.within(`data/probe-${token}`);
  for (const token of ['w1', 'w2', 'w3']) {
    if (token === 'w2') lockedFiles.add(nameOf('w1'));
    await stored.probe(token);
  }
  expect(opened).toEqual([nameOf('w1'), nameOf('w2'), nameOf('w2')].map((name) => [name, 'temporary']));
});
