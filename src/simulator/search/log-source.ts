/**
 * Which messages searches go through, as the scenario says: those that were read from files at the start, or made-up ones.
 *
 * Invariant: the same scenario and start give the same messages. Jobs keep the data that they were made with.
 */
import type { LogData } from '../log-data/log-data.ts';
import { madeUpData } from '../log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings, settingsProblems } from '../log-data/made-up/made-up-settings.ts';
import { renderPath, ScenarioError, type ScenarioProblem } from '../scenario-error.ts';
import { durationMs } from '../span.ts';
import { emptyData } from './empty-data.ts';
import type { LogScenario } from './log-scenario.ts';
import { parseMoment } from './moment.ts';

export interface LogSourceOptions {
  /** Start of the service, ms since the epoch. */
  readonly startMs: number;
  /** Of messages that are made up, where the scenario has none for them. */
  readonly seed: number;
  /** What was read from the scenario's files. */
  readonly fileData: LogData | undefined;
}

/** Throws ScenarioError where `logs` has problems, for whoever did not look for them before. */
export function logDataOf(logs: LogScenario | undefined, { startMs, seed, fileData }: LogSourceOptions): LogData {
  if (!logs || logs.files) return fileData ?? emptyData;
  const problems = logProblems(logs, startMs);
  if (problems.length > 0) {
    throw new ScenarioError(problems.map(({ path, text }) => `${renderPath(['logs', ...path])}: ${text}`));
  }
  return madeUpData(madeUpSettings(optionsOf(logs, startMs, seed)));
}

/** Where members have another name in a scenario. */
const namesByMember: Readonly<Record<string, string>> = {
  fromMs: 'from',
  toMs: 'to',
  'receipt.promptMs': 'receipt.promptFor',
  'receipt.lateMs': 'receipt.lateFor',
};

/** What a schema cannot say about `logs`. Paths begin below it. */
export function logProblems(logs: LogScenario, startMs: number): ScenarioProblem[] {
  const { files, messages, perSecond } = logs;
  if (files) {
    const others = Object.keys(logs).filter((member) => member !== 'files' && member !== 'fieldCase');
    return others.map((member) => ({ path: [member], text: 'is for made-up messages; write it without files' }));
  }
  if (messages !== undefined && perSecond !== undefined) {
    return [{ path: ['perSecond'], text: 'is too much beside messages; write one of the two' }];
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

/** Without the members that are undefined, so that defaults fill them in. */
function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
