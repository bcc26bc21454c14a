/**
 * What a person asks of a resource in a directory: annotations that lie over those of its manifest, so that the manifest, which Git
 * owns, stays untouched. One file a resource: `{"kind":…,"namespace":…,"name":…,"annotations":{"logfleet.dev/paused":"true"}}`;
 * `null` takes an annotation of the manifest away.
 *
 * Commands write these files while an operator runs, without its lock: each write replaces a whole file.
 */
import { join } from 'node:path';
import { type KindName, kinds } from '../../api/kinds.ts';
import type { ResourceKey } from '../host.ts';
import { listFolder, readIfPresent, writeDurably } from './durable-file.ts';
import { isRecord } from './plain-data.ts';
import { isResourceName, StateDirectory } from './state-directory.ts';

/** Annotations to set, or with `null` to take away. */
export type RequestedAnnotations = Readonly<Record<string, string | null>>;

export interface Request extends ResourceKey {
  readonly kind: KindName;
  readonly annotations: RequestedAnnotations;
}

/** Adds to what was asked of a resource before. `directory` is the one of the manifests. */
export async function writeRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  annotations: RequestedAnnotations,
): Promise<void> {
  const path = new StateDirectory(directory).requestFile(kind, { namespace, name });
  const before = decodeRequest(await readIfPresent(path));
  const request: Request = { kind, namespace, name, annotations: { ...before?.annotations, ...annotations } };
  await writeDurably(path, `${JSON.stringify(request, undefined, 2)}\n`);
}

export interface Requests {
  readonly requests: readonly Request[];
  /** Files that hold no request. */
  readonly unreadable: readonly string[];
}

/** All that was asked in a directory of manifests. */
export async function readRequests(directory: string): Promise<Requests> {
  const { requestFolder } = new StateDirectory(directory);
  const requests: Request[] = [];
  const unreadable: string[] = [];
  for (const file of await listFolder(requestFolder)) {
    const path = join(requestFolder, file);
    const text = await readIfPresent(path);
    const request = decodeRequest(text);
    if (request) requests.push(request);
    else if (text !== undefined) unreadable.push(path);
  }
  return { requests, unreadable };
}

function decodeRequest(text: string | undefined): Request | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || !isRecord(value.annotations)) return undefined;
  const { kind, namespace, name } = value;
  if (typeof kind !== 'string' || typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  if (!Object.hasOwn(kinds, kind) || !isResourceName(namespace) || !isResourceName(name)) return undefined;
  const annotations = Object.entries(value.annotations).filter(
    (entry): entry is [string, string | null] => typeof entry[1] === 'string' || entry[1] === null,
  );
  return { kind: kind as KindName, namespace, name, annotations: Object.fromEntries(annotations) };
}
