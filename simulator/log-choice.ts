/** Chooses the log messages for a simulator run: read from NDJSON files, or generated. */
import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import type { LogData } from './log-data/log-data.ts';
import { LogFileError, LogFiles } from './log-data/stored/log-files.ts';
import { FlagError, type SimulateOptions, type SimulatorContext } from './options.ts';
import type { LogScenario } from './scenario/log-scenario.ts';
import { parseMoment } from './scenario/log-scenario.ts';
import type { Scenario } from './scenario/scenario.ts';
import { shipsMessages } from './scenario-check.ts';
import { logProblems } from './search/log-source.ts';

/** Returns the scenario's log messages, as modified by the command-line flags. */
export function logsFor(base: Scenario, options: SimulateOptions, startMs: number): Pick<Scenario, 'logs'> {
  const { logData, messages, from, to } = options;
  const flag = Object.entries({ 'log-data': logData, messages, from, to }).find(([, value]) => value !== undefined);
  if (flag && shipsMessages(base)) {
    throw new FlagError(
      `--${flag[0]} cannot be used, because collectors in the scenario send messages; remove the flag or messagesPerMinute`,
    );
  }
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
    throw new FlagError(
      `--${flag} is '${moment}'; set a time, such as 2026-11-01, 2026-11-01T12:00:00Z or -24h (before the start)`,
    );
  }
  const [problem] = logProblems(logs, startMs);
  if (problem) throw new FlagError(`--${problem.path.join('.')} ${problem.text}`);
  return { logs };
}

/** Reads log messages from NDJSON files. Relative file names are resolved against the scenario's directory. */
export function logDataFor(
  { logs }: Scenario,
  options: SimulateOptions,
  { cwd }: SimulatorContext,
): LogData | undefined {
  if (!logs?.files) return undefined;
  const base = options.logData || options.scenario === undefined ? cwd : path.resolve(cwd, options.scenario, '..');
  const files = new LogFiles(logs.fieldCase);
  for (const file of logs.files) {
    try {
      files.add(file, piecesOfFile(path.resolve(base, file)));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'ENOENT' ? `there is no such file in ${base}` : message;
      throw new FlagError(`cannot read the messages in ${file}: ${why}; set the path of an NDJSON file`);
    }
  }
  try {
    return files.data();
  } catch (error) {
    if (error instanceof LogFileError) throw new FlagError(error.message);
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
