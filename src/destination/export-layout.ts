/**
 * Names of an export's objects (E1). A bucket stores them below `<prefix>/<namespace>/`, a volume below
 * `<namespace>/<path>/`. So an export cannot write to the folder of another namespace.
 *
 * ```text
 * <name>/<fingerprint>/plan.json                                  first segments (E2)
 * <name>/<fingerprint>/commits/000003-20261102T000000000Z.json    commit record of an interval (E3)
 * <name>/<fingerprint>/data/000003-20261102T000000000Z-001-w….gz  rows; only files in commit records count
 * <name>/<fingerprint>/data/dt=2026-11-01/hour=13/…               rows of one partition, if configured
 * <name>/<fingerprint>/proofs/000001.json                         result of a digest (E6)
 * <name>/<fingerprint>/manifest.json                              written once, at the end
 * ```
 */
import { assert } from '../base/assert.ts';
import { isoText } from '../base/time-text.ts';
import type { ExportOutput } from './fingerprint.ts';
import { folderSegments } from './store/object-name.ts';

/**
 * Returns the root folder for a namespace's exports with this path in a volume. Throws the error `destination.name` if
 * the namespace or the path is invalid.
 */
export function volumeRoot(namespace: string, path: string): string {
  return joined(namespace, trimmed(path));
}

/** Returns the root folder of a namespace's exports in a bucket. */
export function bucketRoot(prefix: string, namespace: string): string {
  return joined(trimmed(prefix), namespace);
}

function trimmed(folder: string): string {
  return folder.replace(/\/$/, '');
}

function joined(...folders: readonly string[]): string {
  return folders.flatMap(folderSegments).join('/');
}

export const manifestFile = 'manifest.json';
export const planFile = 'plan.json';

const intervalForm = String.raw`\d{6,}-[-+]?\d+T\d{9}Z`;
const commitForm = new RegExp(String.raw`^${intervalForm}\.json$`);
/**
 * Matches the names (without the folder) of data files and probe files. A probe file tests whether the destination is
 * writable.
 */
const dataForm = new RegExp(
  String.raw`^(?:${intervalForm}-\d{3,}|probe)-w[0-9a-f]{8}-[0-9a-z-]*-[0-9a-f]{16}(?:\.[a-z]+){0,2}$`,
);

export class ExportLayout {
  /** Folder of the export. Empty if the manifest is at the root. */
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

  /** Returns the name of a commit record. All processes use the same name for the same interval (E3). */
  commit(segment: number, toMs: number): string {
    return `${this.commits}/${key(segment, toMs)}.json`;
  }

  /** Returns the name of a file that is written to test whether the destination is writable. */
  probe(writerToken: string): string {
    return `${this.data}/probe-${writerToken}`;
  }

  get proofs(): string {
    return this.within('proofs');
  }

  /** Returns the name of the object that stores the result of a digest. */
  verdict(round: number): string {
    return `${this.proofs}/${String(round).padStart(6, '0')}.json`;
  }

  isCommit(name: string): boolean {
    return name.startsWith(`${this.commits}/`) && commitForm.test(name.slice(this.commits.length + 1));
  }

  /** Converts a name relative to the export's folder into a name relative to the destination's root. */
  within(name: string): string {
    return this.folder === '' ? name : `${this.folder}/${name}`;
  }

  /** Converts a name relative to the destination's root into a name relative to the export's folder. */
  relative(name: string): string {
    assert(this.folder === '' || name.startsWith(`${this.folder}/`), `${name} is not in ${this.folder}`);
    return this.folder === '' ? name : name.slice(this.folder.length + 1);
  }
}

/**
 * Returns the name of a data file. `part` is the number of the file within its interval, starting at 1. `writerToken`
 * makes the name unique.
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

/**
 * Returns true if the name of a file in `data/` has the form that logfleet uses. Users may keep other files in this
 * folder.
 */
export function isOwnDataFile(name: string): boolean {
  return dataForm.test(name.slice(name.lastIndexOf('/') + 1));
}

/** Returns the folder for the day or hour of a data file. Returns '' if files are not partitioned. */
export function partitionOf(name: string): string {
  return name.split('/').slice(1, -1).join('/');
}

/**
 * Returns the file extension of a data file, such as `.csv.gz`. Parquet files always have the extension `.parquet`,
 * because compression is part of their format.
 */
function extension({ format, compression }: Pick<ExportOutput, 'format' | 'compression'>): string {
  if (format === 'Parquet') return '.parquet';
  const suffix = { None: '', Gzip: '.gz', Zstd: '.zst' }[compression];
  return `.${format.toLowerCase()}${suffix}`;
}

function key(segment: number, toMs: number): string {
  const moment = isoText(toMs).replace(/[-:.]/g, '');
  return `${String(segment).padStart(6, '0')}-${moment}`;
}
