/**
 * Names of an export's objects (E1). In a bucket they are below `<prefix>/<namespace>/`, in a volume below `<namespace>/<path>/`,
 * so no path in a manifest can lead into another namespace's folder. These are the roots of destinations. Below them:
 *
 * ```text
 * <name>/<fingerprint>/plan.json                                  first segments, written once (E2)
 * <name>/<fingerprint>/commits/000003-20261102T000000000Z.json    record of an interval (E3)
 * <name>/<fingerprint>/data/000003-20261102T000000000Z-001-w….gz  rows; only files in records count
 * <name>/<fingerprint>/data/dt=2026-11-01/hour=13/…               rows of one partition, if the export has partitions
 * <name>/<fingerprint>/proofs/000001.json                         verdict of a digest round, written once (E6)
 * <name>/<fingerprint>/manifest.json                              written once, at the end
 * ```
 */
import { assert } from '../base/assert.ts';
import type { ExportOutput } from './fingerprint.ts';
import { folderSegments } from './object-name.ts';

/**
 * Returns the root folder of an export in a volume: the folder of its namespace, and in it the user's `path`, which may be empty. Throws
 * `destination.name` for an invalid name.
 */
export function volumeRoot(namespace: string, path: string): string {
  return joined(namespace, trimmed(path));
}

/** Root folder of a namespace's exports in a bucket. */
export function bucketRoot(prefix: string, namespace: string): string {
  return joined(trimmed(prefix), namespace);
}

/** Removes the slash that users may write at the end of a folder's name. */
function trimmed(folder: string): string {
  return folder.replace(/\/$/, '');
}

function joined(...folders: readonly string[]): string {
  return folders.flatMap(folderSegments).join('/');
}

/** File names by which logfleet recognizes the folder of an export. */
export const manifestFile = 'manifest.json';
export const planFile = 'plan.json';

const commitForm = /^\d{6,}-[-+]?\d+T\d{9}Z\.json$/;

/** Names of an export's objects, relative to the root of the destination. */
export class ExportLayout {
  /** Folder of the export. Empty if the export's manifest is at the root of the destination. */
  readonly folder: string;

  static of(name: string, fingerprint: string): ExportLayout {
    return new ExportLayout(joined(name, fingerprint));
  }

  constructor(folder: string) {
    this.folder = folder;
  }

  get plan(): string {
    return this.within(planFile);
  }

  get manifest(): string {
    return this.within(manifestFile);
  }

  get commits(): string {
    return this.within('commits');
  }

  get data(): string {
    return this.within('data');
  }

  /**
   * Returns the name of a commit record. A second process that searches the same interval uses the same name, so it finds the record of the
   * first process (E3).
   */
  commit(segment: number, toMs: number): string {
    return `${this.commits}/${key(segment, toMs)}.json`;
  }

  get proofs(): string {
    return this.within('proofs');
  }

  /** Returns the name of the object with a digest's verdict. Verdicts are numbered from 1. */
  verdict(round: number): string {
    return `${this.proofs}/${String(round).padStart(6, '0')}.json`;
  }

  /** Returns whether a name has the form of a commit record's name. */
  isCommit(name: string): boolean {
    return name.startsWith(`${this.commits}/`) && commitForm.test(name.slice(this.commits.length + 1));
  }

  /** Converts a name that is relative to the export's folder to a name that is relative to the destination's root. */
  within(name: string): string {
    return this.folder === '' ? name : `${this.folder}/${name}`;
  }

  /** Converts a name that is relative to the destination's root to a name that is relative to the export's folder. */
  relative(name: string): string {
    assert(this.folder === '' || name.startsWith(`${this.folder}/`), `${name} is not in ${this.folder}`);
    return this.folder === '' ? name : name.slice(this.folder.length + 1);
  }
}

/**
 * Returns the name of a data file, relative to the export's folder. `part` is the file's number in its interval, from 1. `writerToken`
 * makes the name unique. `partition` is the folder for the file's day or hour, or '' without partitions.
 */
export function dataFileName(
  file: {
    readonly segment: number;
    readonly toMs: number;
    readonly part: number;
    readonly writerToken: string;
    readonly partition?: string;
  },
  output: Pick<ExportOutput, 'format' | 'compression'>,
): string {
  const { segment, toMs, part, writerToken, partition = '' } = file;
  const folder = partition === '' ? 'data' : `data/${partition}`;
  return `${folder}/${key(segment, toMs)}-${String(part).padStart(3, '0')}-${writerToken}${extension(output)}`;
}

/** Returns the folder for the day or hour of a data file, relative to the folder `data`. Returns '' for an export without partitions. */
export function partitionOf(name: string): string {
  return name.split('/').slice(1, -1).join('/');
}

/** Extension of a data file. It does not name the compression of Parquet files, because they are compressed inside. */
function extension({ format, compression }: Pick<ExportOutput, 'format' | 'compression'>): string {
  if (format === 'Parquet') return '.parquet';
  const suffix = { None: '', Gzip: '.gz', Zstd: '.zst' }[compression];
  return `.${format.toLowerCase()}${suffix}`;
}

function key(segment: number, toMs: number): string {
  const moment = new Date(toMs).toISOString().replace(/[-:.]/g, '');
  return `${String(segment).padStart(6, '0')}-${moment}`;
}
