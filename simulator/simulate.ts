/** Runs the simulator: reads flags, the scenario and log data, and serves requests until the signal is aborted. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aborted } from '../src/base/aborted.ts';
import { systemClock } from '../src/base/clock.ts';
import { LogfleetError } from '../src/base/errors.ts';
import type { ListenAddress } from '../src/base/flag-values.ts';
import { makeWithFoldersAbove } from '../src/base/folders-above.ts';
import { keepHeapSmall } from '../src/base/heap.ts';
import { type Certificates, certificatesIn } from './certificates.ts';
import { mixedFleet } from './collectors/mixed-fleet.ts';
import { accessIdProblem } from './credentials.ts';
import { type JournalFile, openJournal } from './journal-file.ts';
import { logDataFor, logsFor } from './log-choice.ts';
import { ServiceModel } from './model.ts';
import { FlagError, type SimulateOptions, type SimulatorContext } from './options.ts';
import { maxGroupCount, type Scenario } from './scenario/scenario.ts';
import { defaultCredentials } from './scenario/settings.ts';
import { parseScenario } from './scenario-file.ts';
import { startServer } from './server.ts';

const defaultCollectors = 100;

interface Credentials {
  readonly accessId: string;
  readonly accessKey: string;
}

/** The line of JSON that the simulator prints when it is ready. */
export interface SimulatorAddress extends Credentials {
  readonly baseURL: string;
  readonly caFile: string;
  readonly controlURL: string;
}

/**
 * Runs the simulator until the signal is aborted. Rejects with `FlagError` if a flag is invalid, or if the journal cannot
 * be written.
 */
export async function simulate(options: SimulateOptions, context: SimulatorContext): Promise<void> {
  keepHeapSmall();
  const startMs = systemClock.now();
  const startedAtMs = systemClock.monotonic();
  const scenario = await scenarioFor(options, context, startMs);
  const logData = logDataFor(scenario, options, context);
  const { tlsDir, journal: journalFile } = options;
  const ownTlsDir = tlsDir === undefined ? await mkdtemp(path.join(tmpdir(), 'logfleet-simulate-')) : undefined;
  const journalFailed = Promise.withResolvers<never>();
  const journal =
    journalFile === undefined ? undefined : journalIn(journalFile, context, (error) => journalFailed.reject(error));
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
    const address: SimulatorAddress = { baseURL, caFile, ...credentials, controlURL };
    context.stdout.write(`${JSON.stringify(address)}\n`);
    try {
      await Promise.race([aborted(context.signal), journalFailed.promise]);
    } finally {
      await server.close();
    }
  } finally {
    journal?.close();
    if (ownTlsDir !== undefined) await rm(ownTlsDir, { recursive: true });
  }
}

async function certificatesOf(tlsDir: string, { cwd }: SimulatorContext, startMs: number): Promise<Certificates> {
  const directory = path.resolve(cwd, tlsDir);
  try {
    makeWithFoldersAbove(directory);
    return await certificatesIn(directory, startMs);
  } catch (error) {
    if (error instanceof LogfleetError || !(error instanceof Error && 'code' in error)) throw error;
    throw new FlagError(
      `cannot create or read certificates in ${directory}: ${error.message}; set another folder with --tls-dir`,
    );
  }
}

/** Opens the journal. `failed` is called with an error if an entry cannot be written, for example if the disk is full. */
function journalIn(file: string, { cwd }: SimulatorContext, failed: (error: FlagError) => void): JournalFile {
  const problem = (error: unknown) =>
    new FlagError(
      `cannot write the journal ${file}: ${(error as Error).message}; free space, or set another file with --journal`,
    );
  try {
    return openJournal(path.resolve(cwd, file), (error) => failed(problem(error)));
  } catch (error) {
    throw problem(error);
  }
}

async function scenarioFor(options: SimulateOptions, context: SimulatorContext, startMs: number): Promise<Scenario> {
  const base = await baseScenario(options, context, startMs);
  return {
    ...base,
    timeScale: (base.timeScale ?? 1) * options.timeScale,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...logsFor(base, options, startMs),
    ...usersFor(base, options, context),
  };
}

async function baseScenario(options: SimulateOptions, context: SimulatorContext, startMs: number): Promise<Scenario> {
  if (options.scenario === undefined) {
    if ((options.collectors ?? 0) > maxGroupCount)
      throw new FlagError(`--collectors is ${options.collectors}; set at most ${maxGroupCount}`);
    return { ...mixedFleet(options.collectors ?? defaultCollectors, options.seed), logs: {} };
  }
  try {
    const text = await readFile(path.resolve(context.cwd, options.scenario), 'utf8');
    return parseScenario(text, options.scenario, startMs);
  } catch (error) {
    if (error instanceof LogfleetError) throw new FlagError(error.message);
    throw new FlagError(`cannot read the scenario ${options.scenario}: ${(error as Error).message}`);
  }
}

/**
 * Returns the scenario's users, and adds the credentials from the flags or the environment to the user whose name is the
 * access ID. Creates this user if necessary. Returns an empty object if no credentials have to be added.
 */
function usersFor(base: Scenario, options: SimulateOptions, { env }: SimulatorContext): Pick<Scenario, 'users'> {
  const given = givenCredentials(options);
  if (given === undefined) return {};
  const { accessId: id, accessKey: key } = given;
  const problem = accessIdProblem(id);
  if (problem !== undefined) throw new FlagError(`--access-id ${problem}`);
  const known = Object.values(base.users ?? {}).find(({ keys }) => Object.hasOwn(keys, id));
  if (known?.keys[id] === key) return {};
  const source = env['LOGFLEET_ACCESS_ID'] === id ? 'unset LOGFLEET_ACCESS_ID, which set this ID, or ' : '';
  if (known) {
    const which = `the scenario already has the access ID ${id}, with another key`;
    throw new FlagError(`${which}; ${source}set another ID with --access-id`);
  }
  const namesake = base.users?.[id];
  return { users: { ...base.users, [id]: { ...namesake, keys: { ...namesake?.keys, [id]: key } } } };
}

/** Returns the credentials set by flags or environment variables, if any. */
function givenCredentials({ accessId, accessKey }: SimulateOptions): Credentials | undefined {
  if (accessId === undefined && accessKey === undefined) return undefined;
  return {
    accessId: accessId ?? defaultCredentials.accessId,
    accessKey: accessKey ?? defaultCredentials.accessKey,
  };
}

/** Returns the first credentials in the scenario, or the default credentials if the scenario has none. */
function credentialsOf({ users }: Scenario): Credentials {
  for (const { keys } of Object.values(users ?? {})) {
    for (const [accessId, accessKey] of Object.entries(keys)) return { accessId, accessKey };
  }
  return defaultCredentials;
}

function notListening({ host, port }: ListenAddress, cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'simulator.listen',
    message: `cannot listen on ${host}:${port}: ${(cause as Error).message}; set another address with --listen, or use port 0 for any free port`,
    handling: { kind: 'stall' },
    cause,
  });
}
