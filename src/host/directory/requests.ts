/**
 * Requests of users in a directory. They are kept beside the manifests, which belong to Git and stay untouched.
 *
 * - Per resource: annotations that override those of its manifest, with author and time, one file per resource:
 *   `{"kind":…,"namespace":…,"name":…,"annotations":{"logfleet.dev/paused":"true"},"writers":{"logfleet.dev/paused":{"by":…,"time":…}}}`.
 *   `null` removes an annotation of the manifest. `writers` is optional.
 * - With `"forget":true` in place of annotations, the parked state of a resource without a manifest is discarded.
 * - For the operator as a whole: one file, `{"paused":true,"by":…,"time":…}`.
 *
 * Commands write these files without the operator's lock while an operator runs. Each write replaces a whole file.
 */
import { join } from 'node:path';
import type { AnnotationWriter, AnnotationWriters } from '../../api/kinds.ts';
import { type KindName, kinds } from '../../api/kinds.ts';
import { isRecord } from '../../base/record.ts';
import type { ResourceKey } from '../host.ts';
import { listFolder, readIfPresent, writeDurably } from './durable-file.ts';
import { isResourceName, StateDirectory } from './state-directory.ts';

/** Annotations to set, or to remove (`null`). */
type RequestedAnnotations = Readonly<Record<string, string | null>>;

export interface Request extends ResourceKey {
  readonly kind: KindName;
  readonly annotations: RequestedAnnotations;
  /** Author and time by annotation, also of removed annotations. Empty if the file names no authors. */
  readonly writers: AnnotationWriters;
  /** True to discard the parked state of the resource. */
  readonly forget: boolean;
}

/** A request for the operator as a whole. */
export interface SettingsRequest {
  readonly paused: boolean;
  readonly writer: AnnotationWriter;
}

/** Adds annotations to the request of a resource. `directory` is the directory of manifests. */
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

/** Replaces the request of a resource: its parked state is to be discarded. */
export async function writeForgetRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  writer: AnnotationWriter,
): Promise<void> {
  const path = new StateDirectory(directory).requestFile(kind, { namespace, name });
  await writeFile(path, { ...{ kind, namespace, name }, forget: true, ...renderWriter(writer) });
}

/** Replaces the request for the operator as a whole. */
export async function writeSettingsRequest(
  directory: string,
  paused: boolean,
  writer: AnnotationWriter,
): Promise<void> {
  await writeFile(new StateDirectory(directory).settingsRequestFile, { paused, ...renderWriter(writer) });
}

interface Requests {
  readonly requests: readonly Request[];
  /**
   * Request for the operator as a whole, or undefined without a file. A file that cannot be decoded pauses, because it may contain a pause.
   */
  readonly settings: SettingsRequest | undefined;
  /** Files without a valid request. */
  readonly unreadable: readonly string[];
}

/** Reads all requests of a manifest directory. */
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

/** Parses JSON. Undefined if the text is not JSON. */
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

/** Decodes author and time. Undefined if the value contains neither. */
function decodeWriter(value: unknown): AnnotationWriter | undefined {
  if (!isRecord(value)) return undefined;
  const by = typeof value.by === 'string' ? value.by.slice(0, maxNameLength) : undefined;
  const atMs = typeof value.time === 'string' ? Date.parse(value.time) : Number.NaN;
  return by === undefined && Number.isNaN(atMs) ? undefined : { by, atMs: Number.isNaN(atMs) ? undefined : atMs };
}

/** Maximum length of an author's name, equal to the limit of a field manager in a cluster. */
const maxNameLength = 128;
