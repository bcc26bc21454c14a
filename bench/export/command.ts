/** Measures `logfleet export` under the service's limits, with several concurrent searches. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FigureLine, FigureSection } from '../figures.ts';
import { compileCache } from '../process-figures.ts';
import { mainProgram, startSimulator } from '../simulator-process.ts';
import { imageEnvironment, type ProcessFigures, runWhole } from './whole-process.ts';

export interface CommandFigures extends ProcessFigures {
  readonly format: 'NDJSON' | 'Parquet';
  /** True if Node runs with the memory settings of the container image. */
  readonly isAsInImage: boolean;
  readonly messages: number;
}

type CommandRun = Pick<CommandFigures, 'format' | 'isAsInImage'>;

const runs: readonly CommandRun[] = [
  { format: 'NDJSON', isAsInImage: true },
  { format: 'Parquet', isAsInImage: true },
  { format: 'NDJSON', isAsInImage: false },
  { format: 'Parquet', isAsInImage: false },
];
const range = { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' } as const;

export async function measureCommand(quick: boolean): Promise<readonly CommandFigures[]> {
  const messages = quick ? 200_017 : 1_000_017;
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const simulator = await startSimulator(directory, {
    logs: { messages, from: Date.parse(range.from), to: Date.parse(range.to), size: { typicalBytes: 900 } },
  });
  const figures: CommandFigures[] = [];
  try {
    for (const run of runs) {
      const environment = {
        NODE_COMPILE_CACHE: compileCache,
        LOGFLEET_BASE_URL: simulator.baseURL,
        LOGFLEET_ACCESS_ID: simulator.accessId,
        LOGFLEET_ACCESS_KEY: simulator.accessKey,
        LOGFLEET_CA_FILE: simulator.caFile,
        ...(run.isAsInImage ? imageEnvironment : {}),
      };
      const files = path.join(directory, 'files');
      const args = ['export', '--query', '*', '--from', range.from, '--to', range.to, '-o', files];
      const compression = run.format === 'Parquet' ? 'Zstd' : 'Gzip';
      args.push('--format', run.format, '--compression', compression);
      figures.push({ ...run, messages, ...(await runWhole([process.execPath, mainProgram, ...args], environment)) });
      rmSync(files, { recursive: true });
    }
  } finally {
    await simulator.stop();
    rmSync(directory, { recursive: true });
  }
  return figures;
}

export function commandSection(figures: readonly CommandFigures[]): FigureSection {
  return {
    title: `logfleet export of ${figures[0]?.messages.toLocaleString('en')} messages, against the limits of the service`,
    lines: figures.map(commandLine),
    notes: [
      'Peak memory of the process, with four concurrent searches. "As in the image": Node has the settings in the Dockerfile.',
      '"Elsewhere": Node has its default settings.',
    ],
  };
}

function commandLine({ format, isAsInImage, peakResidentMb }: CommandFigures): FigureLine {
  return {
    what: `${format}, ${isAsInImage ? 'as in the image' : 'elsewhere'}`,
    measured: `${peakResidentMb.toFixed(0)} MB`,
  };
}
