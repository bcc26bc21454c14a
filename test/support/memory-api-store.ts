/**
 * Objects of a simulated Kubernetes API server, with a real server's rules for conflicts, generations, lists and
 * finalizers.
 */
import type { KubeResponse } from '../../src/host/kubernetes/kube-api.ts';

export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly [member: string]: unknown;
}

export interface StoreEvent {
  readonly revision: number;
  readonly collection: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

/** Resource or collection named in a request path. */
export interface RequestTarget {
  /** Group, version and plural of the resource, such as `v1/configmaps`. */
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Preconditions of a deletion: the uid and the resource version that the object must have. */
interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface StoreRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

type MutableJson = Record<string, unknown>;

export class MemoryApiStore {
  readonly #collections = new Map<string, Map<string, ApiObject>>();
  readonly #pages = new Map<string, { readonly items: readonly ApiObject[]; readonly revision: number }>();
  #history: StoreEvent[] = [];
  #revision = 1;
  #compacted = 0;
  #uids = 0;
  /** Called for each change to an object, in order. */
  onEvent: (event: StoreEvent) => void = () => undefined;

  get revision(): number {
    return this.#revision;
  }

  /** Deletes all past events. Older watches, and lists that are being read page by page, must then start again. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#history = [];
    this.#pages.clear();
  }

  /** Returns the events after resource version `revision`, or undefined if some of these events have been deleted. */
  since(revision: number, collection: string, namespace: string | undefined): readonly StoreEvent[] | undefined {
    if (revision < this.#compacted) return undefined;
    // Resource versions are consecutive numbers.
    const first = this.#history[0]?.revision ?? revision + 1;
    return this.#history
      .slice(Math.max(0, revision + 1 - first))
      .filter((event) => concerns(event, collection, namespace));
  }

  objects(collection: string): readonly ApiObject[] {
    return [...(this.#collections.get(collection)?.values() ?? [])];
  }

  find(collection: string, namespace: string, name: string): ApiObject | undefined {
    return this.#collections.get(collection)?.get(`${namespace}/${name}`);
  }

  /** Handles a request without copying its body. `nowMs` is the creation time for new objects. */
  handle(request: StoreRequest, nowMs: number): KubeResponse {
    const target = parsePath(request.path);
    if (!target) return refuse(404, 'NotFound', 'the server could not find the requested resource');
    const { name } = target;
    if (request.method === 'GET' && name === undefined) return this.#list(target, request.query ?? {});
    if (request.method === 'POST' && name === undefined) return this.#create(target, objectOf(request.body), nowMs);
    if (name === undefined) return refuse(405, 'MethodNotAllowed', 'the server does not allow this method here');
    const current = this.find(target.collection, target.namespace ?? '', name);
    // Requests with the parameter `force` are server-side applies, which create the object if it does not exist.
    const isApply = request.method === 'PATCH' && request.query?.['force'] === 'true';
    if (!current && isApply) return this.#create({ ...target, name: undefined }, objectOf(request.body), nowMs);
    if (!current) return refuse(404, 'NotFound', `${target.collection} "${name}" not found`);
    switch (request.method) {
      case 'GET':
        return response(200, current);
      case 'PUT':
        return this.#replace(target, current, objectOf(request.body));
      case 'PATCH':
        return this.#replace(target, current, mergePatch(current, objectOf(request.body)) as MutableJson);
      case 'DELETE':
        return this.#deleteIf(target, current, request.body);
      default:
        return refuse(405, 'MethodNotAllowed', 'the server does not allow this method here');
    }
  }

  /** Deletes all objects owned by this owner, as the Kubernetes garbage collector does. */
  collectOwnedBy(uid: string): void {
    for (const [collection, objects] of this.#collections) {
      for (const object of [...objects.values()]) {
        if (!object.metadata.ownerReferences?.some((reference) => reference.uid === uid)) continue;
        this.#delete(
          { collection, namespace: object.metadata.namespace, name: object.metadata.name, subresource: undefined },
          object,
        );
      }
    }
  }

  #list(target: RequestTarget, query: Readonly<Record<string, string>>): KubeResponse {
    const limit = query.limit === undefined ? Number.POSITIVE_INFINITY : Number(query.limit);
    let page: { readonly items: readonly ApiObject[]; readonly revision: number };
    if (query.continue === undefined) {
      const items = this.objects(target.collection)
        .filter(({ metadata }) => target.namespace === undefined || metadata.namespace === target.namespace)
        .filter((object) => isSelected(object, query.labelSelector) && isNamed(object, query.fieldSelector))
        .sort((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1));
      page = { items, revision: this.#revision };
    } else {
      const known = this.#pages.get(query.continue);
      if (!known) return refuse(410, 'Expired', 'The provided continue parameter is too old');
      page = known;
    }
    const metadata: MutableJson = { resourceVersion: String(page.revision) };
    if (page.items.length > limit) {
      const token = `${page.revision}.${sortKey(page.items[limit] as ApiObject)}.${this.#pages.size}`;
      this.#pages.set(token, { items: page.items.slice(limit), revision: page.revision });
      metadata.continue = token;
    }
    return response(200, { kind: 'List', metadata, items: page.items.slice(0, limit) });
  }

  #create(target: RequestTarget, body: MutableJson, nowMs: number): KubeResponse {
    const given = (body.metadata ?? {}) as MutableJson;
    const namespace = target.namespace ?? String(given.namespace ?? '');
    const name = String(given.name ?? '');
    if (name === '') return refuse(422, 'Invalid', 'name is required');
    if (this.find(target.collection, namespace, name)) {
      return refuse(409, 'AlreadyExists', `${target.collection} "${name}" already exists`);
    }
    const { status, ...rest } = body;
    const object = {
      ...rest,
      ...(status !== undefined && !isCustom(target) ? { status } : {}),
      metadata: {
        ...given,
        name,
        namespace,
        uid: `00000000-0000-4000-8000-${(++this.#uids).toString(16).padStart(12, '0')}`,
        creationTimestamp: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
        ...(isCustom(target) ? { generation: 1 } : {}),
      },
    };
    return response(201, this.#store(target.collection, 'ADDED', object));
  }

  #replace(target: RequestTarget, current: ApiObject, body: MutableJson): KubeResponse {
    const given = (body.metadata ?? {}) as MutableJson;
    if (given.uid !== undefined && given.uid !== current.metadata.uid) {
      return refuse(409, 'Conflict', `the UID in the precondition (${given.uid}) is not the one of the object`);
    }
    if (given.resourceVersion === undefined && isCustom(target)) {
      return refuse(422, 'Invalid', 'metadata.resourceVersion: must be specified for an update');
    }
    if (given.resourceVersion !== undefined && given.resourceVersion !== current.metadata.resourceVersion) {
      return refuse(409, 'Conflict', 'the object has been modified; please apply your changes to the latest version');
    }
    const next = target.subresource === 'status' ? withStatus(current, body) : withoutStatus(target, current, body);
    if (isSame(next, current)) return response(200, current);
    const { deletionTimestamp, finalizers = [] } = (next as ApiObject).metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) return this.#delete(target, current);
    return response(200, this.#store(target.collection, 'MODIFIED', next));
  }

  #deleteIf(target: RequestTarget, current: ApiObject, body: unknown): KubeResponse {
    const { preconditions = {} } = (body ?? {}) as { readonly preconditions?: Preconditions };
    const { uid, resourceVersion } = preconditions;
    if (uid !== undefined && uid !== current.metadata.uid) return refuse(409, 'Conflict', 'the object has another UID');
    if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion) {
      return refuse(409, 'Conflict', 'the object has another ResourceVersion');
    }
    const { finalizers = [], deletionTimestamp, creationTimestamp } = current.metadata;
    if (finalizers.length === 0) return this.#delete(target, current);
    if (deletionTimestamp !== undefined) return response(200, current);
    const metadata = { ...current.metadata, deletionTimestamp: creationTimestamp };
    return response(200, this.#store(target.collection, 'MODIFIED', { ...current, metadata }));
  }

  #delete(target: RequestTarget, current: ApiObject): KubeResponse {
    this.#store(target.collection, 'DELETED', current);
    return response(200, { kind: 'Status', status: 'Success' });
  }

  #store(collection: string, type: StoreEvent['type'], object: object): ApiObject {
    const { metadata } = object as ApiObject;
    const { resourceVersion: _, uid, ...rest } = metadata;
    const stored = freeze({
      ...object,
      // The members are in the order in which a real API server writes them.
      metadata: { ...rest, resourceVersion: String(++this.#revision), uid },
    }) as ApiObject;
    const objects = this.#collections.get(collection) ?? new Map<string, ApiObject>();
    this.#collections.set(collection, objects);
    const key = `${metadata.namespace}/${metadata.name}`;
    if (type === 'DELETED') objects.delete(key);
    else objects.set(key, stored);
    const event: StoreEvent = { revision: this.#revision, collection, type, object: stored };
    this.#history.push(event);
    this.onEvent(event);
    return stored;
  }
}

/** Reports whether the event belongs to the collection and, if given, the namespace. */
export function concerns(event: StoreEvent, collection: string, namespace: string | undefined): boolean {
  return event.collection === collection && (namespace === undefined || event.object.metadata.namespace === namespace);
}

/** Cache for parsed request paths. */
const targets = new Map<string, RequestTarget | undefined>();
const maxTargets = 10_000;

export function parsePath(path: string): RequestTarget | undefined {
  const known = targets.get(path);
  if (known) return known;
  if (targets.size >= maxTargets) targets.clear();
  const target = readPath(path);
  targets.set(path, target);
  return target;
}

function readPath(path: string): RequestTarget | undefined {
  const match =
    /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path);
  if (!match) return undefined;
  const [, group, version, namespace, plural, name, subresource] = match;
  return {
    collection: [group, version, plural].filter((part) => part !== undefined).join('/'),
    namespace: namespace === undefined ? undefined : decodeURIComponent(namespace),
    name: name === undefined ? undefined : decodeURIComponent(name),
    subresource,
  };
}

/** Returns an error response with a Status object, as a real API server does. */
export function refuse(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): KubeResponse {
  return { status: code, headers, body: statusOf(code, reason, message) };
}

export function statusOf(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code };
}

function response(status: number, body: unknown): KubeResponse {
  return { status, headers: {}, body };
}

/** Reports whether the objects are custom resources, which have a status subresource and a generation. */
function isCustom(target: RequestTarget): boolean {
  return target.collection.startsWith('logfleet.dev/');
}

function withStatus(current: ApiObject, body: MutableJson): object {
  const { status: _former, ...rest } = current;
  return body.status === undefined ? rest : { ...rest, status: body.status };
}

function withoutStatus(target: RequestTarget, current: ApiObject, body: MutableJson): object {
  const { name, namespace, uid, resourceVersion, creationTimestamp, generation } = current.metadata;
  const { status: _ignored, ...rest } = body;
  const custom = isCustom(target);
  const raised = custom && !isSame(rest.spec, current.spec);
  return {
    ...rest,
    ...(custom && current.status !== undefined ? { status: current.status } : {}),
    metadata: {
      ...(body.metadata as MutableJson),
      ...{ name, namespace, uid, resourceVersion, creationTimestamp },
      ...(generation === undefined ? {} : { generation: raised ? generation + 1 : generation }),
    },
  };
}

function isSelected(object: ApiObject, selector: string | undefined): boolean {
  if (selector === undefined) return true;
  return selector.split(',').every((term) => {
    const [label = '', value] = term.split('=');
    const found = object.metadata.labels?.[label];
    return value === undefined ? found !== undefined : found === value;
  });
}

/** Reports whether the object matches the field selector. Only `metadata.name=NAME` is supported. */
export function isNamed({ metadata }: ApiObject, selector: string | undefined): boolean {
  return selector === undefined || selector === `metadata.name=${metadata.name}`;
}

function sortKey({ metadata }: ApiObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Copies a value as JSON. */
export function copyOf(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function objectOf(body: unknown): MutableJson {
  return (body ?? {}) as MutableJson;
}

/** Reports whether two JSON values are equal, regardless of the order of members. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  const [names, others] = [Object.keys(left), Object.keys(right)];
  if (Array.isArray(left) !== Array.isArray(right) || names.length !== others.length) return false;
  return names.every(
    (name) => Object.hasOwn(right, name) && isSame((left as MutableJson)[name], (right as MutableJson)[name]),
  );
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: MutableJson =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freeze(member);
  }
  return value;
}
