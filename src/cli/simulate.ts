/** `logfleet simulate`: the log service, offline, until a signal ends it. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aborted } from '../base/aborted.ts';
import { systemClock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { certificatesIn } from '../simulator/certificates.ts';
import { accessIdProblem } from '../simulator/credentials.ts';
import { type JournalFile, openJournal } from '../simulator/journal-file.ts';
import { ServiceModel } from '../simulator/model.ts';
import type { Scenario } from '../simulator/scenario.ts';
import { parseScenario } from '../simulator/scenario-file.ts';
import { startServer } from '../simulator/server.ts';
import { defaultCredentials } from '../simulator/settings.ts';
import { mixedFleet } from '../simulator/upgrades/mixed-fleet.ts';
import { type CommandContext, exitStatus } from './context.ts';
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
    const { caFile, cert, key } = await certificatesIn(ownTlsDir ?? path.resolve(context.cwd, tlsDir ?? ''), startMs);
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
    context.stdout.write(`${JSON.stringify({ baseURL, caFile, ...credentialsOf(scenario), controlURL })}\n`);
    await aborted(context.signal);
    await server.close();
  } finally {
    journal?.close();
    if (ownTlsDir !== undefined) await rm(ownTlsDir, { recursive: true });
  }
  return exitStatus.ok;
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
    ...usersFor(base, options),
  };
}

async function baseScenario(options: SimulateOptions, context: CommandContext, startMs: number): Promise<Scenario> {
  if (options.scenario === undefined) {
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

/** The credentials of the flags come beside those of the scenario, as a user of their own. */
function usersFor(base: Scenario, { accessId, accessKey }: SimulateOptions): Pick<Scenario, 'users'> {
  if (accessId === undefined && accessKey === undefined) return {};
  const id = accessId ?? defaultCredentials.accessId;
  const problem = accessIdProblem(id);
  if (problem !== undefined) throw new UsageError(`--access-id ${problem}`);
  const known = Object.values(base.users ?? {}).some(({ keys }) => id in keys);
  if (known) throw new UsageError(`the scenario has the access ID ${id} already; give another one with --access-id`);
  return { users: { [id]: { keys: { [id]: accessKey ?? defaultCredentials.accessKey } }, ...base.users } };
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
