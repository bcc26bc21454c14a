/**
 * `logfleet export`: runs one SearchExport from a manifest or from flags. After an interruption, the next start exports
 * the missing intervals. With `-o -`, rows are first written to a temporary folder. They are written to stdout after
 * all of them have been checked.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { decodeCredentials } from '../../account/credentials.ts';
import { renderExplanation } from '../../api/finding.ts';
import type { SearchExport } from '../../api/kinds.ts';
import type { SourceFile } from '../../api/manifest-set.ts';
import { namespaceProblem } from '../../api/metadata-check.ts';
import { systemClock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import { makeWithFoldersAbove } from '../../base/folders-above.ts';
import { keepHeapSmall } from '../../base/heap.ts';
import { keyText } from '../../base/key-text.ts';
import { noMetrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import { ExportLayout } from '../../destination/export-layout.ts';
import { readManifest } from '../../destination/manifest.ts';
import { openDestination } from '../../destination/open-destination.ts';
import { Writer } from '../../destination/store/writer.ts';
import { storeSecretName } from '../../export/resource/export-resource.ts';
import { type ExportWording, resourceWording, type WordedField } from '../../export/status/export-wording.ts';
import { isFolder } from '../../host/directory/durable-file.ts';
import { type DecodedFile, defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { SecretReader } from '../../host/host.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { exportPlaces } from '../command/flags.ts';
import type { ExportOptions, Volumes } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { LiveOperator } from '../live/live-operator.ts';
import { renderIncomplete } from '../render/export-view.ts';
import type { StepOptions } from '../render/next-steps.ts';
import { printable } from '../render/text.ts';
import {
  areValid,
  decodeSources,
  noPlace,
  readSources,
  resourcesIn,
  secretReader,
} from '../resources/given-manifests.ts';
import { MemoryHost } from '../resources/memory-host.ts';
import { isExported, lacksSecret, renderInterruption, renderResult } from '../run/run-report.ts';
import {
  type ExportSink,
  fixedRangeFlags,
  flagManifest,
  type GivenSecret,
  renderExportFinding,
  sinkOf,
} from './export-manifest.ts';
import { flagOf } from './field-flags.ts';
import { provenRows } from './proven-rows.ts';
import { workerOf } from './worker.ts';

/** Interval between status updates, in ms. It can be short, because only this process reads the status. */
const statusIntervalMs = 1_000;

interface ExportRun {
  readonly sources: readonly SourceFile[];
  readonly volumes: Volumes;
  /** Destination of an export that flags define. Undefined if a manifest defines the export. */
  readonly sink?: ExportSink;
  readonly secrets: readonly SourceFile[];
  readonly options: ExportOptions;
  readonly context: CommandContext;
}

/** Runs the export in the manifest `file`, or the export that the flags define. */
export async function exportCommand(
  file: string | undefined,
  options: ExportOptions,
  context: CommandContext,
): Promise<number> {
  keepHeapSmall();
  const problem = options.namespace === undefined ? undefined : namespaceProblem(options.namespace);
  if (problem) throw new UsageError(`-n: ${renderExplanation(problem)}`);
  const secrets = await readSources(options.secret ?? [], context);
  const given =
    file === undefined
      ? exportByFlags(secrets, options, context)
      : { sources: await readSources([file], context), volumes: options.volume ?? new Map() };
  const run: ExportRun = { ...given, secrets, options, context };
  return areValid([...run.sources, ...secrets], context, renderExportFinding) ? work(run) : exitStatus.usage;
}

function exportByFlags(secrets: readonly SourceFile[], options: ExportOptions, context: CommandContext) {
  const sink = sinkOf(options);
  const folder = sink.kind === 'stdout' ? temporaryFolder() : '';
  const secret = serviceSecret(secrets, options);
  const { source, volumes } = flagManifest(options, sink, { ...context, folder, secret, nowMs: systemClock.now() });
  return { sources: [source], volumes, sink };
}

/**
 * Returns the Secret for the log service: the only Secret that has the key `baseURL`. Secrets of object stores do not
 * have this key.
 */
function serviceSecret(sources: readonly SourceFile[], { namespace }: ExportOptions): GivenSecret | undefined {
  const all = decodeSources(sources, namespace ?? defaultNamespace).flatMap(({ secrets }) => secrets);
  const [one, ...others] = all.filter(({ members }) => members.has('baseURL'));
  if (others.length === 0) return one && { name: one.key.name, namespace: one.ownNamespace };
  throw new UsageError(
    'the --secret files contain several Secrets with the key baseURL, which marks credentials for the log service: keep only one of these Secrets',
  );
}

async function work(run: ExportRun): Promise<number> {
  const { sources, secrets, volumes, sink, options, context } = run;
  const namespace = options.namespace ?? defaultNamespace;
  const decoded = decodeSources(sources, namespace);
  const resource = inThisProcess(selectedExport(resourcesIn('SearchExport', decoded, ports), run));
  const name = keyText(resource.metadata);
  const worker = workerOf(context);
  const { volume } = resource.spec.destination;
  if (volume && !volumes.has(volume.name)) {
    throw new UsageError(
      `the export ${name} writes to the volume ${volume.name}, whose directory is missing: add --volume ${volume.name}=DIR`,
    );
  }
  if (volume && !sink) await refuseAbsentFolder(volume.name, volumes.get(volume.name) ?? '', context);
  const decodedSecrets = decodeSources(secrets, namespace);
  const given = worker?.secrets ?? (await secretReader([...decoded, ...decodedSecrets], noPlace, context));
  const host = new MemoryHost({ resources: [resource], secrets: given });
  const unused = unusedSecrets(resource, decoded, decodedSecrets, sink !== undefined);
  if (unused !== undefined) context.stderr.write(`logfleet export: ${unused}\n`);
  const isChecked = pausedByOf(resource) === undefined && !worker;
  const problem = isChecked ? await credentialsProblem(resource, given) : undefined;
  if (problem) {
    context.stderr.write(`${printable(`${name}: ${problem.reason}: ${problem.message}`)}\n`);
    return exitStatus.usage;
  }
  if (sink?.kind === 'folder') for (const directory of volumes.values()) makeFolder(directory);
  const places = {
    ...exportPlaces({ volume: volumes, allowAmbientCredentials: true }, context),
    trustsEndpoints: worker === undefined,
  };
  const operator = new LiveOperator(options, context, noMetrics, { flagsOf: () => stepOptions });
  if (worker) operator.log.info('starting as a worker of a Kubernetes Job', { export: name, ...worker.workerIndex });
  const progress = await worker?.progressOf(resource, host, operator);
  try {
    const wording = worker ? resourceWording : wordingOf(sink);
    const limits = worker && { limits: worker.limits, onlyUser: worker.user };
    const only = worker && { worker: worker.workerIndex };
    await operator.run(host, { exports: { places, wording, settings: { statusIntervalMs }, ...only }, ...limits });
  } finally {
    operator.close();
    await progress?.close();
  }
  const ended = host.resources('SearchExport').get(resource.metadata) ?? resource;
  const status = await reportEnd(ended, run);
  return worker && status !== exitStatus.interrupted ? worker.end(ended) : status;
}

/**
 * Returns the export with the execution mode `Operator`, so that it runs in this process instead of a Kubernetes Job.
 */
function inThisProcess(resource: SearchExport): SearchExport {
  const { persistentVolumeClaim: claim } = resource.spec.destination;
  if (!claim) return { ...resource, spec: { ...resource.spec, execution: { mode: 'Operator' } } };
  const name = keyText(resource.metadata);
  throw new UsageError(
    `the export ${name} writes to the PersistentVolumeClaim ${claim.claimName}, which this command cannot mount: set another spec.destination`,
  );
}

/** Prints the result of the export, and the rows if the destination is stdout. Returns the exit status. */
async function reportEnd(ended: SearchExport, { options, context, sink }: ExportRun): Promise<number> {
  const { stdout, stderr, signal } = context;
  if (signal.aborted) {
    const nothing = 'interrupted; no row was printed';
    const flags = sink === undefined ? '' : fixedRangeFlags(options, ended);
    const text = sink?.kind === 'stdout' ? nothing : renderInterruption([ended], flags);
    stderr.write(`logfleet export: ${text}\n`);
    return exitStatus.interrupted;
  }
  const { manifest, location, incomplete = [] } = ended.status ?? {};
  // Writes the rows before it reports success, so that no success is reported if the reader of stdout closes the pipe.
  if (manifest && location !== undefined && sink?.kind === 'stdout') await writeRows(location, context);
  else if (manifest) stdout.write(`${manifest.url}\n`);
  // Prints all incomplete intervals, because the status is lost when this process ends.
  const text = [renderResult(ended, stepOptions, undefined), ...renderIncomplete(incomplete)];
  if (signal.aborted) return exitStatus.interrupted;
  stderr.write(text.map((line) => `${printable(line)}\n`).join(''));
  if (isExported(ended)) return exitStatus.ok;
  return lacksSecret(ended) ? exitStatus.usage : exitStatus.failed;
}

/**
 * Returns the wording of messages about an export. Messages name flags if flags define the export, and otherwise fields
 * of the manifest.
 */
function wordingOf(sink: ExportSink | undefined): ExportWording {
  const flagName = (field: WordedField) => flagOf(`spec.${field}`) ?? `spec.${field}`;
  const fieldName = sink === undefined ? resourceWording.fieldName : flagName;
  return { startedAs: 'process', rowsGoTo: sink?.kind === 'stdout' ? 'stdout' : 'files', fieldName };
}

const ports = { clock: systemClock, random: systemRandom };
/**
 * Options that make messages suggest a change to the manifest instead of a command. Commands such as `logfleet resume`
 * have no effect on an export that runs in this process.
 */
const stepOptions: StepOptions = { byManifest: true };

/**
 * Returns the export that `--name` and `--namespace` select. Throws a `UsageError` unless exactly one export matches.
 */
function selectedExport(
  found: readonly SearchExport[],
  { options: { name, namespace }, sources }: ExportRun,
): SearchExport {
  const files = sources.map((source) => source.name).join(', ');
  const named = name === undefined ? found : found.filter(({ metadata }) => metadata.name === name);
  // `--namespace` selects one of several exports that match `--name`. If at most one export matches, `--namespace` is
  // only the default namespace for manifests.
  const isEnough = named.length < 2 || namespace === undefined;
  const meant = isEnough ? named : named.filter(({ metadata }) => metadata.namespace === namespace);
  const [one, ...others] = meant;
  if (one && others.length === 0) return one;
  const names = found.map(({ metadata }) => keyText(metadata)).join(', ');
  if (one) throw new UsageError(`${files} contains several exports (${names}): select one of them with --name and -n`);
  const ofName = name === undefined ? '' : ` with the name ${name}`;
  const inNamespace = isEnough ? '' : ` in namespace ${namespace}`;
  const onlyThese = names === '' ? '' : `, only ${names}`;
  throw new UsageError(`${files} contains no SearchExport${ofName}${inNamespace}${onlyThese}`);
}

/**
 * Throws a `UsageError` if the directory of a volume does not exist. Does not create the directory, because it may
 * belong on a disk that is not mounted.
 */
async function refuseAbsentFolder(name: string, directory: string, { cwd }: CommandContext): Promise<void> {
  const folder = path.resolve(cwd, directory);
  if (await isFolder(folder)) return;
  throw new UsageError(`the folder ${folder} of --volume ${name} does not exist: create it, or use another folder`);
}

function makeFolder(directory: string): void {
  try {
    makeWithFoldersAbove(directory);
  } catch (error) {
    throw new UsageError(
      `cannot create the folder ${directory}: ${(error as Error).message}; set another folder with -o`,
    );
  }
}

/** Creates a temporary folder, which is removed when the process exits. */
function temporaryFolder(): string {
  try {
    const folder = mkdtempSync(path.join(tmpdir(), 'logfleet-export-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  } catch (error) {
    throw new UsageError(
      `cannot create a temporary folder for the rows: ${(error as Error).message}; set another folder with TMPDIR`,
    );
  }
}

/** Writes all rows of the complete export to stdout. `location` is the folder of its files. */
async function writeRows(location: string, { writeBytes, env, signal }: CommandContext): Promise<void> {
  const directory = fileURLToPath(location);
  const writer = await Writer.ours(systemRandom);
  const destination = await openDestination(
    { kind: 'volume', directory, root: '' },
    { ...ports, writer, environment: env },
  );
  const manifest = await readManifest(destination, new ExportLayout(''));
  await destination.close();
  if (!manifest)
    throw new UsageError(`the temporary folder ${directory} was emptied during the export; run the command again`);
  for await (const piece of provenRows(directory, manifest)) {
    if (signal.aborted) return;
    await writeBytes(piece);
  }
}

/** Returns an error if the export's credentials are incomplete or malformed. Otherwise returns undefined. */
async function credentialsProblem(
  { metadata: { namespace }, spec }: SearchExport,
  secrets: SecretReader,
): Promise<LogfleetError | undefined> {
  const key = { namespace, name: spec.credentialsSecretRef.name };
  const members = await secrets.get(key);
  try {
    decodeCredentials({ kind: secrets.takesVariables?.(key) ? 'variables' : 'secret', key }, members);
    return undefined;
  } catch (error) {
    if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
    throw error;
  }
}

/**
 * Returns a warning about Secrets from `--secret` that the export does not use.
 *
 * @param byFlags true if flags define the export, so that no manifest names a Secret
 */
function unusedSecrets(
  { metadata: { namespace }, spec }: SearchExport,
  decoded: readonly DecodedFile[],
  given: readonly DecodedFile[],
  byFlags: boolean,
): string | undefined {
  const { credentialsSecretRef, destination } = spec;
  const wanted = keyText({ namespace, name: credentialsSecretRef.name });
  const namesIn = (files: readonly DecodedFile[]) =>
    files.flatMap(({ secrets }) => secrets.map(({ key }) => keyText(key)));
  if (namesIn([...decoded, ...given]).includes(wanted)) return undefined;
  const ofStore = storeSecretName(destination);
  const unused = namesIn(given).filter((name) => !ofStore || name !== keyText({ namespace, name: ofStore }));
  if (unused.length === 0) return undefined;
  const ignored = `The export does not use these Secrets from --secret: ${unused.join(', ')}.`;
  if (byFlags) return `${ignored} A Secret with credentials for the log service needs the key baseURL.`;
  return `${ignored} The export needs the Secret ${wanted}: add its file with --secret, or change spec.credentialsSecretRef.name in the manifest.`;
}
