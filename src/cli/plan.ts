/**
 * `logfleet plan FILE…`: what the policies in these manifests would do now: who is upgraded in which stage, who is left out, how long it
 * takes. It reads, from the service and from where the policies stand already, and writes nothing anywhere.
 */
import { checkCredentialsSecret } from '../account/secret-check.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { checkManifests, type SourceFile } from '../api/manifest-set.ts';
import { readPause, settingsName } from '../api/operator-settings.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { noMetrics } from '../base/metrics.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { SecretText } from '../base/secret-text.ts';
import {
  type DecodedFile,
  type DecodedResource,
  type DecodedSecret,
  decodeManifest,
} from '../host/directory/manifest-decoding.ts';
import { createUid } from '../host/directory/uid.ts';
import type { OperatorSettings, ResourceKey, SecretReader } from '../host/host.ts';
import { countUpgrades } from '../policy/rollout-plan.ts';
import type { Connect } from '../service/connection.ts';
import { connectOverTls } from '../service/undici/connect.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { secretFromVariables } from './credential-variables.ts';
import { readSources } from './manifest-sources.ts';
import type { PlanOptions } from './options.ts';
import { PlanHost } from './plan-host.ts';
import { type OpenPlace, openPlace, type PlanPlace } from './plan-place.ts';
import { type Outlook, type Planned, planPolicies } from './planner.ts';
import { renderFinding } from './render/finding.ts';
import { planDocument } from './render/plan-document.ts';
import { renderPlans } from './render/plan-view.ts';
import { renderYaml } from './render/resource-table.ts';
import { UsageError } from './usage-error.ts';
import { packageVersion } from './version.ts';

interface PlanDependencies {
  readonly open: OpenPlace;
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
}

const defaultTimeoutMs = 10 * 60_000;

/**
 * Resolves to 2 where a manifest is invalid, and to 1 where nothing can be said of a policy. With `--exit-code`, 1 says that there is
 * something to do and nothing else: the other is 2, too.
 */
export async function planCommand(
  files: readonly string[],
  options: PlanOptions,
  context: CommandContext,
  dependencies: PlanDependencies = overTls(context),
): Promise<number> {
  const sources = await readSources(files, context);
  if (!areValid(sources, context)) return exitStatus.usage;
  const place = await dependencies.open(options, context);
  let planned: Planned;
  try {
    planned = await plan(sources, place, options, context, dependencies);
  } finally {
    await place.close();
  }
  show(planned, options, context);
  const { outlooks } = planned;
  const hasProblem = outlooks.some(({ kind }) => kind === 'problem');
  if (!options.exitCode) return hasProblem ? exitStatus.failed : exitStatus.ok;
  if (hasProblem) return exitStatus.usage;
  return outlooks.some(hasChanges) ? exitStatus.failed : exitStatus.ok;
}

function overTls({ env }: CommandContext): PlanDependencies {
  const ports = { clock: systemClock, random: systemRandom };
  const connect = connectOverTls({
    ...ports,
    metrics: noMetrics,
    userAgent: `logfleet/${packageVersion()}`,
    environment: env,
  });
  return { ...ports, connect, open: openPlace };
}

/** Says on stderr what is wrong, as `validate` says it. */
function areValid(sources: readonly SourceFile[], { stderr }: CommandContext): boolean {
  const { findings } = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  stderr.write(findings.map(renderFinding).join(''));
  return !findings.some(({ severity }) => severity === 'error');
}

async function plan(
  sources: readonly SourceFile[],
  place: PlanPlace,
  { assumeUpgrade, timeout = defaultTimeoutMs }: PlanOptions,
  context: CommandContext,
  { connect, clock, random }: PlanDependencies,
): Promise<Planned> {
  const decoded = sources.map(({ name, text }) => decodeManifest(name, text, () => undefined, place.namespace));
  const wanted = decoded.flatMap(({ resources }) => resources);
  if (wanted.length === 0) {
    throw new UsageError(`there is no CollectorVersionPolicy in ${sources.map(({ name }) => name).join(', ')}`);
  }
  const placed = new Map((await place.policies()).map((policy) => [nameOf(policy.metadata), policy]));
  const policies = new Map(placed);
  for (const one of wanted) policies.set(nameOf(one.key), asPolicy(one, placed.get(nameOf(one.key)), clock, random));
  const host = new PlanHost({
    policies: [...policies.values()],
    ledgers: place.ledgers,
    secrets: await secretsOf(decoded, place, context),
    settings: settingsOf(decoded, place),
  });
  return planPolicies({
    host,
    connect,
    clock,
    random,
    wanted: wanted.map(({ key }) => key),
    upgradeMs: assumeUpgrade,
    timeoutMs: timeout,
    signal: context.signal,
  });
}

/** The manifest as it would stand there: with the identity, the status, and what people asked of the one that it replaces. */
function asPolicy(
  { kind, key, spec, annotations }: DecodedResource,
  placed: CollectorVersionPolicy | undefined,
  clock: Clock,
  random: Random,
): CollectorVersionPolicy {
  const apiVersion = 'logfleet.dev/v1alpha1';
  if (placed) {
    const { metadata } = placed;
    return { ...placed, spec, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
  }
  const creationTimestamp = new Date(clock.now()).toISOString();
  const identity = { uid: createUid(random), generation: 1, resourceVersion: '1', creationTimestamp };
  return { apiVersion, kind, spec, metadata: { ...key, ...identity, annotations } };
}

/** Those among the manifests go before those that stand there already. */
async function secretsOf(
  decoded: readonly DecodedFile[],
  place: PlanPlace,
  context: CommandContext,
): Promise<SecretReader> {
  const given = new Map<string, DecodedSecret>();
  for (const { secrets } of decoded) for (const secret of secrets) given.set(nameOf(secret.key), secret);
  const variables = place.takesVariables ? await secretFromVariables(context) : undefined;
  const absent = new Set<string>();
  return {
    get: async (key): Promise<ReadonlyMap<string, SecretText> | undefined> => {
      const members = given.get(nameOf(key))?.members ?? (await place.secrets.get(key));
      if (members) return members;
      absent.add(nameOf(key));
      return variables;
    },
    takesVariables: (key) => place.takesVariables && absent.has(nameOf(key)),
  };
}

function settingsOf(decoded: readonly DecodedFile[], place: PlanPlace): OperatorSettings {
  const isPausing = decoded.some(({ settings }) => settings.some(({ paused }) => readPause(paused) !== undefined));
  return isPausing ? { paused: true, pausedBy: `the ConfigMap ${settingsName} among the manifests` } : place.settings();
}

function show({ outlooks, others }: Planned, { output }: PlanOptions, { stdout, stderr }: CommandContext): void {
  for (const { policy, message } of others) {
    stderr.write(`warning: policy ${nameOf(policy.metadata)} is left out of account: ${message}\n`);
  }
  if (output === 'json') stdout.write(`${JSON.stringify(planDocument(outlooks), undefined, 2)}\n`);
  else if (output === 'yaml') stdout.write(renderYaml(planDocument(outlooks)));
  else {
    const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
    const known = outlooks.filter((outlook) => outlook.kind !== 'problem');
    const lines = renderPlans(known, { width, colour: stdout.colour, wide: output === 'wide' });
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
  for (const outlook of outlooks) {
    if (outlook.kind === 'problem')
      stderr.write(`${nameOf(outlook.policy.metadata)}: ${outlook.reason}: ${outlook.message}\n`);
  }
}

/** Whether collectors are to be upgraded, whatever it is that they wait for. */
function hasChanges(outlook: Outlook): boolean {
  return outlook.kind === 'plan' && countUpgrades(outlook.plan) > 0;
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}
