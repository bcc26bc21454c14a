/** `logfleet simulate`: the log service, offline, until a signal ends it. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aborted } from '../base/aborted.ts';
import { systemClock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { type Certificates, certificatesIn } from '../simulator/certificates.ts';
import { accessIdProblem } from '../simulator/credentials.ts';
import { type JournalFile, openJournal } from '../simulator/journal-file.ts';
import { ServiceModel } from '../simulator/model.ts';
import { maxGroupCount, type Scenario } from '../simulator/scenario.ts';
import { parseScenario } from '../simulator/scenario-file.ts';
import { startServer } from '../simulator/server.ts';
import { defaultCredentials } from '../simulator/settings.ts';
import { mixedFleet } from '../simulator/upgrades/mixed-fleet.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { makeWithFoldersAbove } from './folders-above.ts';
import { keepHeapSmall } from './heap.ts';
import type { ListenAddress, SimulateOptions } from './options.ts';
import { logDataFor, logsFor } from './simulated-logs.ts';
import { UsageError } from './usage-error.ts';

/** The size of the fleet when nothing says anything else. */
const defaultCollectors = 100;

interface Credentials {
  readonly accessId: string;
  readonly accessKey: string;
}

export async function simulateCommand(options: SimulateOptions, context: CommandContext): Promise<number> {
  keepHeapSmall();
  const startMs = systemClock.now();
  const startedAtMs = systemClock.monotonic();
  const scenario = await scenarioFor(options, context, startMs);
  const logData = logDataFor(scenario, options, context);
  const { tlsDir, journal: journalFile } = options;
  const ownTlsDir = tlsDir === undefined ? await mkdtemp(path.join(tmpdir(), 'logfleet-simulate-')) : undefined;
  const journal = journalFile === undefined ? undefined : journalIn(journalFile, context);
  try {
    const { caFile, cert, key } =
      ownTlsDir === undefined
        ? await certificatesOf(tlsDir ?? '', context, startMs)
        : await certificatesIn(ownTlsDir, startMs);
    const model = new ServiceModel(scenario, {
      startMs,
      ...(logData ? { logData } : {}),
      ...(journal ? { journal: (entry) => journal.write(entry) } : {}),
    });
    const listening = { model, clock: systemClock, startedAtMs, ...options.listen, cert, key };
    const server = await startServer(listening).catch((error) => {
      throw notListening(options.listen, error);
    });
    const { baseURL, controlURL } = server;
    const credentials = givenCredentials(options) ?? credentialsOf(scenario);
    context.stdout.write(`${JSON.stringify({ baseURL, caFile, ...credentials, controlURL })}\n`);
    await aborted(context.signal);
    await server.close();
  } finally {
    journal?.close();
    if (ownTlsDir !== undefined) await rm(ownTlsDir, { recursive: true });
  }
  return exitStatus.ok;
}

async function certificatesOf(tlsDir: string, { cwd }: CommandContext, startMs: number): Promise<Certificates> {
  const directory = path.resolve(cwd, tlsDir);
  try {
    makeWithFoldersAbove(directory);
    return await certificatesIn(directory, startMs);
  } catch (error) {
    if (error instanceof LogfleetError || !(error instanceof Error && 'code' in error)) throw error;
    throw new UsageError(
      `cannot keep or read certificates in ${directory}: ${error.message}; name another folder with --tls-dir`,
    );
  }
}

function journalIn(file: string, { cwd }: CommandContext): JournalFile {
  try {
    return openJournal(path.resolve(cwd, file));
  } catch (error) {
    throw new UsageError(`cannot write the journal ${file}: ${(error as Error).message}`);
  }
}

async function scenarioFor(options: SimulateOptions, context: CommandContext, startMs: number): Promise<Scenario> {
  const base = await baseScenario(options, context, startMs);
  return {
    ...base,
    timeScale: (base.timeScale ?? 1) * options.timeScale,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...logsFor(base, options, startMs),
    ...usersFor(base, options, context),
  };
}

async function baseScenario(options: SimulateOptions, context: CommandContext, startMs: number): Promise<Scenario> {
  if (options.scenario === undefined) {
    if ((options.collectors ?? 0) > maxGroupCount)
      throw new UsageError(`--collectors is ${options.collectors}; write ${maxGroupCount} at most`);
    return { ...mixedFleet(options.collectors ?? defaultCollectors, options.seed), logs: {} };
  }
  try {
    const text = await readFile(path.resolve(context.cwd, options.scenario), 'utf8');
    return parseScenario(text, options.scenario, startMs);
  } catch (error) {
    if (error instanceof LogfleetError) throw new UsageError(error.message);
    throw new UsageError(`cannot read the scenario ${options.scenario}: ${(error as Error).message}`);
  }
}

/** The credentials of the flags come beside those of the scenario, as a user of their own, unless it has the same pair. */
function usersFor(base: Scenario, options: SimulateOptions, { env }: CommandContext): Pick<Scenario, 'users'> {
  const given = givenCredentials(options);
  if (given === undefined) return {};
  const { accessId: id, accessKey: key } = given;
  const problem = accessIdProblem(id);
  if (problem !== undefined) throw new UsageError(`--access-id ${problem}`);
  const known = Object.values(base.users ?? {}).find(({ keys }) => Object.hasOwn(keys, id));
  if (known?.keys[id] === key) return {};
  // Whoever set the variables for another command does not think of them here.
  const source = env['LOGFLEET_ACCESS_ID'] === id ? 'unset LOGFLEET_ACCESS_ID, which gave it, or ' : '';
  if (known) {
    const which = `the scenario has the access ID ${id} already, with another key`;
    throw new UsageError(`${which}; ${source}give another one with --access-id`);
  }
  return { users: { [id]: { keys: { [id]: key } }, ...base.users } };
}

/** Those of the flags, or of the variables that stand for them; undefined where neither says anything. */
function givenCredentials({ accessId, accessKey }: SimulateOptions): Credentials | undefined {
  if (accessId === undefined && accessKey === undefined) return undefined;
  return {
    accessId: accessId ?? defaultCredentials.accessId,
    accessKey: accessKey ?? defaultCredentials.accessKey,
  };
}

/** The first that the service takes. */
function credentialsOf({ users }: Scenario): Credentials {
  for (const { keys } of Object.values(users ?? {})) {
    for (const [accessId, accessKey] of Object.entries(keys)) return { accessId, accessKey };
  }
  return defaultCredentials;
}

function notListening({ host, port }: ListenAddress, cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'simulator.listen',
    message: `cannot listen on ${host}:${port}: ${(cause as Error).message}; give another address with --listen, or port 0 for a free one`,
    handling: { kind: 'stall' },
    cause,
  });
}
