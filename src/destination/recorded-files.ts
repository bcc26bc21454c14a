/**
 * Checks that the files listed in commit records exist and have the recorded sizes. `export-verification.ts` checks the
 * contents of the files.
 */
import { hasCode, type LogfleetError } from '../base/errors.ts';
import type { CommitRecord, CommittedFile } from './commit-record.ts';
import type { ExportLayout } from './export-layout.ts';
import type { Destination } from './store/destination.ts';
import { destinationError } from './store/destination-error.ts';

/** Maximum number of files that an error message lists. */
const maxNamed = 5;

/** File sizes by file name. */
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

/** Throws the error `destination.damaged` if a data file is missing or has a different size. */
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
      // Stops after a few damaged files to save time.
      if (broken.length === maxNamed) throw brokenFiles(layout, intervals, broken, manifest);
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
  if (listedBytes !== undefined) return `${name} has ${listedBytes} bytes instead of ${bytes}`;
  return (await exists(destination, name)) ? undefined : `${name} is missing`;
}

/**
 * Reports whether a file exists. Requests the file itself, because new files may not yet appear in the store's
 * listings.
 */
async function exists(destination: Destination, name: string): Promise<boolean> {
  try {
    for await (const _ of destination.stream(name)) break;
    return true;
  } catch (error) {
    if (hasCode(error, 'destination.absent')) return false;
    throw error;
  }
}

function brokenFiles(
  layout: ExportLayout,
  intervals: readonly CommitRecord[],
  broken: readonly BrokenFile[],
  manifest: string | undefined,
): LogfleetError {
  const others = broken.length === maxNamed ? ', and there may be more' : '';
  const what = `${broken.map(({ problem }) => problem).join('; ')}${others}`;
  const damaged = new Set(broken.map(({ interval }) => interval));
  const anew = searchAgainAdvice(layout, intervals, broken.length === maxNamed ? undefined : damaged, manifest);
  return destinationError(
    'damaged',
    `exported files are missing or have changed: ${what}; restore the files, or ${anew}`,
  );
}

/** Returns advice that tells users which objects to remove so that logfleet exports the damaged files again. */
export function searchAgainAdvice(
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
  return damaged === undefined || names.length > maxNamed
    ? "move the export's folder away to start the export again"
    : `remove ${names.join(', ')} to search the missing intervals again`;
}
