/** Finds the resources that are named on the command line, in a directory or in a cluster. */
import { type AnyResource, type KindName, kindNames, kinds, referenceOf } from '../../api/kinds.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { CommandContext } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import type { TargetOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { renderTargetFlags } from '../render/next-steps.ts';
import { renderTable } from '../render/table.ts';
import { renderMinute } from '../render/text.ts';
import type { ResourceReader, RetainedResource } from './resource-reader.ts';

export type OpenResources = (
  options: TargetOptions,
  context: CommandContext,
  instead?: string,
) => Promise<ResourceReader>;

/**
 * Opens the directory given with `--dir`, and reports errors in its manifests. Without `--dir`, connects to the cluster
 * of the kubeconfig.
 * @param instead advice for users without a cluster
 */
export const openResources: OpenResources = async (options, context, instead) => {
  const reader = await openReader(options, context, instead);
  reader.warnOfErrors?.();
  return reader;
};

/** Opens a directory or a cluster, for commands that follow the resources. `follow` reports errors in manifests. */
export const openReader: OpenResources = async (options, context, instead) => {
  if (options.dir !== undefined) {
    const { openDirectory } = await import('./directory-access.ts');
    return openDirectory(options.dir, context);
  }
  const { openCluster } = await import('./cluster-access.ts');
  return openCluster(options, context, instead);
};

/** Returns the kind that a word names, such as `cvp` or `collectorversionpolicies`. */
export function kindNamed(text: string): KindName {
  const wanted = text.toLowerCase().replace(/\.logfleet\.dev$/, '');
  const found = kindNames.find((kind) =>
    [kind.toLowerCase(), kinds[kind].plural, kinds[kind].shortName].includes(wanted),
  );
  if (found) return found;
  const choices = kindNames.map((kind) => `${kinds[kind].shortName} (${kind})`).join(' or ');
  throw new UsageError(`unknown kind '${text}'; write ${choices}`);
}

/** Parses a reference `KIND/NAME`. */
export function parseReference(text: string): { readonly kind: KindName; readonly name: string } {
  const [kind = '', name = '', ...more] = text.split('/');
  if (kind === '' || name === '' || more.length > 0) {
    throw new UsageError(`'${text}' is not a resource; write KIND/NAME, such as cvp/production`);
  }
  return { kind: kindNamed(kind), name };
}

/**
 * Returns the named resource. Throws the error `cli.notFound` if it does not exist, and a `UsageError` if several
 * namespaces contain a resource with this name.
 */
export async function findResource(
  reader: ResourceReader,
  kind: KindName,
  name: string,
  options: TargetOptions,
): Promise<AnyResource> {
  const namespace = options.namespace ?? reader.defaultNamespace;
  const found =
    namespace === undefined
      ? (await reader.list(kind, undefined)).filter(({ metadata }) => metadata.name === name)
      : [await reader.get(kind, { namespace, name })].filter((resource) => resource !== undefined);
  const [resource, ...others] = found;
  if (!resource) throw notFound(reader, kind, name, namespace, options);
  if (others.length > 0) {
    const namespaces = found.map(({ metadata }) => metadata.namespace).join(' and ');
    throw new UsageError(`${name} is in the namespaces ${namespaces}; select one of them with -n NAMESPACE`);
  }
  return resource;
}

function notFound(
  reader: ResourceReader,
  kind: KindName,
  name: string,
  namespace: string | undefined,
  { namespace: _, ...elsewhere }: TargetOptions,
): LogfleetError {
  const short = kinds[kind].shortName;
  const [retained] = retainedIn(reader, [kind], namespace).filter(({ key }) => key.name === name);
  if (retained) {
    const message = retainedText(retained, elsewhere);
    return failure('wait', 'cli.notFound', message);
  }
  const place = namespace === undefined ? reader.place : `namespace ${namespace} of ${reader.place}`;
  const message = `${short}/${name} does not exist in ${place}. To list the resources of this kind: ${invocation('get')} ${short} -A${renderTargetFlags(elsewhere)}`;
  return failure('wait', 'cli.notFound', message);
}

/** Returns the retained resources (manifest deleted, state kept). An undefined namespace means all namespaces. */
export function retainedIn(
  reader: ResourceReader,
  wanted: readonly KindName[],
  namespace: string | undefined,
): readonly RetainedResource[] {
  const all = reader.retained?.() ?? [];
  return all.filter(
    ({ kind, key }) => wanted.includes(kind) && (namespace === undefined || key.namespace === namespace),
  );
}

export function renderRetained(
  retained: readonly RetainedResource[],
  { namespace: _, ...place }: TargetOptions,
): readonly string[] {
  if (retained.length === 0) return [];
  const rows = retained.map(({ kind, key, file, sinceMs, untilMs }) => [
    key.namespace,
    referenceOf(kind, key),
    file,
    renderMinute(sinceMs),
    renderMinute(untilMs),
  ]);
  return [
    'Retained resources: the manifest is missing, but the state is kept',
    ...renderTable(['Namespace', 'Resource', 'Manifest', 'Missing since', 'Kept until'], rows),
    `To continue, restore the manifest. To discard the state: ${invocation('forget KIND/NAME -n NAMESPACE')}${renderTargetFlags(place)}`,
  ];
}

/** Returns a sentence about a retained resource: its manifest was deleted, but its state is kept. */
function retainedText(retained: RetainedResource, options: TargetOptions): string {
  const { key, file, sinceMs, untilMs } = retained;
  const reference = referenceOf(retained.kind, key);
  const flags = renderTargetFlags({ ...options, namespace: key.namespace });
  const forget = `${invocation('forget')} ${reference}${flags}`;
  const [since, until] = [renderMinute(sinceMs), renderMinute(untilMs)];
  return [
    `the manifest of ${reference} in namespace ${key.namespace} has been missing since ${since}. It was in ${file}.`,
    `The state of the resource is kept until ${until}. To continue, restore the manifest. To discard the state: ${forget}`,
  ].join(' ');
}
