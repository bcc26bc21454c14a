/**
 * What a person asks in a directory, beside the manifests, which Git owns and which stay untouched. Of a resource: annotations that
 * lie over those of its manifest, with who asked for each and when. One file a resource:
 * `{"kind":…,"namespace":…,"name":…,"annotations":{"logfleet.dev/paused":"true"},"writers":{"logfleet.dev/paused":{"by":…,"time":…}}}`;
 * `null` takes an annotation of the manifest away, and `writers` may be left out. With `"forget":true` in place of annotations, the
 * parked state of a resource without a manifest is discarded. Of the operator as a whole: one file,
 * `{"paused":true,"by":…,"time":…}`.
 *
 * Commands write these files while an operator runs, without its lock: each write replaces a whole file.
 */
import { join } from 'node:path';
import type { AnnotationWriter, AnnotationWriters } from '../../api/annotation-writers.ts';
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
  /** By annotation, also of those taken away. Empty where the file says nothing of it. */
  readonly writers: AnnotationWriters;
  /** Whether what is parked of the resource is to be discarded. */
  readonly forget: boolean;
}

/** What was asked of the operator as a whole. */
export interface SettingsRequest {
  readonly paused: boolean;
  readonly writer: AnnotationWriter;
}

/** Adds to what was asked of a resource before. `directory` is the one of the manifests. */
export async function writeRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  annotations: RequestedAnnotations,
  writer?: AnnotationWriter,
): Promise<void> {
  const path = new StateDirectory(directory).requestFile(kind, { namespace, name });
  const before = decodeRequest(parse(await readIfPresent(path)));
  const names = Object.keys(annotations);
  const writers = { ...before?.writers, ...Object.fromEntries(names.map((each) => [each, writer])) };
  const known = Object.entries(writers).flatMap(([each, one]) => (one ? [[each, renderWriter(one)] as const] : []));
  await writeFile(path, {
    ...{ kind, namespace, name },
    annotations: { ...before?.annotations, ...annotations },
    ...(known.length > 0 && { writers: Object.fromEntries(known) }),
  });
}

/** Takes the place of what was asked of a resource before: its parked state is to be discarded. */
export async function writeForgetRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  writer: AnnotationWriter,
): Promise<void> {
  const path = new StateDirectory(directory).requestFile(kind, { namespace, name });
  await writeFile(path, { ...{ kind, namespace, name }, forget: true, ...renderWriter(writer) });
}

/** Takes the place of what was asked of the operator before. */
export async function writeSettingsRequest(
  directory: string,
  paused: boolean,
  writer: AnnotationWriter,
): Promise<void> {
  await writeFile(new StateDirectory(directory).settingsRequestFile, { paused, ...renderWriter(writer) });
}

export interface Requests {
  readonly requests: readonly Request[];
  /** Undefined where nobody asked. One that cannot be read pauses: so does whatever is odd about a switch that stops everything. */
  readonly settings: SettingsRequest | undefined;
  /** Files that hold no request. */
  readonly unreadable: readonly string[];
}

/** All that was asked in a directory of manifests. */
export async function readRequests(directory: string): Promise<Requests> {
  const { requestFolder, settingsRequestFile } = new StateDirectory(directory);
  const requests: Request[] = [];
  const unreadable: string[] = [];
  let settings: SettingsRequest | undefined;
  for (const file of await listFolder(requestFolder)) {
    const path = join(requestFolder, file);
    const text = await readIfPresent(path);
    if (text === undefined) continue;
    const value = parse(text);
    if (path === settingsRequestFile) {
      settings = decodeSettings(value);
      if (!isSettings(value)) unreadable.push(path);
      continue;
    }
    const request = decodeRequest(value);
    if (request) requests.push(request);
    else unreadable.push(path);
  }
  return { requests, settings, unreadable };
}

function writeFile(path: string, content: object): Promise<void> {
  return writeDurably(path, `${JSON.stringify(content, undefined, 2)}\n`);
}

function renderWriter({ by, atMs }: AnnotationWriter): object {
  return { by, time: atMs === undefined ? undefined : new Date(atMs).toISOString() };
}

/** Undefined where it is no JSON. */
function parse(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decodeRequest(value: unknown): Request | undefined {
  if (!isRecord(value) || (!isRecord(value.annotations) && value.forget !== true)) return undefined;
  const { kind, namespace, name } = value;
  if (typeof kind !== 'string' || typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  if (!Object.hasOwn(kinds, kind) || !isResourceName(namespace) || !isResourceName(name)) return undefined;
  const asked = isRecord(value.annotations) ? value.annotations : {};
  const annotations = Object.entries(asked).filter(
    (entry): entry is [string, string | null] => typeof entry[1] === 'string' || entry[1] === null,
  );
  const said = isRecord(value.writers) ? value.writers : {};
  const writers = annotations.flatMap(([each]) => {
    const writer = decodeWriter(said[each]);
    return writer ? [[each, writer] as const] : [];
  });
  return {
    kind: kind as KindName,
    namespace,
    name,
    annotations: Object.fromEntries(annotations),
    writers: Object.fromEntries(writers),
    forget: value.forget === true,
  };
}

function isSettings(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && typeof value.paused === 'boolean';
}

function decodeSettings(value: unknown): SettingsRequest {
  const writer = decodeWriter(value) ?? { by: undefined, atMs: undefined };
  return { paused: !isSettings(value) || value.paused === true, writer };
}

/** Undefined where nothing is said. */
function decodeWriter(value: unknown): AnnotationWriter | undefined {
  if (!isRecord(value)) return undefined;
  const by = typeof value.by === 'string' ? value.by.slice(0, maxNameLength) : undefined;
  const atMs = typeof value.time === 'string' ? Date.parse(value.time) : Number.NaN;
  return by === undefined && Number.isNaN(atMs) ? undefined : { by, atMs: Number.isNaN(atMs) ? undefined : atMs };
}

/** The limit of a field manager, which stands in its place in a cluster. */
const maxNameLength = 128;
