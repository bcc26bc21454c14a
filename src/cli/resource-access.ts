/**
 * Resources as the commands for people see them: `get` reads and follows them, `pause` and its like annotate them. Two adapters
 * stand behind this page, `cluster-access.ts` and `directory-access.ts`; the flags say which.
 *
 * Nothing here takes a lock or a lease: a command works beside a running operator.
 */
import { type KindName, kinds, type ResourceOf } from '../api/kinds.ts';
import { LogfleetError } from '../base/errors.ts';
import type { ResourceKey } from '../host/host.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { targetFlags } from './target-flags.ts';
import { UsageError } from './usage-error.ts';

export type AnyResource = ResourceOf<KindName>;

export interface Annotation {
  readonly name: string;
  /** Undefined takes it away. */
  readonly value: string | undefined;
}

export interface ResourceReader {
  /** Where the resources are, for messages: `context kind-dev`, `./policies`. */
  readonly place: string;
  /** What a name without a namespace means; undefined where it may be in any of them. */
  readonly defaultNamespace: string | undefined;
  /** In the order of namespace and name. `namespace` undefined: all. */
  list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]>;
  /** Undefined when there is none. */
  get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined>;
  /**
   * Calls `onChange` with all resources, first as they are now and then after each change, until the signal is aborted; then
   * resolves. Calls `onTrouble` with each failure after the first list, and with undefined once it works again.
   */
  follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
    onTrouble?: (message: string | undefined) => void,
  ): Promise<void>;
  /** Sets or takes away one annotation of a resource that exists, and touches nothing else of it. */
  annotate(kind: KindName, key: ResourceKey, annotation: Annotation): Promise<void>;
  /** That nobody works on what is there, and what to type; undefined where somebody may. Absent where it cannot be told. */
  idleNote?(): Promise<string | undefined>;
  close(): Promise<void>;
}

export type OpenResources = (options: TargetOptions, context: CommandContext) => Promise<ResourceReader>;

/** The directory of `--dir`, else the cluster that the kubeconfig names. */
export const openResources: OpenResources = async (options, context) => {
  if (options.dir !== undefined) {
    const { openDirectory } = await import('./directory-access.ts');
    return openDirectory(options.dir, context);
  }
  const { openCluster } = await import('./cluster-access.ts');
  return openCluster(options, context);
};

/** The kind that a person means: `cvp`, `collectorversionpolicy`, `collectorversionpolicies` or `CollectorVersionPolicy`. */
export function kindNamed(text: string): KindName {
  const wanted = text.toLowerCase().replace(/\.logfleet\.dev$/, '');
  for (const kind of Object.keys(kinds) as KindName[]) {
    const { plural, shortNames } = kinds[kind];
    if ([kind.toLowerCase(), plural, ...shortNames].includes(wanted)) return kind;
  }
  throw new UsageError(`there is no kind '${text}'; write ${kindChoices()}`);
}

function kindChoices(): string {
  return Object.entries(kinds)
    .map(([kind, { shortNames }]) => `${shortNames[0]} (${kind})`)
    .join(' or ');
}

/** `KIND/NAME`, as kubectl writes it. */
export function parseReference(text: string): { readonly kind: KindName; readonly name: string } {
  const [kind = '', name = '', ...more] = text.split('/');
  if (kind === '' || name === '' || more.length > 0) {
    throw new UsageError(`'${text}' names no resource; write KIND/NAME, as in cvp/production`);
  }
  return { kind: kindNamed(kind), name };
}

/**
 * The one resource of that name, in the namespace that the flags name or mean. Fails with `cli.notFound`, or as wrong usage where
 * several namespaces have one.
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
    throw new UsageError(`${name} is in the namespaces ${namespaces}; say which one with -n NAMESPACE`);
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
  const short = kinds[kind].shortNames[0];
  const where = namespace === undefined ? reader.place : `namespace ${namespace} of ${reader.place}`;
  return new LogfleetError({
    code: 'cli.notFound',
    handling: { kind: 'wait' },
    message: `there is no ${short}/${name} in ${where}; logfleet get ${short} -A${targetFlags(elsewhere)} lists those that there are`,
  });
}

/** The order in which people look for a resource. */
export function byNamespaceAndName(left: AnyResource, right: AnyResource): number {
  return compare(left.metadata.namespace, right.metadata.namespace) || compare(left.metadata.name, right.metadata.name);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
