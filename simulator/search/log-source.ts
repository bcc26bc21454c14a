/** Creates a scenario's log data. When the scenario changes, existing search jobs keep their log data. */

import { durationMs } from '../base/span.ts';
import type { LogData } from '../log-data/log-data.ts';
import { madeUpData } from '../log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings, settingsProblems } from '../log-data/made-up/made-up-settings.ts';
import { LogFiles } from '../log-data/stored/log-files.ts';
import { type LogScenario, parseMoment } from '../scenario/log-scenario.ts';
import { renderPath, ScenarioError, type ScenarioProblem } from '../scenario/scenario-error.ts';

export interface LogSourceOptions {
  readonly startMs: number;
  /** Default random seed for generated messages. */
  readonly seed: number;
  /** Log messages from the files named in the scenario. */
  readonly fileData: LogData | undefined;
}

/** Returns the log data. Throws ScenarioError if `logs` is invalid. */
export function logDataOf(logs: LogScenario | undefined, { startMs, seed, fileData }: LogSourceOptions): LogData {
  if (!logs || logs.files) return fileData ?? new LogFiles().data();
  const problems = logProblems(logs, startMs);
  if (problems.length > 0) {
    throw new ScenarioError(problems.map(({ path, text }) => `${renderPath(['logs', ...path])}: ${text}`));
  }
  return madeUpData(madeUpSettings(optionsOf(logs, startMs, seed)));
}

/**
 * Settings whose names in code and in scenarios differ. The key is the name in code, and the value is the name in
 * scenarios.
 */
const namesByMember: Readonly<Record<string, string>> = {
  fromMs: 'from',
  toMs: 'to',
  'receipt.promptMs': 'receipt.promptFor',
  'receipt.lateMs': 'receipt.lateFor',
};

/** Returns the problems in the scenario's `logs` that the schema cannot detect. */
export function logProblems(logs: LogScenario, startMs: number): ScenarioProblem[] {
  const { files, messages, perSecond } = logs;
  if (files) {
    const others = Object.keys(logs).filter((member) => member !== 'files' && member !== 'fieldCase');
    return others.map((member) => ({
      path: [member],
      text: 'applies only to generated messages; remove it or files',
    }));
  }
  if (messages !== undefined && perSecond !== undefined) {
    return [{ path: ['perSecond'], text: 'cannot be combined with messages; remove one of the two' }];
  }
  return settingsProblems(madeUpSettings(optionsOf(logs, startMs, 1))).map(({ member, text }) => {
    const amount = perSecond === undefined ? 'messages' : 'perSecond';
    const name = member === 'amount' ? amount : (namesByMember[member] ?? member);
    return { path: name.split('.'), text };
  });
}

function optionsOf(logs: LogScenario, startMs: number, seed: number): MadeUpOptions {
  const { from = '-24h', to = '-0s', messages, perSecond, dense = [], receipt = {} } = logs;
  const { crowds, size, oddShare, loneSurrogateShare, sources, variety, fieldCase } = logs;
  const momentMs = (written: number | string) => parseMoment(written, startMs) ?? Number.NaN;
  return present({
    seed: logs.seed ?? seed,
    fromMs: momentMs(from),
    toMs: momentMs(to),
    amount: perSecond === undefined ? { messages: messages ?? 100_000 } : { perSecond },
    dense: dense.map(({ at, count }) => ({ atMs: momentMs(at), count })),
    receipt: present({
      promptMs: durationMs(receipt.promptFor),
      lateShare: receipt.lateShare,
      lateMs: durationMs(receipt.lateFor),
    }),
    crowds,
    size,
    oddShare,
    loneSurrogateShare,
    sources,
    variety,
    fieldCase,
  }) as MadeUpOptions;
}

/** Removes members with the value undefined, so that default values apply to them. */
function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
