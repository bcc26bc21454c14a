/**
 * Where everything of an export lies (E1). In a bucket below `<prefix>/<namespace>/`; in a volume below `<namespace>/<path>/`, so that
 * no path that somebody writes into a manifest leads into another namespace's folder. These are roots of destinations; below:
 *
 *     <name>/<fingerprint>/plan.json                                  the first segments, written once (E2)
 *     <name>/<fingerprint>/commits/000003-20261102T000000000Z.json    one record an interval (E3)
 *     <name>/<fingerprint>/data/000003-20261102T000000000Z-001-w….gz  rows; only records say which files count
 *     <name>/<fingerprint>/proofs/000001.json                         what the digest of a round has shown, written once (E6)
 *     <name>/<fingerprint>/manifest.json                              last, once
 */
import { assert } from '../base/assert.ts';
import type { ExportOutput } from './fingerprint.ts';
import { folderSegments } from './object-name.ts';

/** The root in a volume: `path` is what the manifest names, perhaps nothing. `destination.name` when it is no name. */
export function volumeRoot(namespace: string, path: string): string {
  return joined(namespace, trimmed(path));
}

/** The root in a bucket. */
export function bucketRoot(prefix: string, namespace: string): string {
  return joined(trimmed(prefix), namespace);
}

/** A slash at the end is what people write after folders. */
function trimmed(folder: string): string {
  return folder.replace(/\/$/, '');
}

function joined(...folders: readonly string[]): string {
  return folders.flatMap(folderSegments).join('/');
}

/** Where either lies is an export. */
export const manifestFile = 'manifest.json';
export const planFile = 'plan.json';

const commitForm = /^\d{6,}-[-+]?\d+T\d{9}Z\.json$/;

/** The names of one export's objects, from the root of its destination. */
export class ExportLayout {
  /** Empty where a manifest lies at the root itself. */
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

  /** Keyed by segment and upper bound alone (E3): whoever commits up to there second meets who was first. */
  commit(segment: number, toMs: number): string {
    return `${this.commits}/${key(segment, toMs)}.json`;
  }

  get proofs(): string {
    return this.within('proofs');
  }

  /** Rounds count from 1. */
  verdict(round: number): string {
    return `${this.proofs}/${String(round).padStart(6, '0')}.json`;
  }

  /** Whether it may be the name of a record. */
  isCommit(name: string): boolean {
    return name.startsWith(`${this.commits}/`) && commitForm.test(name.slice(this.commits.length + 1));
  }

  /** From the root, of a name that a record or manifest holds: those are from the export's folder, which may be moved. */
  within(name: string): string {
    return this.folder === '' ? name : `${this.folder}/${name}`;
  }

  /** The reverse of `within`. */
  relative(name: string): string {
    assert(this.folder === '' || name.startsWith(`${this.folder}/`), `${name} is not in ${this.folder}`);
    return this.folder === '' ? name : name.slice(this.folder.length + 1);
  }
}

/** From the export's folder; `part` counts the files of one interval from 1, `writerToken` makes it nobody else's. */
export function dataFileName(
  file: { readonly segment: number; readonly toMs: number; readonly part: number; readonly writerToken: string },
  output: Pick<ExportOutput, 'format' | 'compression'>,
): string {
  const { segment, toMs, part, writerToken } = file;
  return `data/${key(segment, toMs)}-${String(part).padStart(3, '0')}-${writerToken}${extension(output)}`;
}

/** Parquet compresses inside; a reader is to know it by its name all the same. */
function extension({ format, compression }: Pick<ExportOutput, 'format' | 'compression'>): string {
  if (format === 'Parquet') return '.parquet';
  const suffix = { None: '', Gzip: '.gz', Zstd: '.zst' }[compression];
  return `.${format.toLowerCase()}${suffix}`;
}

function key(segment: number, toMs: number): string {
  const moment = new Date(toMs).toISOString().replace(/[-:.]/g, '');
  return `${String(segment).padStart(6, '0')}-${moment}`;
}
