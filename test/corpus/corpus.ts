/**
 * Test manifests for `logfleet validate` and for the CRDs of an API server.
 *
 * `bad-policies.yaml` and `bad-exports.yaml` are tables of bad manifests. A row has the name of its case and these
 * members:
 *
 *   spec     lines of the spec, added to a good manifest or replacing its lines; ▸ marks the place of a finding
 *   omit     lines of the good manifest that are missing
 *   says     text in the line that `logfleet validate` prints for this place; a list for several places
 *   server   text in the refusal of the API server
 *   accepts  true if the API server accepts the manifest, so that only `validate` finds the mistake
 *
 * The folders `good` and `bad` have the manifests that do not fit into a table. Each manifest begins with its expected
 * findings:
 *
 *   # expect: LINE:COLUMN TEXT         `logfleet validate` prints a line with this text for this place
 *   # API server says: TEXT            text in the refusal of the API server
 *   # API server: cannot say           the API server accepts the manifest
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KindName } from '../../src/api/kinds.ts';

export interface Expectation {
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export interface CorpusManifest {
  /** Kind of the first resource. For an unknown kind, CollectorVersionPolicy. */
  readonly kind: KindName;
  /** For example, `bad/version-number.yaml`. */
  readonly file: string;
  readonly text: string;
  readonly expectations: readonly Expectation[];
  /** `says`: text in the refusal. Empty if the corpus expects no particular text. */
  readonly apiServer: { readonly refuses: boolean; readonly says: string };
}

interface CorpusRow {
  readonly spec?: string;
  readonly omit?: readonly string[];
  readonly says: string | readonly string[];
  readonly server?: string;
  readonly accepts?: true;
}

/** Lines of good specs by their keys. */
const goodSpecs: Readonly<Record<KindName, Readonly<Record<string, string>>>> = {
  CollectorVersionPolicy: {
    credentialsSecretRef: 'credentialsSecretRef: {name: log-service}',
    target: 'target: {version: 19.500-1}',
    selector: 'selector: {}',
  },
  SearchExport: {
    credentialsSecretRef: 'credentialsSecretRef: {name: log-service}',
    query: 'query: error',
    timeRange: 'timeRange: {from: "2026-10-01T00:00:00Z", to: "2026-10-02T00:00:00Z"}',
    destination: 'destination: {volume: {name: exports}}',
  },
  SearchExportSchedule: {
    schedule: 'schedule: 0 * * * *',
    template:
      'template: {spec: {credentialsSecretRef: {name: log-service}, query: error, byReceiptTime: true, destination: {volume: {name: exports}}}}',
  },
};

export function readCorpus(folder: 'good' | 'bad'): readonly CorpusManifest[] {
  const names = readdirSync(join(import.meta.dirname, folder)).sort();
  const manifests = names.map((name) => fileManifest(`${folder}/${name}`, read(`${folder}/${name}`), folder));
  if (folder === 'good') return manifests;
  return [
    ...manifests,
    ...tableManifests('CollectorVersionPolicy', 'bad-policies.yaml'),
    ...tableManifests('SearchExport', 'bad-exports.yaml'),
    ...tableManifests('SearchExportSchedule', 'bad-schedules.yaml'),
  ];
}

function read(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8');
}

function fileManifest(file: string, text: string, folder: 'good' | 'bad'): CorpusManifest {
  const expectations = [...text.matchAll(/^# expect: (\d+):(\d+) (.+)$/gm)].map(([, line, column, expected = '']) => ({
    line: Number(line),
    column: Number(column),
    text: expected,
  }));
  const refuses = folder === 'bad' && !/^# API server: cannot say$/m.test(text);
  const [, named] = /^kind: (SearchExport|SearchExportSchedule)$/m.exec(text) ?? [];
  const kind = (named as KindName | undefined) ?? 'CollectorVersionPolicy';
  const says = /^# API server says: (.+)$/m.exec(text)?.[1] ?? '';
  return { kind, file, text, expectations, apiServer: { refuses, says } };
}

function tableManifests(kind: KindName, file: string): readonly CorpusManifest[] {
  const rows = parse(read(file)) as Readonly<Record<string, CorpusRow>>;
  return Object.entries(rows).map(([name, row]) => tableManifest(kind, name, row));
}

function tableManifest(
  kind: KindName,
  name: string,
  { spec, omit = [], says, server = '', accepts }: CorpusRow,
): CorpusManifest {
  const lines = new Map(Object.entries(goodSpecs[kind]));
  for (const key of omit) lines.delete(key);
  // A line that is indented belongs to the key above it.
  for (const own of spec?.split(/\n(?! )/) ?? []) lines.set(own.replace(/^▸/, '').split(':')[0] ?? '', own);
  const frame = `apiVersion: logfleet.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:\n`;
  const marked = `${frame}${[...lines.values()].map((own) => `  ${own.replaceAll('\n', '\n  ')}\n`).join('')}`;
  const texts = [says].flat();
  const places = placesOf(marked);
  if (places.length !== texts.length) throw new Error(`${name}: ${places.length} places for ${texts.length} texts`);
  return {
    kind,
    file: `bad/${name}.yaml`,
    text: marked.replaceAll('▸', ''),
    expectations: places.map((place, index) => ({ ...place, text: texts[index] ?? '' })),
    apiServer: { refuses: accepts !== true, says: server },
  };
}

/** Positions of the marks ▸ in the text. The marks themselves are not counted. */
function placesOf(marked: string): readonly Omit<Expectation, 'text'>[] {
  return marked.split('\n').flatMap((text, index) => {
    const pieces = text.split('▸').slice(0, -1);
    let column = 1;
    return pieces.map((piece) => {
      column += piece.length;
      return { line: index + 1, column };
    });
  });
}
