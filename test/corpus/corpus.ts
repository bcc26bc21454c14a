/**
 * The manifests that everything which judges manifests is run on. Each bad one opens with what is expected of it, and a good one with
 * the warnings that there are:
 *
 *   # expect: LINE:COLUMN TEXT         a line of `logfleet validate` begins there and holds the text
 *   # API server says: TEXT            its answer holds the text
 *   # API server: cannot say           it takes the manifest; only `validate` can say what is wrong
 *
 * Without a line about the API server it refuses the manifest, in words that are not looked at.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KindName } from '../../src/api/kinds.ts';

export interface Expectation {
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export interface CorpusManifest {
  /** Of the first resource in it; also where what is wrong is its kind. */
  readonly kind: KindName;
  /** `bad/version-number.yaml` */
  readonly file: string;
  readonly text: string;
  readonly expectations: readonly Expectation[];
  readonly apiServer: { readonly refuses: boolean; readonly says: string };
}

export function readCorpus(folder: 'good' | 'bad'): readonly CorpusManifest[] {
  const directory = join(import.meta.dirname, folder);
  const names = readdirSync(directory).filter((name) => name.endsWith('.yaml'));
  return names
    .sort()
    .map((name) => readManifest(`${folder}/${name}`, readFileSync(join(directory, name), 'utf8'), folder));
}

function readManifest(file: string, text: string, folder: 'good' | 'bad'): CorpusManifest {
  const expectations = [...text.matchAll(/^# expect: (\d+):(\d+) (.+)$/gm)].map(([, line, column, expected = '']) => ({
    line: Number(line),
    column: Number(column),
    text: expected,
  }));
  const refuses = folder === 'bad' && !/^# API server: cannot say$/m.test(text);
  const kind = /^kind: SearchExport$/m.test(text) ? 'SearchExport' : 'CollectorVersionPolicy';
  return {
    kind,
    file,
    text,
    expectations,
    apiServer: { refuses, says: /^# API server says: (.+)$/m.exec(text)?.[1] ?? '' },
  };
}
