/**
 * The messages of `logfleet simulate`: which ones flags and scenario ask for, and those of files read. What is made up is made by the
 * simulator itself.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import type { LogData } from '../simulator/log-data/log-data.ts';
import { LogFileError, LogFiles } from '../simulator/log-data/stored/log-files.ts';
import type { Scenario } from '../simulator/scenario.ts';
import type { LogScenario } from '../simulator/search/log-scenario.ts';
import { logProblems } from '../simulator/search/log-source.ts';
import { parseMoment } from '../simulator/search/moment.ts';
import type { CommandContext } from './context.ts';
import type { SimulateOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

/** What the flags say about messages goes before what the scenario says. */
export function logsFor(base: Scenario, options: SimulateOptions, startMs: number): Pick<Scenario, 'logs'> {
  const { logData, messages, from, to } = options;
  if (logData) return { logs: { files: logData } };
  if (messages === undefined && from === undefined && to === undefined) return {};
  const { files: _files, perSecond, ...others } = base.logs ?? {};
  const logs: LogScenario = {
    ...others,
    ...(messages === undefined ? (perSecond === undefined ? {} : { perSecond }) : { messages }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  for (const [flag, moment] of Object.entries({ from, to })) {
    if (moment === undefined || parseMoment(moment, startMs) !== undefined) continue;
    throw new UsageError(
      `--${flag} is '${moment}'; write a moment, as in 2026-11-01, 2026-11-01T12:00:00Z or -24h (before the start)`,
    );
  }
  const [problem] = logProblems(logs, startMs);
  if (problem) throw new UsageError(`--${problem.path.join('.')} ${problem.text}`);
  return { logs };
}

/** The messages of the scenario's files, which are named from the scenario's folder, or of those of the flag. */
export function logDataFor({ logs }: Scenario, options: SimulateOptions, { cwd }: CommandContext): LogData | undefined {
  if (!logs?.files) return undefined;
  const base = options.logData || options.scenario === undefined ? cwd : path.resolve(cwd, options.scenario, '..');
  const files = new LogFiles(logs.fieldCase);
  for (const file of logs.files) {
    try {
      files.add(file, piecesOfFile(path.resolve(base, file)));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'ENOENT' ? `there is no such file in ${base}` : message;
      throw new UsageError(`cannot read the messages of ${file}: ${why}; write the path of a file of NDJSON`);
    }
  }
  try {
    return files.data();
  } catch (error) {
    if (error instanceof LogFileError) throw new UsageError(error.message);
    throw error;
  }
}

const readBytes = 1024 * 1024;

function* piecesOfFile(file: string): Generator<Uint8Array> {
  const descriptor = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(readBytes);
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
      yield buffer.subarray(0, read);
    }
  } finally {
    closeSync(descriptor);
  }
}
