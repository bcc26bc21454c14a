/**
 * Requests that users make with logfleet commands for a manifest directory. Commands do not change the manifests
 * themselves, because manifests belong in Git.
 *
 * - A request for one resource contains an annotation that overrides the one in its manifest:
 *   `{"kind":…,"namespace":…,"name":…,"annotations":{"logfleet.dev/paused":"true"},"writers":{"logfleet.dev/paused":{"by":…,"time":…}}}`.
 *   `null` removes the annotation. `writers` is optional. Files of older versions contain several annotations.
 * - A request with `"forget":true` instead of annotations discards the state of a resource whose manifest has been
 *   deleted, or deletes a resource that the operator created.
 * - A request for the whole operator has this form: `{"paused":true,"by":…,"time":…}`.
 *
 * Commands write these request files without holding a lock. That is safe, because each annotation has its own file,
 * and each write replaces a whole file without reading it. The files are readable for all users, because the command
 * and the operator may run as different users.
 */
import { basename, join } from 'node:path';
import { jsonReader, objectOf, resourceName, textShape } from '../../api/json-shape.ts';
import { type AnnotationWriter, type AnnotationWriters, type KindName, kindNames } from '../../api/kinds.ts';
import { identify } from '../../base/key-text.ts';
import { isoText } from '../../base/time-text.ts';
import type { ResourceKey } from '../host.ts';
import { listFolder, makeState, readIfPresent, removeDurably, writeDurably } from './durable-file.ts';
import { StateDirectory } from './state-directory.ts';

/** Annotations that a user's request sets. The value `null` removes an annotation. */
type RequestedAnnotations = Readonly<Record<string, string | null>>;

export interface UserRequest extends ResourceKey {
  readonly kind: KindName;
  readonly annotations: RequestedAnnotations;
  /** Author and time of each annotation in the request, if known. */
  readonly writers: AnnotationWriters;
  /**
   * True if the request discards the state of a resource whose manifest has been deleted, or deletes a resource that the
   * operator created.
   */
  readonly forget: boolean;
}

/** A user's request to pause or resume the whole operator. */
export interface SettingsRequest {
  readonly paused: boolean;
  readonly writer: AnnotationWriter;
}

/**
 * Stores a user's request to set annotations on a resource, with one file for each annotation. Cancels an earlier
 * request to discard the resource's state.
 */
export async function writeUserRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  annotations: RequestedAnnotations,
  writer?: AnnotationWriter,
): Promise<void> {
  const state = new StateDirectory(directory);
  const forget = state.requestFile(kind, { namespace, name });
  if (decodeRequest(await readIfPresent(forget))?.forget) await removeDurably(forget);
  for (const [annotation, value] of Object.entries(annotations)) {
    await writeFile(state, state.requestFile(kind, { namespace, name }, annotation), {
      ...{ kind, namespace, name },
      annotations: { [annotation]: value },
      ...(writer && { writers: { [annotation]: renderWriter(writer) } }),
    });
  }
}

/** Replaces the user's requests for a resource with a request to discard its state. */
export async function writeForgetRequest(
  directory: string,
  kind: KindName,
  { namespace, name }: ResourceKey,
  writer: AnnotationWriter,
): Promise<void> {
  const state = new StateDirectory(directory);
  const path = state.requestFile(kind, { namespace, name });
  await removeUserRequests(state, kind, { namespace, name });
  await writeFile(state, path, { ...{ kind, namespace, name }, forget: true, ...renderWriter(writer) });
}

/** Replaces the request to pause or resume the whole operator. */
export async function writeSettingsRequest(
  directory: string,
  paused: boolean,
  writer: AnnotationWriter,
): Promise<void> {
  const state = new StateDirectory(directory);
  await writeFile(state, state.settingsRequestFile, { paused, ...renderWriter(writer) });
}

interface UserRequests {
  readonly requests: readonly UserRequest[];
  /**
   * User's request to pause or resume the whole operator. Undefined if there is no request. An unreadable request
   * counts as a pause.
   */
  readonly settings: SettingsRequest | undefined;
  /** Paths of files that contain no valid request. */
  readonly unreadable: readonly string[];
}

export async function readUserRequests(directory: string): Promise<UserRequests> {
  const { requestFolder, settingsRequestFile } = new StateDirectory(directory);
  const requests = new Map<string, UserRequest>();
  const unreadable: string[] = [];
  let settings: SettingsRequest | undefined;
  for (const file of await listFolder(requestFolder)) {
    const path = join(requestFolder, file);
    const content = await readIfPresent(path);
    if (content === undefined) continue;
    const stored = path === settingsRequestFile ? readSettings(content) : undefined;
    const request = path === settingsRequestFile ? undefined : decodeRequest(content);
    if (path === settingsRequestFile) settings = { paused: stored?.paused ?? true, writer: decodeWriter(stored ?? {}) };
    if (request) {
      const id = identify(request.kind, request);
      requests.set(id, combined(requests.get(id), request));
    } else if (!stored) unreadable.push(path);
  }
  return { requests: [...requests.values()], settings, unreadable };
}

/**
 * Combines two requests for the same resource. Annotations of the second request replace those of the first one. A
 * request to discard the resource's state also discards the annotations.
 */
function combined(first: UserRequest | undefined, second: UserRequest): UserRequest {
  if (!first || second.forget) return second;
  if (first.forget) return first;
  const annotations = { ...first.annotations, ...second.annotations };
  return { ...second, annotations, writers: { ...first.writers, ...second.writers } };
}

/** Returns the names of the files in the folder for requests that contain requests for one resource. */
export async function requestFilesOf(state: StateDirectory, kind: KindName, key: ResourceKey): Promise<string[]> {
  const own = basename(state.requestFile(kind, key), '.json');
  const files = await listFolder(state.requestFolder);
  return files.filter((file) => file === `${own}.json` || file.startsWith(`${own}_`));
}

/** Removes all requests for a resource. */
export async function removeUserRequests(state: StateDirectory, kind: KindName, key: ResourceKey): Promise<void> {
  for (const file of await requestFilesOf(state, kind, key)) await removeDurably(join(state.requestFolder, file));
}

/** Writes a request file. A command may write a request before an operator has ever run on the directory. */
async function writeFile(state: StateDirectory, path: string, content: object): Promise<void> {
  await makeState(state);
  await writeDurably(path, `${JSON.stringify(content, undefined, 2)}\n`, 0o644);
}

function renderWriter({ by, atMs }: AnnotationWriter): object {
  return { by, time: atMs === undefined ? undefined : isoText(atMs) };
}

/** Author of an annotation, and the time at which it was set. */
interface StoredWriter {
  readonly by?: unknown;
  readonly time?: unknown;
}

interface StoredRequest extends ResourceKey {
  readonly kind: KindName;
  readonly annotations?: RequestedAnnotations;
  readonly writers?: Readonly<Record<string, StoredWriter>>;
  readonly forget?: boolean;
}

const readSettings = jsonReader<StoredWriter & { readonly paused: boolean }>(objectOf({ paused: { type: 'boolean' } }));
const readRequest = jsonReader<StoredRequest>({
  ...objectOf(
    {
      ...{ kind: { enum: kindNames }, namespace: resourceName, name: resourceName },
      annotations: { type: 'object', additionalProperties: { anyOf: [textShape, { type: 'null' }] } },
      writers: { type: 'object', additionalProperties: { type: 'object' } },
      forget: { const: true },
    },
    ['annotations', 'writers', 'forget'],
  ),
  anyOf: [{ required: ['annotations'] }, { required: ['forget'] }],
});

function decodeRequest(content: string | undefined): UserRequest | undefined {
  const stored = readRequest(content);
  if (!stored) return undefined;
  const { kind, namespace, name, annotations = {}, writers = {}, forget = false } = stored;
  const known = Object.keys(annotations).flatMap((each) => {
    const { by, atMs } = decodeWriter(writers[each] ?? {});
    return by === undefined && atMs === undefined ? [] : [[each, { by, atMs }] as const];
  });
  return { kind, namespace, name, annotations, writers: Object.fromEntries(known), forget };
}

function decodeWriter({ by, time }: StoredWriter): AnnotationWriter {
  const atMs = Date.parse(String(time));
  return {
    by: typeof by === 'string' ? by.slice(0, maxNameLength) : undefined,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
  };
}

/** Maximum length of a user's name, in characters. In a cluster, field manager names have the same maximum. */
const maxNameLength = 128;
