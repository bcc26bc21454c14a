/**
 * Measures an export of 10 KB messages with gzip level 6, on one processor and on two. The simulated service runs on
 * the same machine.
 */
import type { FigureSection } from '../figures.ts';
import { FileBench, type FileRun, type RunFigures } from './file-runs.ts';

/** Results of the same export on one processor and on all processors. */
export interface ProcessorsPair {
  readonly single: RunFigures;
  readonly all: RunFigures;
}

const exportRun: FileRun = { way: 'export', format: 'NDJSON', compression: { kind: 'gzip', level: 6 } };
const repetitions = 3;
/** Target: minimum speed on two processors, as a multiple of the speed on one. */
const minTimes = 1.7;

export async function measureProcessors(quick: boolean): Promise<readonly ProcessorsPair[]> {
  const bench = await FileBench.start({ messages: quick ? 30_017 : 100_017, kind: { madeUpBytes: 10_000 } });
  const pairs: ProcessorsPair[] = [];
  try {
    for (let pair = 0; pair < (quick ? 1 : repetitions); pair++) {
      const single = await bench.run({ ...exportRun, isOnOneProcessor: true });
      pairs.push({ single, all: await bench.run(exportRun) });
    }
  } finally {
    await bench.stop();
  }
  return pairs;
}

export function processorsSection(pairs: readonly ProcessorsPair[]): FigureSection {
  return {
    title: `An export of ${pairs[0]?.single.pagesMb.toFixed(0)} MB with gzip level 6, on one processor and on two`,
    lines: pairs.map((pair, index) => {
      const times = timesOf(pair);
      const [single, all] = [pair.single, pair.all].map(({ seconds, processorSeconds, simulatorSeconds }) =>
        [seconds, processorSeconds, simulatorSeconds].map((figure) => figure.toFixed(1)).join(', '),
      );
      const measured = `${single} s; ${all} s: ${times.toFixed(2)} times`;
      return { what: `run ${index + 1}`, measured, target: `>= ${minTimes} times`, met: times >= minTimes };
    }),
    notes: [
      'Elapsed time, CPU time of the export and CPU time of the simulated service, on one processor and on two. On one processor, the',
      'service uses the other one. On two, it uses both, so half of its CPU time is subtracted from the elapsed time.',
      'The figures need an idle machine.',
    ],
  };
}

/**
 * Returns the speedup of the export from one processor to two. The simulated service shares the two processors, which
 * delays the export by about half of the service's CPU time. This half is subtracted from the duration of the export.
 */
function timesOf({ single, all }: ProcessorsPair): number {
  return single.seconds / (all.seconds - all.simulatorSeconds / 2);
}
