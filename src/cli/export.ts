/**
 * `logfleet export`: one SearchExport as a process of its own, from a manifest or from flags, by the operator's own parts. It ends when the
 * export has: what is committed stays at the destination, so that the next start goes on from there.
 *
 * With `-o -` rows are kept in a temporary folder until all of them are proven, and go to stdout then. The folder goes when the process
 * ends, by a signal too; only what ends it on the spot (SIGKILL, a machine that stops) leaves it where it is.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SearchExport } from '../api/kinds.ts';
import type { SourceFile } from '../api/manifest-set.ts';
import { namespaceProblem } from '../api/metadata-check.ts';
import { aborted } from '../base/aborted.ts';
import { systemClock } from '../base/clock.ts';
import { type Metrics, noMetrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { pausedByOf } from '../controller/pauses.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { readManifest } from '../destination/manifest.ts';
import { openDestination } from '../destination/open-destination.ts';
import { defaultNamespace } from '../host/directory/manifest-decoding.ts';
import { connectOverTls } from '../service/undici/connect.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { credentialsProblem, unusedSecrets } from './export-credentials.ts';
import {
  type ExportSink,
  type FlagManifest,
  fixedRangeFlags,
  flagManifest,
  type GivenSecret,
  renderExportFinding,
  sinkOf,
} from './export-manifest.ts';
import { exportPlaces } from './export-places.ts';
import { inFlags, onStdout } from './flag-words.ts';
import { makeWithFoldersAbove } from './folders-above.ts';
import { areValid, decodeSources, nameOf, resourcesIn, secretsOf } from './given-manifests.ts';
import { keepHeapSmall } from './heap.ts';
import { LiveView } from './live-view.ts';
import { logInWords } from './log-in-words.ts';
import { createLogger } from './logging.ts';
import { readSources } from './manifest-sources.ts';
import { Operator } from './operator.ts';
import type { ExportOptions } from './options.ts';
import { nowhere } from './plan-place.ts';
import { provenRows } from './proven-rows.ts';
import { renderIncomplete } from './render/export-view.ts';
import { renderInterruption } from './render/interruption.ts';
import { countingRequests } from './request-count.ts';
import { isExported, lacksSecret, renderOutcome } from './run-outcome.ts';
import { ShownHost } from './shown-host.ts';
import { SingleHost } from './single-host.ts';
import { UsageError } from './usage-error.ts';
import { packageVersion } from './version.ts';
import type { WayOptions } from './way-on.ts';

/** Nobody is woken by a status. */
const statusIntervalMs = 1_000;

/** Of a manifest where `file` is one, else of what the flags say. */
export async function exportCommand(
  file: string | undefined,
  options: ExportOptions,
  context: CommandContext,
): Promise<number> {
  keepHeapSmall();
  const problem = options.namespace === undefined ? undefined : namespaceProblem(options.namespace);
  if (problem !== undefined) throw new UsageError(`-n: ${problem}`);
  const secrets = await readSources(options.secret ?? [], context);
  if (file !== undefined) {
    const sources = await readSources([file], context);
    if (!areValid([...sources, ...secrets], context, renderExportFinding)) return exitStatus.usage;
    return work({ sources, secrets, volumes: options.volume ?? new Map() }, options, context);
  }
  const sink = sinkOf(options);
  const folder = sink.kind === 'stdout' ? temporaryFolder() : '';
  const secret = serviceSecret(secrets, options);
  const { source, volumes } = flagManifest(options, sink, { ...context, folder, secret, nowMs: systemClock.now() });
  if (!areValid([source, ...secrets], context, renderExportFinding)) return exitStatus.usage;
  return work({ sources: [source], secrets, volumes }, options, context, sink);
}

/** The one among them that leads to a service; others may be of stores. */
function serviceSecret(sources: readonly SourceFile[], { namespace }: ExportOptions): GivenSecret | undefined {
  const all = decodeSources(sources, namespace ?? defaultNamespace).flatMap(({ secrets }) => secrets);
  const [one, ...others] = all.filter(({ members }) => members.has('baseURL'));
  if (others.length === 0) return one && { name: one.key.name, namespace: one.ownNamespace };
  throw new UsageError('--secret names several Secrets with a baseURL: leave in the one that is meant');
}

interface Given {
  readonly sources: readonly SourceFile[];
  readonly secrets: readonly SourceFile[];
  readonly volumes: FlagManifest['volumes'];
}

async function work(
  { sources, secrets, volumes }: Given,
  options: ExportOptions,
  context: CommandContext,
  sink?: ExportSink,
): Promise<number> {
  const namespace = options.namespace ?? defaultNamespace;
  const decoded = decodeSources(sources, namespace);
  const resource = theOne(resourcesIn('SearchExport', decoded, ports), options, sources);
  const { volume } = resource.spec.destination;
  if (volume && !volumes.has(volume.name)) {
    const which = `${nameOf(resource.metadata)} goes to the volume ${volume.name}`;
    throw new UsageError(`${which}: say with --volume ${volume.name}=DIR which directory that is`);
  }
  if (volume && !sink) refuseAbsentFolder(volume.name, volumes.get(volume.name) ?? '', context);
  const decodedSecrets = decodeSources(secrets, namespace);
  const given = await secretsOf([...decoded, ...decodedSecrets], nowhere, context);
  const host = new SingleHost(resource, given, wordsOf(sink));
  const { stdout, stderr, signal } = context;
  const unused = unusedSecrets(resource, decoded, decodedSecrets, sink !== undefined);
  if (unused !== undefined) stderr.write(`logfleet export: ${unused}\n`);
  // One that is paused asks nobody, and says so.
  const problem = pausedByOf(resource) !== undefined ? undefined : await credentialsProblem(resource, given);
  if (problem) {
    stderr.write(`${nameOf(resource.metadata)}: ${problem.reason}: ${host.inWords(problem.message)}\n`);
    return exitStatus.usage;
  }
  if (sink?.kind === 'folder') for (const directory of volumes.values()) makeFolder(directory);
  await run(host, exportPlaces({ volume: volumes, allowAmbientCredentials: true }, context), options, context);
  const ended = host.resource;
  if (signal.aborted) {
    const nothing = 'interrupted; nothing was written';
    const flags = sink === undefined ? '' : fixedRangeFlags(options, ended);
    const said = sink?.kind === 'stdout' ? nothing : renderInterruption([ended], flags);
    stderr.write(`logfleet export: ${said}\n`);
    return exitStatus.interrupted;
  }
  const { manifest, location, incomplete = [] } = ended.status ?? {};
  // No status is left that could be looked at later.
  const said = [renderOutcome(ended, wayTo, undefined), ...renderIncomplete(incomplete, Number.POSITIVE_INFINITY)];
  stderr.write(said.map((line) => `${line}\n`).join(''));
  if (manifest && location !== undefined && sink?.kind === 'stdout') await writeRows(location, context);
  else if (manifest) stdout.write(`${manifest.url}\n`);
  if (signal.aborted) return exitStatus.interrupted;
  if (isExported(ended)) return exitStatus.ok;
  return lacksSecret(ended) ? exitStatus.usage : exitStatus.failed;
}

/** How an export says what is the matter with it: one of a manifest has members, one by flags has flags. */
function wordsOf(sink: ExportSink | undefined): (message: string) => string {
  switch (sink?.kind) {
    case undefined:
      return (message) => message;
    case 'stdout':
      return (message) => onStdout(inFlags(message));
    case 'folder':
    case 'store':
      return inFlags;
  }
}

const ports = { clock: systemClock, random: systemRandom };
/** No other command finds it. */
const wayTo: WayOptions = { byManifest: true };

/** Resolves once the export has come to an end, or somebody interrupts it. */
async function run(
  host: SingleHost,
  places: ReturnType<typeof exportPlaces>,
  options: ExportOptions,
  context: CommandContext,
): Promise<void> {
  const view = new LiveView({ output: context.stderr, clock: systemClock, flagsOf: () => wayTo });
  const metrics: Metrics = countingRequests(noMetrics, () => view.request());
  const lines = createLogger(options, context.stderr, { write: (line) => view.print(line.trimEnd()) });
  const log = logInWords(lines, (message) => host.inWords(message));
  const shown = new ShownHost(view, host);
  const common = { ...ports, log, metrics };
  const operator = new Operator({
    ...common,
    host: shown.host,
    connect: connectOverTls({ ...common, userAgent: `logfleet/${packageVersion()}`, environment: context.env }),
    exports: { places, settings: { statusIntervalMs } },
  });
  try {
    operator.start();
    await Promise.race([aborted(context.signal), operator.whenSettled().then(() => shown.settled())]);
    await operator.stop();
  } finally {
    view.end();
  }
}

/** The export that is meant; Secrets and other manifests may lie beside it. */
function theOne(
  found: readonly SearchExport[],
  { name, namespace }: ExportOptions,
  sources: readonly SourceFile[],
): SearchExport {
  const files = sources.map((source) => source.name).join(', ');
  const named = name === undefined ? found : found.filter(({ metadata }) => metadata.name === name);
  // With one alone the namespace is merely that of manifests which name none.
  const isEnough = named.length < 2 || namespace === undefined;
  const meant = isEnough ? named : named.filter(({ metadata }) => metadata.namespace === namespace);
  const [one, ...others] = meant;
  if (one && others.length === 0) return one;
  const names = found.map(({ metadata }) => nameOf(metadata)).join(', ');
  if (one) throw new UsageError(`there are several exports in ${files}; say which one with --name and -n: ${names}`);
  const wanted = name === undefined ? '' : `${name} `;
  const where = isEnough ? '' : ` of namespace ${namespace}`;
  const rest = names === '' ? '' : `; there is ${names}`;
  throw new UsageError(`there is no SearchExport ${wanted}in ${files}${where}${rest}`);
}

/** A volume's folder is not made: what is not there may be a disk that is not mounted. */
function refuseAbsentFolder(name: string, directory: string, { cwd }: CommandContext): void {
  const folder = path.resolve(cwd, directory);
  if (isAbsent(folder))
    throw new UsageError(`--volume ${name}: there is no folder ${folder}: make it, or name another`);
}

/** Whether it is certainly not there: what cannot be looked at is told of by whoever writes there. */
function isAbsent(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function makeFolder(directory: string): void {
  try {
    makeWithFoldersAbove(directory);
  } catch (error) {
    throw new UsageError(`cannot make the folder ${directory}: ${(error as Error).message}; name another with -o`);
  }
}

/** Gone when the process is, also when its reader goes away or an impatient person ends it by a second signal. */
function temporaryFolder(): string {
  const folder = madeTemporaryFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function madeTemporaryFolder(): string {
  try {
    return mkdtempSync(path.join(tmpdir(), 'logfleet-export-'));
  } catch (error) {
    throw new UsageError(
      `cannot keep rows until they are proven: ${(error as Error).message}; name another folder with TMPDIR`,
    );
  }
}

/** `location` is that of the export's folder. */
async function writeRows(location: string, { writeBytes, env, signal }: CommandContext): Promise<void> {
  const directory = fileURLToPath(location);
  const destination = await openDestination({ kind: 'volume', directory, root: '' }, { ...ports, environment: env });
  const manifest = await readManifest(destination, new ExportLayout(''));
  await destination.close();
  if (!manifest) throw new UsageError(`${directory} was emptied while rows were being exported; begin again`);
  for await (const piece of provenRows(directory, manifest)) {
    if (signal.aborted) return;
    await writeBytes(piece);
  }
}
