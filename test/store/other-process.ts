/**
 * Program with which tests use a destination from another process: `node other-process.ts '{"place":...,"act":...}'`.
 * The program reports its results as lines of JSON.
 */
import { createInterface } from 'node:readline';
import type { LogfleetError } from '../../src/base/errors.ts';
import { systemRandom } from '../../src/base/random.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import { openPlace, type PlaceData } from './place.ts';
import { runSmallExport } from './small-export.ts';

export type Act =
  /**
   * Waits for a line on standard input. Then creates the objects one by one, and reports which of them it was able to
   * create.
   */
  | { readonly kind: 'race'; readonly names: readonly string[]; readonly text: string }
  /** Starts writing a file of this size, and reports its name. The test then kills the process. */
  | { readonly kind: 'upload'; readonly folder: string; readonly bytes: number }
  /** Creates objects of this size, and reports each of them, until the process is killed. */
  | { readonly kind: 'churn'; readonly folder: string; readonly bytes: number }
  /** Runs a small export. If `waits` is true, the export stops at each step until a line arrives on standard input. */
  | { readonly kind: 'export'; readonly waits: boolean }
  /** Uploads a file, and reports by how many bytes the process's memory has grown. */
  | { readonly kind: 'measure'; readonly name: string; readonly bytes: number }
  /** Writes two files, of which only the first fits on the disk. Reports why the second file failed. */
  | { readonly kind: 'fill'; readonly keptBytes: number; readonly largeBytes: number };

const { place, act } = JSON.parse(process.argv[2] ?? '') as { readonly place: PlaceData; readonly act: Act };
const destination = await openPlace(place);

switch (act.kind) {
  case 'race': {
    tell({ ready: true });
    for await (const _ of process.stdin) break;
    const created: string[] = [];
    for (const name of act.names) {
      if ((await destination.create(name, Buffer.from(act.text))) === 'created') created.push(name);
    }
    tell({ created });
    process.exit();
    break;
  }
  case 'upload': {
    await writeBytes(`${act.folder}/${(await Writer.ours(systemRandom)).newToken()}.gz`, act.bytes);
    tell({ written: act.bytes });
    process.stdin.resume();
    break;
  }
  case 'churn': {
    for (let index = 0; ; index++) {
      await destination.create(`${act.folder}/${index}`, Buffer.alloc(act.bytes, 'x'));
      tell({ index });
    }
  }
  case 'export': {
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    await runSmallExport(destination, await Writer.ours(systemRandom), async (boundary) => {
      tell({ boundary });
      if (act.waits) await lines.next();
    });
    process.exit();
    break;
  }
  case 'measure': {
    await destination.create('warm-up', Buffer.from('.'));
    const before = process.memoryUsage.rss();
    // Measures the peak memory from here on. Earlier peaks may be due to compiling modules.
    let max = before;
    const look = () => {
      max = Math.max(max, process.memoryUsage.rss());
    };
    const upload = await writeBytes(act.name, act.bytes, look);
    await upload.finish();
    look();
    tell({ grownBytes: max - before });
    process.exit();
    break;
  }
  case 'fill': {
    await destination.create('data/kept', Buffer.alloc(act.keptBytes));
    const upload = await destination.open('data/large');
    const failedUpload = await upload.write(Buffer.alloc(act.largeBytes)).catch(failure);
    await upload.abort();
    tell({
      upload: failedUpload,
      create: await destination.create('record', Buffer.alloc(act.largeBytes)).catch(failure),
    });
    process.exit();
  }
}

async function writeBytes(name: string, bytes: number, afterEach = () => {}) {
  const upload = await destination.open(name);
  const chunk = Buffer.alloc(64 * 1024, 'row ');
  for (let written = 0; written < bytes; written += chunk.length) {
    await upload.write(chunk.subarray(0, Math.min(chunk.length, bytes - written)));
    afterEach();
  }
  return upload;
}

function failure({ code, reason, handling }: LogfleetError) {
  return { code, reason, handling };
}

function tell(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
