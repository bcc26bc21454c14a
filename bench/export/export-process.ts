/**
 * Runs an export in a separate process, without a request limit. Unlike a SearchExport, this export supports all
 * compression levels. Usage: `node export-process.ts '{"baseURL": …}'`.
 */
import type { SimulatorAddress } from '../../simulator/simulate.ts';
import { systemClock } from '../../src/base/clock.ts';
import { keepHeapSmall } from '../../src/base/heap.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import { VolumeDestination } from '../../src/destination/volume/volume-destination.ts';
import { planExport } from '../../src/export/plan/export-planning.ts';
import type { ExportDefinition } from '../../src/export/search/export-definition.ts';
import { IntervalSearch } from '../../src/export/search/interval-search.ts';
import { ServiceQuirks } from '../../src/export/search/service-quirks.ts';
import { ExportWork } from '../../src/export/work/export-work.ts';
import type { WorkLimits } from '../../src/export/work/work-view.ts';
import { onlyWorker } from '../../src/export/work/worker-segments.ts';
import type { Compression } from '../../src/output/compression.ts';
import { definitionOf, plainOutput } from '../../test/support/export-definition.ts';
import { connectTo } from '../client/connected-client.ts';

export interface ExportOrder extends SimulatorAddress {
  readonly query: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  readonly compression: Compression;
  readonly partitionBy?: 'Hour';
  /** Directory to which the export writes its files. */
  readonly directory: string;
}

const limits: WorkLimits = {
  isPaused: false,
  parallelism: 4,
  settleDelayMs: 0,
  maxMessages: undefined,
  maxBytesScanned: undefined,
  deadlineMs: undefined,
  incompletePolicy: 'Fail',
  proof: 'Digest',
};
const compressionNames = { none: 'None', gzip: 'Gzip', zstd: 'Zstd' } as const;

async function exportAll(order: ExportOrder): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const client = connectTo(order, 1_000);
  const writer = await Writer.ours(systemRandom);
  const work = new ExportWork({
    definition: definedExport(order),
    quirks: new ServiceQuirks(),
    jobs: client.jobs,
    writer,
    clock: systemClock,
    log: silentLogger,
    scannedBytes: 0,
    worker: onlyWorker,
    openDestination: async () =>
      new VolumeDestination({ directory: order.directory, root: '', clock: systemClock, writer }),
    plan: planExport,
    search: (search, tools, opened) => new IntervalSearch(search, tools, opened),
    onChange: () => setImmediate(advance),
    onProgress: () => {},
  });
  function advance(): void {
    const { stage, lastError } = work.advance(limits);
    if (lastError) reject(lastError);
    else if (stage === 'complete') resolve();
  }
  advance();
  await promise;
  await work.close();
  await client.close();
}

function definedExport(order: ExportOrder): ExportDefinition {
  const { query, fromMs, toMs, format, compression, partitionBy, baseURL } = order;
  const output = {
    ...{ ...plainOutput, format, compression: compressionNames[compression.kind], maxPartBytes: 2 ** 28 },
    ...(partitionBy ? { partitionBy } : {}),
  };
  const timeRange = { from: String(fromMs), to: String(toMs) };
  const definition = definitionOf({ query, timeRange, output }, new URL(baseURL).host);
  if (format === 'Parquet') return definition;
  return { ...definition, form: (described) => ({ ...definition.form(described), compression }) };
}

if (import.meta.main) {
  keepHeapSmall();
  await exportAll(JSON.parse(process.argv[2] ?? '') as ExportOrder);
  process.exit();
}
