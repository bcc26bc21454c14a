/** Fake `ResourceReader` that reads policies and exports from memory. */
import type { AnyResource, KindName } from '../../src/api/kinds.ts';
import {
  type Annotation,
  byNamespaceAndName,
  type ResourceReader,
  type RetainedResource,
} from '../../src/cli/resources/resource-reader.ts';
import type { ResourceKey } from '../../src/host/host.ts';

export class MemoryReader implements ResourceReader {
  isDirectory = false;
  readonly place: string = 'the test';
  readonly defaultNamespace: string | undefined;
  readonly annotated: { readonly key: string; readonly annotation: Annotation }[] = [];
  readonly secrets = { get: async () => undefined };
  readonly ledgers = { read: async () => undefined };
  closed = false;
  /** Error that `follow` throws, or undefined if `follow` succeeds. */
  failure: Error | undefined;
  /**
   * Reports the state of the connection to all followers. `message` is the reason why the connection has failed. If
   * `message` is undefined, the connection is working again.
   */
  trouble: (message: string | undefined) => void = () => {};
  idleNote: () => Promise<string | undefined> = async () => undefined;
  retained?: () => readonly RetainedResource[];
  #resources: readonly AnyResource[];
  readonly #followers = new Set<() => void>();

  /**
   * If `everyNamespace` is true, commands search for a resource in all namespaces. Otherwise, they use the namespace
   * `logging`.
   */
  constructor(resources: readonly AnyResource[], { everyNamespace = false } = {}) {
    this.#resources = resources;
    this.defaultNamespace = everyNamespace ? undefined : 'logging';
  }

  replace(resources: readonly AnyResource[]): void {
    this.#resources = resources;
    for (const follower of this.#followers) follower();
  }

  #list(kind: KindName, namespace: string | undefined): readonly AnyResource[] {
    return this.#resources
      .filter((resource) => resource.kind === kind)
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .sort(byNamespaceAndName);
  }

  async list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]> {
    return this.#list(kind, namespace);
  }

  async get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined> {
    return this.#list(kind, key.namespace).find(({ metadata }) => metadata.name === key.name);
  }

  async follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
    onTrouble: (message: string | undefined) => void = () => {},
  ): Promise<void> {
    if (this.failure) throw this.failure;
    this.trouble = onTrouble;
    const follower = () => onChange(this.#list(kind, namespace));
    this.#followers.add(follower);
    follower();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#followers.delete(follower);
  }

  async annotate(_kind: KindName, { namespace, name }: ResourceKey, annotation: Annotation): Promise<void> {
    this.annotated.push({ key: `${namespace}/${name}`, annotation });
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
