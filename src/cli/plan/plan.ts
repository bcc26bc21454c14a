/**
 * `logfleet plan FILE…`: shows what the policies, exports and schedules in manifests would do now. It writes nothing.
 */

import { Accounts } from '../../account/accounts.ts';
import { type PlacedFinding, renderFinding } from '../../api/finding.ts';
import type { AnyResource, KindName, ResourceOf } from '../../api/kinds.ts';
import type { SourceFile } from '../../api/manifest-set.ts';
import { readPause, settingsName } from '../../api/operator-settings.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { silentLogger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { TroubleLines } from '../../base/trouble-lines.ts';
import type { DecodedFile } from '../../host/directory/manifest-decoding.ts';
import type { OperatorSettings } from '../../host/host.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import type { PlanOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { defaultTimeoutMs, readOverTls, type ServiceReading } from '../operator/service-reading.ts';
import { renderYaml } from '../render/resource-table.ts';
import { printable } from '../render/text.ts';
import { decodeSources, printFindings, readSources, resourcesIn, secretReader } from '../resources/given-manifests.ts';
import { alwaysLeading, MemoryHost, type MemoryHostOptions } from '../resources/memory-host.ts';
import { planExports } from './export-planner.ts';
import { type AllPlans, hasChanges, planDocument } from './plan-document.ts';
import { renderInvalidMarkdown, renderPlanMarkdown } from './plan-markdown.ts';
import { type OpenPlace, openPlace, type PlannedKind, type PlanPlace } from './plan-place.ts';
import { renderPlans } from './plan-view.ts';
import { type Planned, type PlanningOptions, type Problem, planPolicies } from './planner.ts';
import { renderSchedulePlan } from './schedule-plan-view.ts';
import { runsOf } from './schedule-planner.ts';

type PlanPorts = Pick<Ports, 'clock' | 'random'>;

interface PlanDependencies extends ServiceReading {
  readonly open: OpenPlace;
}

type Plans = Planned & AllPlans;

/**
 * Runs `logfleet plan`. Resolves to the exit status: 2 for an invalid manifest, and 1 for a failed plan. With
 * `--exit-code`, the status is 1 if there is something to do, and 2 for a failed plan.
 */
export async function planCommand(
  files: readonly string[],
  options: PlanOptions,
  context: CommandContext,
  dependencies: PlanDependencies = { ...readOverTls(context), open: openPlace },
): Promise<number> {
  const sources = await readSources(files, context);
  const findings = printFindings(sources, context);
  const refuse = (problems: readonly PlacedFinding[]) => {
    if (options.output === 'markdown') context.stdout.write(renderInvalidMarkdown(problems));
    return exitStatus.usage;
  };
  if (findings.some(({ severity }) => severity === 'error')) return refuse(findings);
  const place = await dependencies.open(options, context);
  let plans: Plans;
  try {
    const given = await readGiven(sources, place);
    const rejected = rejectedChanges(sources, place, given);
    context.stderr.write(rejected.map((problem) => `${renderFinding(problem)}\n`).join(''));
    if (rejected.length > 0) return refuse([...findings, ...rejected]);
    plans = await plan(given, place, options, context, dependencies);
  } finally {
    await place.close();
  }
  show(plans, findings, options, context);
  const hasProblem = problemsOf(plans).length > 0;
  if (!options.exitCode) return hasProblem ? exitStatus.failed : exitStatus.ok;
  if (hasProblem) return exitStatus.usage;
  return hasChanges(plans) ? exitStatus.failed : exitStatus.ok;
}

/** Returns the problems with policies, with exports, and with the sample runs of schedules. */
function problemsOf({ outlooks, exports, schedules }: AllPlans) {
  const samples = schedules.flatMap(({ outlook }) => outlook ?? []);
  return [...outlooks, ...exports, ...samples].filter(({ kind }) => kind === 'problem') as Problem<AnyResource>[];
}

/** Manifests to plan, and the resources that already exist. */
interface Given {
  readonly decoded: readonly DecodedFile[];
  /**
   * Existing resources of each kind, indexed by `namespace/name`. Includes only exports and schedules that are also in
   * the given manifests.
   */
  readonly existing: { readonly [K in KindName]: ReadonlyMap<string, ResourceOf<K>> };
}

async function readGiven(sources: readonly SourceFile[], place: PlanPlace): Promise<Given> {
  const decoded = decodeSources(sources, place.namespace);
  const given = decoded.flatMap(({ resources }) => resources);
  if (given.length === 0) {
    const files = sources.map(({ name }) => name).join(', ');
    throw new UsageError(`${files} has no CollectorVersionPolicy, SearchExport or SearchExportSchedule`);
  }
  const keysOf = (wanted: KindName) => given.filter(({ kind }) => kind === wanted).map(({ key }) => key);
  const find = async <K extends PlannedKind>(kind: K) => {
    const found = await Promise.all(keysOf(kind).map((key) => place.find(kind, key)));
    return byName(found.filter((each) => each !== undefined));
  };
  return {
    decoded,
    existing: {
      CollectorVersionPolicy: byName(keysOf('CollectorVersionPolicy').length > 0 ? await place.policies() : []),
      SearchExport: await find('SearchExport'),
      SearchExportSchedule: await find('SearchExportSchedule'),
    },
  };
}

function byName<R extends AnyResource>(resources: readonly R[]): ReadonlyMap<string, R> {
  return new Map(resources.map((resource) => [keyText(resource.metadata), resource]));
}

/** Returns an error for each manifest that an API server would reject because it changes an immutable field. */
function rejectedChanges(
  sources: readonly SourceFile[],
  { namespace }: PlanPlace,
  { existing }: Given,
): readonly PlacedFinding[] {
  return decodeSources(sources, namespace, (kind, key) => existing[kind].get(keyText(key)))
    .flatMap(({ refused }) => refused)
    .flatMap(({ kind, problem }) => (kind === 'Secret' || !problem ? [] : [problem]));
}

async function plan(
  { decoded, existing }: Given,
  place: PlanPlace,
  { assumeUpgrade, timeout = defaultTimeoutMs }: PlanOptions,
  context: CommandContext,
  { connect, clock, random }: PlanDependencies,
): Promise<Plans> {
  const secrets = await secretReader(decoded, place, context);
  const settings = settingsOf(decoded, place);
  const common = { clock, log: silentLogger, metrics: noMetrics };
  // All plans share one request budget (B1).
  const accounts = new Accounts({ ...common, secrets, leadership: alwaysLeading, connect });
  const lines = new TroubleLines(clock, (line) => context.stderr.write(`${printable(line)}\n`));
  const onTrouble = ({ metadata }: AnyResource, { reason, message }: LogfleetError) =>
    lines.failed(keyText(metadata), `${reason}: ${message}`);
  const asked = { accounts, clock, random, timeoutMs: timeout, signal: context.signal, onTrouble };
  try {
    const { host, wanted } = policiesAmong(decoded, place, existing, { secrets, settings, clock, random });
    const exports = resourcesIn('SearchExport', decoded, { clock, random }, existing.SearchExport);
    const startedMs = clock.monotonic();
    const policies = await planPolicies({ ...asked, host, wanted, upgradeMs: assumeUpgrade });
    // Plans the exports after the policies. If both were planned at the same time, they would share the request limits.
    // The measured response times would then be longer than usual, and the estimates would be wrong.
    const { pausedBy } = host.settings();
    const planned = await planExports({ ...asked, exports, startedMs, pausedBy });
    const placed = resourcesIn('SearchExportSchedule', decoded, { clock, random }, existing.SearchExportSchedule);
    const runs = placed.map((schedule) => runsOf(schedule, clock.now()));
    const samples = runs.flatMap(({ sample }) => sample?.export ?? []);
    const outlooks = await planExports({ ...asked, exports: samples, startedMs, pausedBy });
    const schedules = runs.map((each) => ({
      ...each,
      outlook: each.sample && outlooks[samples.indexOf(each.sample.export)],
    }));
    return { ...policies, exports: planned, schedules };
  } finally {
    await accounts.close();
  }
}

/** Returns the policies in the manifests and the existing policies. */
function policiesAmong(
  decoded: readonly DecodedFile[],
  place: PlanPlace,
  { CollectorVersionPolicy: placed }: Given['existing'],
  options: PlanPorts & Pick<MemoryHostOptions, 'secrets' | 'settings'>,
): Pick<PlanningOptions, 'host' | 'wanted'> {
  const given = resourcesIn('CollectorVersionPolicy', decoded, options, placed);
  const all = new Map([...placed.values(), ...given].map((policy) => [keyText(policy.metadata), policy]));
  const host = new MemoryHost({ ...options, resources: [...all.values()], ledgers: place.ledgers });
  return { host, wanted: given.map(({ metadata: { namespace, name } }) => ({ namespace, name })) };
}

function settingsOf(decoded: readonly DecodedFile[], place: PlanPlace): OperatorSettings {
  const isPausing = decoded.some(({ settings }) => settings.some(({ paused }) => readPause(paused) !== undefined));
  return isPausing ? { pausedBy: `the ConfigMap ${settingsName} among the manifests` } : place.settings();
}

function show(
  plans: Plans,
  warnings: readonly PlacedFinding[],
  target: PlanOptions,
  { stdout, stderr }: CommandContext,
): void {
  const { output } = target;
  const { outlooks, others, exports, schedules } = plans;
  for (const { resource, message } of others) {
    const warning = `warning: the plan ignores the existing policy ${keyText(resource.metadata)}, which may select the same collectors: ${message}`;
    stderr.write(`${printable(warning)}\n`);
  }
  const document = planDocument(plans);
  if (output === 'json') stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  else if (output === 'yaml') stdout.write(renderYaml(document));
  else if (output === 'markdown') stdout.write(renderPlanMarkdown(plans, warnings));
  else {
    const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
    const options = { width, colour: stdout.colour, wide: output === 'wide', target };
    const first = renderPlans([...outlooks, ...exports], options);
    const ofSchedules = schedules.flatMap((each) => ['', ...renderSchedulePlan(each, options)]);
    const lines = first.length > 0 ? [...first, ...ofSchedules] : ofSchedules.slice(1);
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
  for (const { resource, reason, message } of problemsOf(plans)) {
    stderr.write(`${printable(`${keyText(resource.metadata)}: ${reason}: ${message}`)}\n`);
  }
}
