/**
 * What lies among the files of an export: whether those that records name are there, each with its size, before a manifest says that they
 * are, and before one that stands there is believed; and files that no record names. Contents are for `verify.ts`.
 */
import { LogfleetError } from '../base/errors.ts';
import type { CommitRecord, CommittedFile } from './commit-record.ts';
import type { Destination } from './destination.ts';
import { destinationError } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';

/** So many files are named, and so many objects that could be removed; of more the folder is. */
const mostNamed = 5;

/** All that lies among the files of an export, with its size, by name from the root. */
export type ListedFiles = ReadonlyMap<string, number>;

export async function listFiles(destination: Destination, { data }: ExportLayout): Promise<ListedFiles> {
  const bytesByName = new Map<string, number>();
  for await (const { name, bytes } of destination.list(data)) bytesByName.set(name, bytes);
  return bytesByName;
}

interface BrokenFile {
  readonly interval: CommitRecord;
  readonly problem: string;
}

/** `destination.damaged` where one is missing or of another size; `manifest` where one stands there that names them, too. */
export async function checkFiles(
  destination: Destination,
  layout: ExportLayout,
  intervals: readonly CommitRecord[],
  listed: ListedFiles,
  manifest?: string,
): Promise<void> {
  const broken: BrokenFile[] = [];
  for (const interval of intervals) {
    for (const file of interval.files) {
      const name = layout.within(file.name);
      const problem = await problemOf(destination, name, file, listed.get(name));
      if (problem !== undefined) broken.push({ interval, problem });
      // To look for each of ten thousand in a store takes long, and a person sees from these what has happened.
      if (broken.length === mostNamed) throw brokenFiles(layout, intervals, broken, manifest);
    }
  }
  if (broken.length > 0) throw brokenFiles(layout, intervals, broken, manifest);
}

async function problemOf(
  destination: Destination,
  name: string,
  { bytes }: CommittedFile,
  listedBytes: number | undefined,
): Promise<string | undefined> {
  if (listedBytes === bytes) return undefined;
  if (listedBytes !== undefined) return `${name} has ${listedBytes} bytes, and had ${bytes}`;
  return (await exists(destination, name)) ? undefined : `${name} is missing`;
}

/** Stores may list late what can be read. */
async function exists(destination: Destination, name: string): Promise<boolean> {
  try {
    for await (const _ of destination.stream(name)) break;
    return true;
  } catch (error) {
    if (error instanceof LogfleetError && error.code === 'destination.absent') return false;
    throw error;
  }
}

function brokenFiles(
  layout: ExportLayout,
  intervals: readonly CommitRecord[],
  broken: readonly BrokenFile[],
  manifest: string | undefined,
): LogfleetError {
  const others = broken.length === mostNamed ? ', and there may be more' : '';
  const what = `${broken.map(({ problem }) => problem).join('; ')}${others}`;
  const damaged = new Set(broken.map(({ interval }) => interval));
  const anew = wayToSearchAnew(layout, intervals, broken.length === mostNamed ? undefined : damaged, manifest);
  return destinationError(
    'damaged',
    `records name files that are not as they were written: ${what}; put them back, or ${anew}`,
  );
}

/**
 * What a person removes so that some of the intervals are searched again; `damaged` undefined where nobody knows which. A record is reached
 * by those above it in its segment alone: those below it go with it.
 */
export function wayToSearchAnew(
  layout: ExportLayout,
  intervals: readonly CommitRecord[],
  damaged: ReadonlySet<CommitRecord> | undefined,
  manifest: string | undefined,
): string {
  const highestMs = new Map<number, number>();
  for (const { segment, toMs } of damaged ?? []) highestMs.set(segment, Math.max(toMs, highestMs.get(segment) ?? toMs));
  const records = intervals
    .filter(({ segment, toMs }) => toMs <= (highestMs.get(segment) ?? Number.NEGATIVE_INFINITY))
    .map(({ segment, toMs }) => layout.commit(segment, toMs));
  const names = [...(manifest === undefined ? [] : [manifest]), ...records];
  return damaged === undefined || names.length > mostNamed
    ? 'move the folder of this export away, and it begins anew'
    : `remove ${names.join(', ')}, and what is missing is searched again`;
}
