/**
 * Decodes responses about collectors (sections 4.6 to 4.9 of docs/service.md). Unknown fields are ignored, and `null`
 * counts as missing. Ids are decimal strings.
 */
import {
  arrayIn,
  decodeDocument,
  integerId,
  membersAt,
  mismatch,
  opaqueId,
  optionalFlag,
  optionalNumber,
  optionalText,
  text,
} from '../json/json-members.ts';
import type { Build, Collector, TaskStatus, UpgradeTask } from './upgrade-service.ts';

function decodeCollector(value: unknown, path: string, pool: StringPool): Collector {
  const members = membersAt(value, path);
  const shared = (name: string) => {
    const found = optionalText(members, name, path);
    return found === undefined ? undefined : pool.intern(found);
  };
  return {
    id: integerId(members, 'id', path),
    name: optionalText(members, 'name', path) ?? '',
    hostName: optionalText(members, 'hostName', path),
    timeZone: shared('timeZone'),
    ephemeral: optionalFlag(members, 'ephemeral', path),
    sourceSyncMode: shared('sourceSyncMode'),
    collectorType: shared('collectorType'),
    collectorVersion: shared('collectorVersion'),
    osName: shared('osName'),
    osVersion: shared('osVersion'),
    osArch: shared('osArch'),
    lastSeenAliveMs: optionalNumber(members, 'lastSeenAlive', path),
    alive: optionalFlag(members, 'alive', path),
  };
}

/** Decodes a list of collectors (section 4.6 of docs/service.md). */
export function decodeCollectors(body: Uint8Array, pool: StringPool): readonly Collector[] {
  const list = arrayIn(decodeDocument(body), 'collectors');
  return list.map((value, index) => decodeCollector(value, `collectors[${index}]`, pool));
}

/** Decodes the list of builds (section 4.7 of docs/service.md): `{targets: […]}`. */
export function decodeBuilds(body: Uint8Array): readonly Build[] {
  return arrayIn(decodeDocument(body), 'targets').map((value, index) => {
    const path = `targets[${index}]`;
    const members = membersAt(value, path);
    return { version: text(members, 'version', path), latest: optionalFlag(members, 'latest', path) ?? false };
  });
}

const taskStatusByCode: ReadonlyMap<number, TaskStatus> = new Map<number, TaskStatus>([
  [0, 'notStarted'],
  [1, 'pending'],
  [2, 'succeeded'],
  [3, 'failed'],
  [6, 'progressing'],
]);

/**
 * Smallest number that is read as a time in milliseconds. Smaller numbers are read as seconds. Read as seconds, this
 * number would be a time in the year 5138.
 */
const secondsLimit = 100_000_000_000;

function instantMs(timestamp: number | undefined): number | undefined {
  if (timestamp === undefined) return undefined;
  return timestamp < secondsLimit ? timestamp * 1000 : timestamp;
}

/**
 * Decodes the status of an upgrade task (section 4.8 of docs/service.md). The service may send the task's time in
 * seconds or in milliseconds.
 */
export function decodeTask(body: Uint8Array): UpgradeTask {
  const path = 'upgrade';
  const members = membersAt(decodeDocument(body)[path], path);
  const statusCode = members.status;
  if (typeof statusCode !== 'number') throw mismatch(`${path}.status`, 'a number', statusCode);
  const requested = optionalNumber(members, 'requestTime', path) ?? optionalNumber(members, 'requestedTime', path);
  return {
    id: opaqueId(members, 'id', path),
    collectorId: integerId(members, 'collectorId', path),
    toVersion: text(members, 'toVersion', path),
    status: taskStatusByCode.get(statusCode) ?? 'unknown',
    statusCode,
    requestedMs: instantMs(requested),
    message: optionalText(members, 'message', path),
  };
}

/** Decodes the response to the creation of an upgrade task (section 4.9 of docs/service.md): `{id, link}`. */
export function decodeCreatedTask(body: Uint8Array): { readonly taskId: string } {
  return { taskId: opaqueId(decodeDocument(body), 'id', 'the body') };
}

/** Maximum number of strings in the pool, which saves memory by storing equal strings only once. */
const maxEntries = 4096;

export class StringPool {
  readonly #texts = new Map<string, string>();

  intern(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= maxEntries) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
